import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import type { ReplayedResponse } from '../../../src/service/call/answer.ts';
import type { RefusedAppend, StoredAppend } from '../../../src/service/log/append-result.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { append, type Meter } from '../../../src/service/writes/append.ts';
import type { AppendOutcome, AppendRequest } from '../../../src/store/port/store.ts';
import { startService, type TestService } from '../../support/hosted.ts';

const request = { projectId: 'prj_a', leaves: [] };
const revoke = { kind: 'revokeApiKey', keyId: 'key_a', revokedMs: 1, atMs: 1 } as const;
const excess = { outcome: 'over_quota', used: 9, units: 2 } as const;

describe('append', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.end());

  /** Services whose store answers this, and the requests that it gets. */
  const answering = (outcome: AppendOutcome): { services: Services; requests: AppendRequest[] } => {
    const requests: AppendRequest[] = [];
    const store = new Proxy(service.services.store, {
      get: (target, name) =>
        name === 'append'
          ? async (sent: AppendRequest) => (requests.push(sent), outcome)
          : Reflect.get(target, name),
    });
    return { services: { ...service.services, store }, requests };
  };

  it('returns a refusal only to a caller who expects a state', async () => {
    const { services, requests } = answering({ outcome: 'outdated' });
    const refused = append(services, request, { expect: { policyIndex: 3 } });
    expectTypeOf(refused).resolves.toEqualTypeOf<StoredAppend | ReplayedResponse | RefusedAppend>();
    expect(await refused).toEqual({ outcome: 'outdated' });
    const plain = append(services, request);
    expectTypeOf(plain).resolves.toEqualTypeOf<StoredAppend | ReplayedResponse>();
    await expect(plain).rejects.toThrow('got outdated');
    expect(requests).toEqual([{ ...request, expect: { policyIndex: 3 } }, request]);
  });

  it('takes effects that need a caller only with one', async () => {
    const { services, requests } = answering({
      outcome: 'replayed',
      response: { status: 204, body: '', headers: {} },
    });
    const effects = [revoke];
    await append(services, { ...request, effects }, { by: 'operator' });
    // @ts-expect-error: this effect needs a caller
    await append(services, { ...request, effects });
    expect(requests).toEqual([
      { ...request, effects },
      { ...request, effects },
    ]);
  });

  it('reports to the meter what the month has used, and throws its error for an excess', async () => {
    const used: number[] = [];
    const meter: Meter = {
      counts: { op: 'audit_event', units: 2, limit: 10 },
      stored: (units) => used.push(units),
      refused: (got) => new GovError('QUOTA_EXCEEDED', `${got.used} and ${got.units}`),
    };
    const stored = answering({ outcome: 'stored', assigned: [], response: null, used: 7 });
    await append(stored.services, request, { meter });
    expect([used, stored.requests]).toEqual([[7], [{ ...request, meter: meter.counts }]]);
    await expect(append(answering(excess).services, request, { meter })).rejects.toThrow('9 and 2');
    expect(used).toEqual([7]);
  });
});
