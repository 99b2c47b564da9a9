/** Bodies past their time go, what is younger stays; holds, floors, two processes, and what remains provable. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { sweepRetention } from '../../../src/service/erasure/retention.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const dayMs = 86_400_000;
const realNow = Date.now;
/** Only ever more: server times never run backwards. */
let aheadMs = 0;
const { signal } = new AbortController();

describe.each(engines)('retention, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await service.end();
  });

  let runs = 0;
  type Environment = 'production' | 'sandbox';
  const call = (method: string, path: string, body?: unknown, environment: Environment = 'sandbox') =>
    acme.call(method, path, { environment, ...(body === undefined ? {} : { body }) });
  const record = async (count = 1, environment: Environment = 'sandbox'): Promise<string> => {
    const runId = `run-${engine}-${runs++}`;
    const events = Array.from({ length: count }, () =>
      event({ runId, timestamp: new Date(Date.now()).toISOString() }),
    );
    expect((await call('POST', '/events/batch', { events }, environment)).status).toBe(201);
    return runId;
  };
  const left = async (runId: string, environment: Environment = 'sandbox'): Promise<number> => {
    const { body } = await call('GET', `/events?runId=${runId}&limit=1000`, undefined, environment);
    return body.events.filter(({ action }: { action: string }) => action !== '').length;
  };
  const keep = async (
    retentionDays: number | null,
    legalHold = false,
    environment: Environment = 'sandbox',
  ) => {
    const answer = await call('PUT', '/billing/retention', { retentionDays, legalHold }, environment);
    expect(answer.status).toBe(200);
  };
  const sweep = (of: Pick<TestService, 'services'> = service) =>
    sweepRetention(of.services, { projectId: null, signal });

  it('retention erases older bodies, and only those', async () => {
    await keep(30);
    const old = await record(3);
    const decided = await call('POST', '/governance/policy/evaluate', {
      runId: old,
      checkpoint: { context: { secret: 1 } },
    });
    const { body: proof } = await call('POST', '/proofs', { runId: old });
    aheadMs += 29 * dayMs;
    const young = await record(2);
    expect(await sweep()).toBe(0);
    aheadMs += dayMs;
    expect(await sweep()).toBeGreaterThanOrEqual(4);
    expect([await left(old), await left(young)]).toEqual([0, 2]);
    expect(await sweep()).toBe(0);
    const evaluations = (await call('GET', `/governance/policy/evaluations?runId=${old}`)).body.data;
    expect(evaluations[0]).toMatchObject({ id: decided.body.evaluationId, checkpoint: null });
    const { body: verdict } = await call('POST', '/proofs/verify', { proofId: proof.proofId });
    expect(verdict.verified).toBe(true);
    const [erasure] = (await call('GET', '/erasures')).body.data;
    expect(erasure).toMatchObject({ reasonCode: 'retention' });
    // what the service says of itself stays
    const system = (await call('GET', '/events?runId=gov.system')).body.events;
    for (const each of system) expect(each.erased).toBeUndefined();
  });

  it('retention erases nothing under a legal hold, nor when everything is kept', async () => {
    await keep(1, true);
    const old = await record();
    aheadMs += 2 * dayMs;
    expect(await sweep()).toBe(0);
    await keep(null);
    expect(await sweep()).toBe(0);
    expect(await left(old)).toBe(1);
    await keep(1);
    expect(await sweep()).toBeGreaterThan(0);
    expect(await left(old)).toBe(0);
    await keep(null);
  });

  it(`retention keeps production bodies at least ${limits.retentionDaysProduction} days, whatever the settings say`, async () => {
    const old = await record(1, 'production');
    const { projectId } = (await call('GET', '/auth/identity', undefined, 'production')).body;
    await service.services.store.append({
      projectId,
      leaves: [],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'changeProject', settings: '{"retentionDays":1}', atMs: Date.now() }],
    });
    aheadMs += limits.retentionDaysProduction * dayMs - 60_000;
    await sweep();
    expect(await left(old, 'production')).toBe(1);
    aheadMs += 120_000;
    await sweep();
    expect(await left(old, 'production')).toBe(0);
  });

  it('retention continues in batches, also when others erase at the same time', async () => {
    await keep(1);
    const old = await record(400);
    aheadMs += 2 * dayMs;
    const ids = (await call('GET', `/events?runId=${old}&limit=1000`)).body.events;
    const beside = engine === 'postgres' ? await service.again() : service;
    const people = ids
      .filter((_: unknown, at: number) => at % 100 === 50)
      .map(({ eventId }: { eventId: string }) => call('POST', '/erasures', { eventId }));
    const [mine, theirs] = await Promise.all([sweep(), sweep(beside), ...people]);
    expect(mine + theirs).toBeGreaterThanOrEqual(396);
    expect(await left(old)).toBe(0);
    const erased = (await call('GET', '/erasures?limit=500')).body.data;
    expect(erased.length).toBeGreaterThan(3);
    for (const { leaves, fields } of erased) {
      expect(leaves).toBeLessThanOrEqual(limits.erasureTargets);
      expect(fields).toBeLessThanOrEqual(limits.erasureDigests);
    }
  });

  it('retention stops when it is aborted', async () => {
    await keep(1);
    const old = await record(2);
    aheadMs += 2 * dayMs;
    const ended = AbortSignal.abort();
    expect(await sweepRetention(service.services, { projectId: null, signal: ended })).toBe(0);
    expect(await left(old)).toBe(2);
  });
});
