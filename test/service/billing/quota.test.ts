import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { appendedBy, asPerson, inProject, said, told, until } from '../support/tenants.ts';

const left = 10;
const quotas = {
  audit_event: left,
  compliance_proof: 2,
  risk_decision: 3,
  replay_verification: 2,
} as const;
type Kind = keyof typeof quotas;

describe.each(engines)('quotas on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine, file: { quotas: { production: quotas } } });
  });
  afterAll(() => service.end());

  let count = 0;
  const tenant = (): Promise<Tenant> => service.signUp(`T${count++}`);
  const record = (of: Tenant, members: Record<string, unknown> = {}, options = {}): Promise<Answer> =>
    of.call('POST', '/events', { body: event(members), ...options });
  const batch = (of: Tenant, events: unknown[], options = {}): Promise<Answer> =>
    of.call('POST', '/events/batch', { body: { events }, ...options });
  const many = (length: number, members: Record<string, unknown> = {}): unknown[] =>
    Array.from({ length }, () => event(members));
  const used = async (of: Tenant, type: Kind): Promise<number> => {
    const { body } = await of.call('GET', '/metering/usage');
    return body.items.find((item: { type: string }) => item.type === type).used;
  };

  describe('of 200 parallel requests with 10 units left', () => {
    it('a quota with 10 units left lets exactly 10 of 200 parallel requests through', async () => {
      const of = await tenant();
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) => record(of, { runId: `run-${n % 7}` })),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(left);
      expect(statuses.filter((status) => status === 429)).toHaveLength(200 - left);
      expect(await used(of, 'audit_event')).toBe(left);
      expect((await of.call('GET', '/events/count?eventType=tool.call')).body.count).toBe(left);
    });

    it('a quota with 10 units left lets 10 events through in batches, whole or not at all', async () => {
      const of = await tenant();
      const answers = await Promise.all(Array.from({ length: 40 }, () => batch(of, many(3))));
      const accepted = answers.filter(({ status }) => status === 201);
      expect(accepted).toHaveLength(3);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(37);
      expect(await used(of, 'audit_event')).toBe(9);
      expect((await of.call('GET', '/events/count?eventType=tool.call')).body.count).toBe(9);
      expect((await record(of)).status).toBe(201);
      expect((await record(of)).status).toBe(429);
    });
  });

  it('a quota says how many units are left, of how many, and when it resets', async () => {
    const of = await tenant();
    await batch(of, many(8));
    const refused = await batch(of, many(3));
    const { status, body, headers } = refused;
    expect([status, body.code]).toEqual([429, 'QUOTA_EXCEEDED']);
    expect(body.type).toBe('https://iana.org/assignments/http-problem-types#quota-exceeded');
    expect(body['violated-policies']).toEqual(['audit_event-month']);
    const now = new Date();
    const resetAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    expect(body.quota).toEqual({ type: 'audit_event', limit: left, used: 8, remaining: 2, resetAt });
    expect(body.remaining).toBe(2);
    expect(body.retryable).toBe(false);
    const retryAfter = Number(headers['retry-after']);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(86_400);
    expect((await of.call('GET', '/runs')).body.data.length).toBe(2);
    expect((await batch(of, many(2))).status).toBe(201);
  });

  it('a quota counts accepted events only: no duplicates, rejected or repeated ones', async () => {
    const of = await tenant();
    const same = { clientEventId: 'one' };
    await record(of, same);
    await record(of, same);
    await batch(of, [event(same), event({ clientEventId: 'two' }), { runId: 'r' }, event({ runId: '' })]);
    const keyed = { headers: { 'idempotency-key': 'k' } };
    await record(of, { clientEventId: 'three' }, keyed);
    const again = await record(of, { clientEventId: 'three' }, keyed);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await used(of, 'audit_event')).toBe(3);
    await batch(of, many(left - 3));
    expect((await record(of)).status).toBe(429);
    expect((await record(of, same)).status).toBe(201);
    expect((await batch(of, [event(same), event({ clientEventId: 'two' })])).status).toBe(201);
    expect(said(await record(of, { ...same, action: 'other' }))).toEqual([400, 'VALIDATION_ERROR']);
    expect((await record(of, {}, keyed)).body.code).toBe('IDEMPOTENCY_KEY_REUSE');
    expect((await record(of, { clientEventId: 'three' }, keyed)).status).toBe(201);
    expect(await used(of, 'audit_event')).toBe(left);
  });

  it('a quota counts 50 parallel repeats of one request once', async () => {
    const of = await tenant();
    const keyed = { headers: { 'idempotency-key': 'fifty' } };
    const answers = await Promise.all(Array.from({ length: 50 }, () => record(of, {}, keyed)));
    const texts = new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text));
    expect([texts.size, await used(of, 'audit_event')]).toEqual([1, 1]);
    const proofs = await Promise.all(
      Array.from({ length: 50 }, () => of.call('POST', '/proofs', { body: { runId: 'run-1' }, ...keyed })),
    );
    const proved = new Set(proofs.filter(({ status }) => status === 201).map(({ text }) => text));
    expect([proved.size, await used(of, 'compliance_proof')]).toEqual([1, 1]);
  });

  it('a request that a quota refused may succeed next month: its answer is not kept', async () => {
    const of = await tenant();
    await batch(of, many(left));
    const keyed = { headers: { 'idempotency-key': 'later' } };
    const first = await record(of, {}, keyed);
    const again = await record(of, {}, keyed);
    expect([first.status, again.status]).toEqual([429, 429]);
    expect(again.headers['idempotent-replayed']).toBeUndefined();
  });

  const asks: readonly [Kind, string, string, unknown, number][] = [
    ['compliance_proof', 'a proof', '/proofs', { runId: 'run-1' }, 201],
    ['compliance_proof', 'a proof made later', '/proofs', { runId: 'run-1', async: true }, 202],
    ['risk_decision', 'a risk decision', '/risk/evaluate', { runId: 'run-1' }, 200],
    ['replay_verification', 'a replay', '/replay', { runId: 'run-1' }, 202],
    [
      'replay_verification',
      'a replay of a graph',
      '/replay/causal-graph',
      { runId: 'run-1', nodes: [], edges: [] },
      202,
    ],
  ];
  it.each(asks)('a quota counts %s for %s', async (type, _, path, body, success) => {
    const of = await tenant();
    await record(of);
    const limit = quotas[type];
    for (let n = 0; n < limit; n++) expect((await of.call('POST', path, { body })).status).toBe(success);
    const { status, body: problem } = await of.call('POST', path, { body });
    expect([status, problem.code]).toEqual([429, 'QUOTA_EXCEEDED']);
    expect(problem.quota).toMatchObject({ type, limit, used: limit, remaining: 0 });
    expect(await used(of, type)).toBe(limit);
    expect(await used(of, 'audit_event')).toBe(1);
    expect(said(await of.call('POST', path, { body: {} }))).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('a quota without room stops expensive work before it starts', async () => {
    const of = await tenant();
    await record(of);
    for (let n = 0; n < quotas.compliance_proof; n++) {
      await of.call('POST', '/proofs', { body: { runId: 'run-1' } });
    }
    const { work } = service.services;
    const run = work.run.bind(work);
    let begun = 0;
    work.run = ((...request: Parameters<typeof run>) => {
      begun += 1;
      return run(...request);
    }) as typeof work.run;
    expect((await of.call('POST', '/proofs', { body: { runId: 'run-1' } })).status).toBe(429);
    work.run = run;
    expect(begun).toBe(0);
  });

  it('a quota counts neither policies nor tools nor events of the service', async () => {
    const of = await tenant();
    await batch(of, many(left));
    const policy = { name: 'p', condition: { 'tool.name': 'shell' }, action: 'deny' };
    expect((await of.call('POST', '/governance/policies', { body: policy })).status).toBe(201);
    const tool = { tool: { name: 'ls' }, arguments: {}, runId: 'run-1' };
    expect((await of.call('POST', '/mcp/tools/evaluate', { body: tool })).status).toBe(200);
    const checkpoint = { runId: 'run-1', checkpoint: { context: {} } };
    expect((await of.call('POST', '/governance/policy/evaluate', { body: checkpoint })).status).toBe(200);
    expect(await used(of, 'audit_event')).toBe(left);
  });

  it('a quota belongs to one project: another has its own', async () => {
    const of = await tenant();
    await batch(of, many(left));
    const person = asPerson(service, of.person);
    const { body } = await person('POST', '/projects', { body: { name: 'B', environment: 'production' } });
    const other = await person('POST', '/events', { ...inProject(body.id), body: event() });
    expect([other.status, (await record(of)).status]).toEqual([201, 429]);
  });

  it('a project that pays for overage may exceed its quota, and still gets the events', async () => {
    const of = await tenant();
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const settings = { quotaMode: 'overage' };
    await of.call('PUT', `/projects/${projectId}`, { body: { settings } });
    expect((await batch(of, many(left + 5))).status).toBe(201);
    expect(await used(of, 'audit_event')).toBe(left + 5);
    const { body } = await of.call('GET', '/metering/usage');
    expect(body.items[0]).toMatchObject({ limit: left, remaining: 0 });
    const events = await until(
      () => told(of.call, 'quota.threshold_reached'),
      (found) => found.length === 4,
    );
    expect(events.map(({ metadata }) => metadata['percent'])).toEqual([50, 80, 90, 100]);
    await of.call('PUT', `/projects/${projectId}`, { body: { settings: { quotaMode: 'block' } } });
    expect((await record(of)).status).toBe(429);
  });

  it('quotas of an operator replace those of the environment', async () => {
    const of = await tenant();
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const { store } = service.services;
    const set = (audit_event: number | null) =>
      store.append({
        projectId,
        leaves: [],
        meter: { op: 'none', units: 0 },
        effects: [{ kind: 'changeProject', quotas: { audit_event }, atMs: Date.now() }],
      });
    await set(2);
    service.services.forgetCredential(projectId);
    expect((await batch(of, many(3))).status).toBe(429);
    await set(null);
    service.services.forgetCredential(projectId);
    expect((await batch(of, many(50))).status).toBe(201);
    await set(0);
    service.services.forgetCredential(projectId);
    expect((await record(of)).body.quota).toMatchObject({ limit: 0, used: 50, remaining: 0 });
  });

  describe('tell that a threshold was passed', () => {
    const thresholds = (of: Tenant) => told(of.call, 'quota.threshold_reached');
    const percentsOf = async (of: Tenant, length: number): Promise<unknown[]> =>
      (
        await until(
          () => thresholds(of),
          (found) => found.length >= length,
        )
      ).map(({ metadata }) => metadata['percent']);

    it('a passed threshold is announced once a month, each', async () => {
      const of = await tenant();
      await batch(of, many(4));
      await record(of);
      expect(await percentsOf(of, 1)).toEqual([50]);
      for (let n = 0; n < 5; n++) await record(of);
      expect(await percentsOf(of, 4)).toEqual([50, 80, 90, 100]);
      await record(of);
      const month = new Date().toISOString().slice(0, 7);
      const [first] = await thresholds(of);
      expect(first).toMatchObject({
        resource: { id: 'audit_event', type: 'quota' },
        actor: { type: 'service' },
        metadata: { type: 'audit_event', month, percent: 50, limit: left, used: 5 },
        clientEventId: `quota/audit_event/${month}/50`,
      });
      expect(await used(of, 'audit_event')).toBe(left);
    });

    it('a passed threshold is announced without a read of the store for each request', async () => {
      const of = await tenant();
      await batch(of, many(5));
      await percentsOf(of, 1);
      const requests = await appendedBy(service, async () => {
        await record(of);
        await record(of);
      });
      expect(requests.map(({ meter }) => meter?.op)).toEqual(['audit_event', 'audit_event']);
    });

    it('thresholds are announced at the percentages that a project sets', async () => {
      const of = await tenant();
      await of.call('PUT', '/metering/thresholds', { body: { percents: [30, 70] } });
      for (let n = 0; n < left; n++) await record(of);
      expect(await percentsOf(of, 2)).toEqual([30, 70]);
    });

    it("a threshold's event has an id that no client can have used before", async () => {
      const of = await tenant();
      const month = new Date().toISOString().slice(0, 7);
      const forged = await record(of, { clientEventId: `quota/audit_event/${month}/50` });
      expect(forged.status).toBe(400);
    });

    it('thresholds of other kinds are announced as well', async () => {
      const of = await tenant();
      await record(of);
      await of.call('POST', '/proofs', { body: { runId: 'run-1' } });
      const [proof] = await until(
        () => thresholds(of),
        (found) => found.length > 0,
      );
      expect(proof?.metadata).toMatchObject({ type: 'compliance_proof', percent: 50, used: 1 });
    });
  });
});

describe.skipIf(!engines.includes('postgres'))('a quota that two processes share', () => {
  it('two processes let exactly 10 of 200 parallel requests through, and announce each threshold once', async () => {
    const service = await startService({
      engine: 'postgres',
      file: { quotas: { production: quotas } },
    });
    const beside = await service.again();
    const of = await service.signUp('Shared');
    const ask = (n: number): Promise<Answer> =>
      (n % 2 === 0 ? service : beside).call('POST', '/events', {
        key: of.keys.production,
        body: event({ runId: `run-${n % 5}` }),
      });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(n)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(left);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(200 - left);
    const events = await until(
      () => told(of.call, 'quota.threshold_reached'),
      (found) => found.length >= 4,
    );
    expect(events.map(({ metadata }) => metadata['percent']).toSorted()).toEqual([100, 50, 80, 90]);
    await service.end();
  });
});
