import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { unlessOvertaken, untilStored } from '../../../src/service/call/overtaken.ts';
import { Runs } from '../../../src/service/log/runs.ts';
import { startService } from '../../support/hosted.ts';

/** An attempt that others overtake so many times. */
const overtakenBy = (others: number) => {
  let tries = 0;
  return async (): Promise<string | null> => (tries++ < others ? null : `stored at try ${tries}`);
};

describe('a change that others overtake', () => {
  afterEach(() => vi.restoreAllMocks());

  it('is stored by the last attempt, and is refused as overload after it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const last = limits.changeTries;
    expect(await untilStored('the policy', overtakenBy(last - 1))).toBe(`stored at try ${last}`);
    const refused = untilStored('the policy', overtakenBy(last));
    await expect(refused).rejects.toMatchObject({
      code: 'OVERLOADED',
      message: 'the policy kept changing; repeat later',
      retryAfterSeconds: limits.overloadRetrySeconds,
      transient: true,
    });
  });

  it('is repeated only where the store names one of the expected codes', async () => {
    const fail = (code: 'CONFLICT' | 'NOT_FOUND') => Promise.reject(new GovError(code, 'other'));
    expect(await unlessOvertaken(fail('CONFLICT'), 'GRAPH_SEALED', 'CONFLICT')).toBeNull();
    await expect(unlessOvertaken(fail('NOT_FOUND'), 'CONFLICT')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(untilStored('it', () => fail('NOT_FOUND'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('work that a change overtook', () => {
  const projectId = 'p';

  it('is not waited for by a change before it is overtaken', async () => {
    const runs = new Runs();
    const first = Promise.withResolvers<string | null>();
    const judged = runs.untilJudged(projectId, 'the policies', () => first.promise);
    await runs.overtaken(projectId);
    first.resolve('stored');
    expect(await judged).toBe('stored');
  });

  it('ends before the next change of its project, also where it fails, and no other project waits', async () => {
    const runs = new Runs();
    const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const works = [one, other].map(({ promise }) => {
      const attempts = [Promise.resolve(null), promise];
      return runs.untilJudged(projectId, 'the policies', () => attempts.shift()!);
    });
    const failed = expect(works[1]).rejects.toThrow('unusable');
    await nextTurn();
    let isWaiting = true;
    const change = runs.overtaken(projectId).then(() => (isWaiting = false));
    one.resolve('stored');
    expect(await works[0]).toBe('stored');
    await runs.overtaken('q');
    await nextTurn();
    expect(isWaiting).toBe(true);
    other.reject(new Error('unusable'));
    await failed;
    await change;
  });

  it('ends before each change of policies, of the risk configuration and of settings', async () => {
    const service = await startService({ engine: 'sqlite' });
    const { call } = await service.signUp('ada');
    const { projectId: own } = (await call('GET', '/auth/identity')).body as { projectId: string };
    const { bands, ...config } = (await call('GET', '/risk/config')).body as Record<string, unknown>;
    expect(bands).toBeDefined();
    const policy = { policyId: 'a', name: 'a', condition: { a: 1 }, action: 'warn' };
    const changes = [
      ['POST', '/governance/policies', policy],
      ['PUT', '/risk/config', config],
      ['PUT', `/projects/${own}`, { settings: { timezone: 'Europe/Rome' } }],
    ] as const;
    for (const [method, path, body] of changes) {
      const work = Promise.withResolvers<string>();
      const attempts = [Promise.resolve(null), work.promise];
      const judged = service.services.runs.untilJudged(own, 'it', () => attempts.shift()!);
      let isWaiting = true;
      const change = call(method, path, { body }).finally(() => (isWaiting = false));
      // a change that does not wait is stored by then
      for (let n = 0; n < 20; n++) await call('GET', `/projects/${own}`);
      expect(isWaiting, path).toBe(true);
      work.resolve('stored');
      await judged;
      expect((await change).status, path).toBeLessThan(300);
    }
    await service.end();
  });
});
