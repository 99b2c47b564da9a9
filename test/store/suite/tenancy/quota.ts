/** Quotas: counted in the metering log, refused before anything is kept, month by month of server time. */
import { describe, expect, it } from 'vitest';
import { draftLeaf } from '../../../../src/core/events/record.ts';
import type { AppendRequest, Store } from '../../../../src/store/port/store.ts';
import {
  event,
  genesis,
  type HandClock,
  projectOf,
  request,
  startMs,
  stored,
} from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { used } from '../../support/tenants.ts';

const limited = (events: number, limit: number | null, more: Partial<AppendRequest> = {}) =>
  request(
    Array.from({ length: events }, () => event()),
    { meter: { op: 'audit_event', units: 'accepted', limit }, ...more },
  );

const repeatable = (limit: number, ...ids: readonly string[]) =>
  request(
    ids.map((clientEventId) => event({ clientEventId })),
    { meter: { op: 'audit_event', units: 'accepted', limit } },
  );

const proof = (limit: number, more: Partial<AppendRequest> = {}) =>
  request([draftLeaf('gov.proof/1', { n: 1 })], {
    meter: { op: 'compliance_proof', units: 1, limit },
    ...more,
  });

const sizes = async (store: Store) => [
  (await store.head('prj_a', 'audit')).size,
  (await store.head('prj_a', 'metering')).size,
];

const inMonth = (clock: HandClock, month: number, day = 1): void => {
  clock.ms = Date.UTC(2026, month - 1, day);
};

