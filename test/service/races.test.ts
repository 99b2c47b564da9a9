/** Two processes on one PostgreSQL change one project at once. `races.long.test.ts` has every operation that writes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basePaths } from '../../src/http/call/route.ts';
import {
  engines,
  startService,
  type ServiceProcess,
  type Tenant,
  type TestService,
} from '../support/hosted.ts';
import { policy, policyVersion, unknownReceiver } from '../support/rows.ts';
import { event } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';

describe.skipIf(!engines.includes('postgres'))('two processes that change one project at once', () => {
  let service: TestService;
  let processes: readonly ServiceProcess[];
  let ada: Tenant;
  beforeAll(async () => {
    service = await startService({ engine: 'postgres' });
    processes = [service, await service.again()];
    ada = await service.signUp('ada');
  });
  afterAll(() => service.end());

  /** To the two processes in turn. */
  const send = (at: number, method: string, path: string, body?: unknown): Promise<Answer> => {
    const { call, origin } = processes[at % 2]!;
    const sent = body === undefined ? {} : { body };
    return call(method, `${origin}${basePaths.production}${path}`, { key: ada.keys.production, ...sent });
  };
  const many = (count: number, request: (at: number) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => request(at)));
  const statuses = (answers: readonly Answer[]): string[] => [
    ...new Set(answers.map(({ status, body }) => `${status} ${body.code ?? ''}`.trim())),
  ];

  it('create and publish different policies without a conflict', async () => {
    const created = await many(16, (at) =>
      send(at, 'POST', '/governance/policies', { ...policy, policyId: `different-${at}` }),
    );
    expect(statuses(created)).toEqual(['201']);
    const published = await many(16, (at) =>
      send(at + 1, 'POST', `/governance/policies/different-${at}/publish`, {}),
    );
    expect(statuses(published)).toEqual(['200']);
  });

  it('add versions to one policy, each of which is kept', async () => {
    await send(0, 'POST', '/governance/policies', { ...policy, policyId: 'one' });
    const added = await many(12, (at) =>
      send(at, 'POST', '/governance/policies/one/versions', policyVersion),
    );
    expect(statuses(added)).toEqual(['201']);
    expect(new Set(added.map(({ body }) => body.version)).size).toBe(12);
  });

  it('evaluate tool calls during a storm of changes', async () => {
    const answers = await many(32, (at) =>
      at % 4 === 0
        ? send(at / 4, 'POST', '/governance/policies', { ...policy, policyId: `storm-${at}` })
        : send(at, 'POST', '/mcp/tools/evaluate', {
            runId: 'storm',
            tool: { name: 'ls' },
            arguments: { at },
          }),
    );
    expect(statuses(answers).toSorted()).toEqual(['200', '201']);
  });

  it('create webhook endpoints without a conflict', async () => {
    const body = { url: unknownReceiver('race'), enabled: false };
    expect(statuses(await many(10, (at) => send(at, 'POST', '/webhooks/endpoints', body)))).toEqual(['201']);
  });

  it('seal one graph once, with one answer', async () => {
    for (let round = 0; round < 5; round++) {
      const runId = `sealed-${round}`;
      await send(0, 'POST', '/events', event({ runId }));
      const answers = await many(4, (at) => send(at, 'POST', `/graphs/${runId}/commit`));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(200);
    }
  });

  it('prove a run that both write to', async () => {
    const answers = await many(40, (at) =>
      at % 10 === 9
        ? send(at, 'POST', '/proofs', { runId: 'written' })
        : send(at, 'POST', '/events', event({ runId: 'written', metadata: { at } })),
    );
    // the first proof may come before the first event
    expect(statuses(answers).filter((status) => status !== '400 RUN_HAS_NO_EVENTS')).toEqual(['201']);
  });
});
