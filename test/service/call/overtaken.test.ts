import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { unlessOvertaken, untilStored } from '../../../src/service/call/overtaken.ts';

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