describe('a quota', () => {
  it('a quota accepts as many units as it allows, and not one more', async () => {
    const { store, drop } = await open();
    expect((await stored(store, limited(9, 10))).used).toBe(9);
    expect((await stored(store, limited(1, 10))).used).toBe(10);
    expect(await store.append(limited(1, 10))).toEqual({ outcome: 'over_quota', used: 10, units: 1 });
    expect((await stored(store, limited(1, 11))).used).toBe(11);
    expect((await stored(store, limited(5, null))).used).toBe(16);
    expect(await store.append(limited(1, 10))).toMatchObject({ used: 16 });
    expect(await store.append(limited(1, 0))).toMatchObject({ outcome: 'over_quota' });
    await drop();
  });

  it('a quota refuses a batch that does not fit as a whole and stores nothing of it', async () => {
    const { store, reopen, drop } = await open();
    await stored(store, limited(7, 10));
    const before = await sizes(store);
    const idempotency = { key: 'k', fingerprint: 'f', response: { status: 201, body: '', headers: {} } };
    const batch = limited(3, 10, { idempotency });
    const big = {
      ...batch,
      leaves: [...batch.leaves, event({ clientEventId: 'c1', runId: 'new', eventType: 'new.type' })],
      fingerprints: new Map([[3, 'f']]),
      effects: [{ kind: 'declareGraph', runId: 'r1', declaration: '{}', atMs: startMs }],
    } as const;
    expect(await store.append(big)).toEqual({ outcome: 'over_quota', used: 7, units: 4 });
    const again = await reopen();
    expect(await sizes(again)).toEqual(before);
    expect(await again.keptResponse('prj_a', 'k')).toBeNull();
    expect(await again.run('prj_a', 'new')).toBeNull();
    expect((await again.graphState('prj_a', 'r1')).declaration).toBeNull();
    expect((await stored(again, repeatable(10, 'c1', 'c2', 'c3'))).used).toBe(10);
    await drop();
  });

  it('a quota counts each operation type by itself, and unmetered requests pass', async () => {
    const { store, drop } = await open();
    await stored(store, limited(5, 5));
    expect((await stored(store, proof(1))).used).toBe(1);
    expect(await store.append(proof(1))).toEqual({ outcome: 'over_quota', used: 1, units: 1 });
    const unmetered = request([event()], { meter: { op: 'none', units: 0, limit: 0 } });
    expect((await stored(store, unmetered)).used).toBe(0);
    expect(await store.usage('prj_a', '2026-01')).toEqual(used({ audit_event: 5, compliance_proof: 1 }));
    await drop();
  });

  it('duplicates use no quota, also when it is used up or was lowered', async () => {
    const { store, drop } = await open();
    await stored(store, repeatable(5, 'c1', 'c2', 'c3', 'c4'));
    expect((await stored(store, repeatable(5, 'c1', 'c2', 'c5', 'c5'))).used).toBe(5);
    const repeated = await stored(store, repeatable(5, 'c1', 'c5'));
    expect(repeated.assigned.map(({ outcome }) => outcome)).toEqual(['duplicate', 'duplicate']);
    expect(repeated.used).toBe(5);
    expect((await stored(store, repeatable(2, 'c3'))).used).toBe(5);
    expect(await store.append(repeatable(5, 'c1', 'c6'))).toEqual({
      outcome: 'over_quota',
      used: 5,
      units: 1,
    });
    const other = { ...repeatable(5, 'c1'), fingerprints: new Map([[0, 'other content']]) };
    expect((await stored(store, other)).assigned).toEqual([{ outcome: 'conflict' }]);
    await drop();
  });

  it('a repeat of an accepted request is answered even when the quota is used up', async () => {
    const { store, drop } = await open();
    const response = { status: 201, body: 'mine', headers: {} };
    const idempotency = { key: 'k', fingerprint: 'f', response };
    const made = limited(3, 3, { idempotency });
    expect((await stored(store, made)).used).toBe(3);
    expect(await store.append(made)).toMatchObject({ outcome: 'replayed', response });
    expect(await store.append({ ...made, idempotency: { ...idempotency, fingerprint: 'g' } })).toEqual({
      outcome: 'key_reused',
    });
    expect(await store.append({ ...made, idempotency: { ...idempotency, key: 'l' } })).toMatchObject({
      outcome: 'over_quota',
    });
    await drop();
  });

  it('a quota with ten units left accepts exactly ten of two hundred parallel requests', async () => {
    const { store, drop } = await open();
    await stored(store, limited(90, 100));
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => store.append(limited(1, 100))));
    const passed = outcomes.flatMap((each) => (each.outcome === 'stored' ? [each.used] : []));
    expect(passed).toEqual([91, 92, 93, 94, 95, 96, 97, 98, 99, 100]);
    expect(outcomes.filter(({ outcome }) => outcome === 'over_quota')).toHaveLength(190);
    expect((await store.totals('prj_a')).audit_event).toBe(100);
    expect((await store.head('prj_a', 'audit')).size).toBe(101);
    await drop();
  });

  it('a quota belongs to one project', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await stored(store, limited(5, 5));
    expect((await stored(store, limited(5, 5, { projectId: 'prj_b' }))).used).toBe(5);
    expect(await store.append(limited(1, 5, { projectId: 'prj_b' }))).toMatchObject({ used: 5 });
    await drop();
  });
});

describe('a month', () => {
  it('a month begins with no usage at midnight UTC', async () => {
    const { store, clock, drop } = await open();
    clock.ms = Date.UTC(2026, 1, 1) - 1;
    await stored(store, limited(10, 10));
    expect(await store.append(limited(1, 10))).toMatchObject({ outcome: 'over_quota' });
    clock.ms += 1;
    expect((await stored(store, limited(4, 10))).used).toBe(4);
    expect(await store.append(limited(7, 10))).toEqual({ outcome: 'over_quota', used: 4, units: 7 });
    expect(await store.usage('prj_a', '2026-01')).toEqual(used({ audit_event: 10 }));
    expect(await store.usage('prj_a', '2026-02')).toEqual(used({ audit_event: 4 }));
    await drop();
  });

  it('a month without metered requests has no usage, and other months keep theirs', async () => {
    const { store, clock, drop } = await open();
    expect(await store.usage('prj_a', '2026-01')).toEqual(used({}));
    inMonth(clock, 2);
    await stored(store, limited(3, null));
    inMonth(clock, 4);
    await stored(store, request([event()], { meter: { op: 'none', units: 0 } }));
    expect(await store.usage('prj_a', '2026-02')).toEqual(used({ audit_event: 3 }));
    expect(await store.usage('prj_a', '2026-04')).toEqual(used({}));
    await stored(store, proof(1));
    await stored(store, limited(2, null));
    const months = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05'];
    expect(await Promise.all(months.map((month) => store.usage('prj_a', month)))).toEqual([
      used({}),
      used({ audit_event: 3 }),
      used({}),
      used({ audit_event: 2, compliance_proof: 1 }),
      used({}),
    ]);
    await drop();
  });

  it('a month stays current when the clock is set back, also after a restart', async () => {
    const { store, clock, reopen, drop } = await open();
    inMonth(clock, 3);
    await stored(store, limited(6, 10));
    inMonth(clock, 2, 20);
    expect((await stored(store, limited(3, 10))).used).toBe(9);
    const again = await reopen();
    expect(await again.append(limited(2, 10))).toEqual({ outcome: 'over_quota', used: 9, units: 2 });
    expect((await stored(again, limited(1, 10))).used).toBe(10);
    expect(await again.usage('prj_a', '2026-02')).toEqual(used({}));
    expect(await again.usage('prj_a', '2026-03')).toEqual(used({ audit_event: 10 }));
    await drop();
  });

  it('a month that began with a unit without a leaf also stays current', async () => {
    const { store, clock, reopen, drop } = await open();
    inMonth(clock, 3);
    const accepted = request([], { meter: { op: 'compliance_proof', units: 1, limit: 2 } });
    expect((await stored(store, accepted)).used).toBe(1);
    inMonth(clock, 2, 20);
    const again = await reopen();
    expect((await stored(again, accepted)).used).toBe(2);
    const [first] = (await stored(again, limited(1, null))).assigned;
    expect(first).toMatchObject({ serverMs: Date.UTC(2026, 2, 1) });
    expect(await again.usage('prj_a', '2026-03')).toEqual(used({ audit_event: 1, compliance_proof: 2 }));
    await drop();
  });

  it('a month continues after a restart with the same usage', async () => {
    const { store, clock, reopen, drop } = await open();
    await stored(store, limited(5, 10));
    inMonth(clock, 2);
    await stored(store, limited(4, 10));
    const again = await reopen();
    expect((await stored(again, limited(6, 10))).used).toBe(10);
    expect(await again.append(limited(1, 10))).toMatchObject({ outcome: 'over_quota', used: 10 });
    inMonth(clock, 3);
    expect((await stored(again, limited(10, 10))).used).toBe(10);
    await drop();
  });

  it('a month begins once for the requests of one commit', async () => {
    const { store, clock, drop } = await open();
    await stored(store, limited(5, null));
    inMonth(clock, 2);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => store.append(limited(1, 5))));
    expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(5);
    expect(await store.usage('prj_a', '2026-02')).toEqual(used({ audit_event: 5 }));
    await drop();
  });

  it('a refused request does not begin a new month', async () => {
    const { store, clock, reopen, drop } = await open();
    await stored(store, limited(5, null));
    inMonth(clock, 2);
    const refused = limited(1, null, {
      effects: [{ kind: 'completeJob', jobId: 'job_none', lease: 'none', result: '{}', atMs: startMs }],
    });
    await expect(store.append(refused)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await store.append(limited(1, 0))).toMatchObject({ outcome: 'over_quota', used: 0 });
    const again = await reopen();
    expect((await stored(again, limited(2, 2))).used).toBe(2);
    expect(await again.usage('prj_a', '2026-01')).toEqual(used({ audit_event: 5 }));
    await drop();
  });
});
