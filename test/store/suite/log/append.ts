/** Order, places, metering, refusals. */
import { describe, expect, it } from 'vitest';
import { leafHash, merkleRoot } from '../../../../src/core/merkle/tree.ts';
import { eventIndex } from '../../../../src/core/id.ts';
import { draftLeaf } from '../../../../src/core/events/record.ts';
import { limits } from '../../../../src/contract/limits.ts';
import {
  appended,
  codeOf,
  event,
  genesis,
  projectOf,
  request,
  startMs,
  stored,
} from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

describe('append', () => {
  it('append gives consecutive indexes in request order and gap-free run sequences', async () => {
    const { store, drop } = await open();
    const requests = Array.from({ length: 40 }, (_, at) =>
      request([event({ runId: `r${at % 3}` }), event({ runId: `r${(at + 1) % 3}` })]),
    );
    const answers = await Promise.all(requests.map((each) => appended(store, each)));
    expect(answers.flat().map(({ index }) => index)).toEqual(Array.from({ length: 80 }, (_, at) => at + 1));
    for (const runId of ['r0', 'r1', 'r2']) {
      const leaves = await store.runLeaves('prj_a', runId, {
        fromSeq: 0,
        beforeIndex: 1000,
        limit: 1000,
        bodies: false,
      });
      const records = leaves.map(({ record }) => JSON.parse(record) as { runSeq: number; runId: string });
      expect(records.map(({ runSeq }) => runSeq)).toEqual(records.map((_, at) => at));
      expect(new Set(records.map((record) => record.runId))).toEqual(new Set([runId]));
    }
    await drop();
  });

  it('append returns the stored leaf under an event id that contains its index', async () => {
    const { store, drop } = await open();
    const [first] = await appended(store, request([event()]));
    const leaf = await store.leaf('prj_a', first!.index);
    expect(eventIndex(first!.eventId!)).toBe(first!.index);
    expect(JSON.parse(leaf!.record)).toMatchObject({ eventId: first!.eventId, runSeq: 0, runId: 'r1' });
    expect(first).toMatchObject({ runSeq: 0, serverMs: startMs });
    await drop();
  });

  it('append moves the head to the root over all leaves', async () => {
    const { store, drop } = await open();
    for (let round = 0; round < 5; round += 1) {
      await appended(store, request(Array.from({ length: 70 }, () => event())));
    }
    const { size, root } = await store.head('prj_a', 'audit');
    const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: size });
    expect(size).toBe(351);
    expect(merkleRoot(leaves.map(({ record }) => leafHash(record)))).toEqual(root);
    const [tile] = await store.tiles('prj_a', 'audit', [{ level: 0, index: 1, width: 95 }]);
    expect(tile!.length).toBeGreaterThanOrEqual(95 * 32);
    expect(Buffer.from(tile!.subarray(0, 32))).toEqual(leafHash(leaves[256]!.record));
    const [parents] = await store.tiles('prj_a', 'audit', [{ level: 1, index: 0, width: 1 }]);
    expect(Buffer.from(parents!)).toEqual(
      merkleRoot(leaves.slice(0, 256).map((leaf) => leafHash(leaf.record))),
    );
    await drop();
  });

  it('append never lets server time run backwards, whatever the clock does', async () => {
    const { store, clock, drop } = await open();
    const times: number[] = [];
    for (const ms of [startMs + 5, startMs - 86_400_000, startMs + 5, startMs + 86_400_000, startMs]) {
      clock.ms = ms;
      times.push((await appended(store, request([event()])))[0]!.serverMs);
    }
    const day = startMs + 86_400_000;
    expect(times).toEqual([startMs + 5, startMs + 5, startMs + 5, day, day]);
    await drop();
  });

  it('append adds one metering leaf for each request, with running totals', async () => {
    const { store, drop } = await open();
    await appended(store, request([event(), event()]));
    await appended(
      store,
      request([draftLeaf('gov.key/1', { add: 'k' })], { meter: { op: 'none', units: 0 } }),
    );
    await stored(store, request([], { meter: { op: 'compliance_proof', units: 1 } }));
    await stored(store, request([], { meter: { op: 'none', units: 0 } }));
    const { size } = await store.head('prj_a', 'metering');
    const leaves = await store.leaves('prj_a', 'metering', { from: 0, to: size });
    const records = leaves.map(({ record }) => JSON.parse(record) as { op: string; units: number });
    expect(records.map(({ op, units }) => `${op} ${units}`)).toEqual([
      'none 0',
      'audit_event 2',
      'none 0',
      'compliance_proof 1',
    ]);
    expect(await store.totals('prj_a')).toEqual({
      audit_event: 2,
      compliance_proof: 1,
      risk_decision: 0,
      replay_verification: 0,
    });
    await drop();
  });

  it('append refuses a request as stale when its run has another number of events', async () => {
    const { store, drop } = await open();
    await appended(store, request([event(), event()]));
    const proof = draftLeaf('gov.proof/1', { proofId: 'p' }, { runId: 'r1' });
    const expecting = (events: number, runId = 'r1') =>
      store.append(request([proof], { expect: { run: { runId, events } }, meter: { op: 'none', units: 0 } }));
    expect(await expecting(1)).toEqual({ outcome: 'stale', events: 2 });
    expect(await expecting(3)).toEqual({ outcome: 'stale', events: 2 });
    expect(await expecting(1, 'unknown')).toEqual({ outcome: 'stale', events: 0 });
    expect((await expecting(2)).outcome).toBe('stored');
    expect((await expecting(0, 'unknown')).outcome).toBe('stored');
    await drop();
  });

  it('append refuses a request as outdated when the log has another size, also within one commit', async () => {
    const { store, drop } = await open();
    const at = (auditSize: number) => request([event()], { expect: { auditSize } });
    const sizes = [2, 1, 1, 2];
    const outcomes = await Promise.all(sizes.map((size) => store.append(at(size))));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['outdated', 'stored', 'outdated', 'stored']);
    expect((await store.head('prj_a', 'audit')).size).toBe(3);
    await drop();
  });

  it('append sees within one commit what the requests before it did', async () => {
    const { store, drop } = await open();
    const proof = draftLeaf('gov.proof/1', { proofId: 'p' }, { runId: 'r1' });
    const outcomes = await Promise.all([
      store.append(request([event()])),
      store.append(
        request([proof], { expect: { run: { runId: 'r1', events: 0 } }, meter: { op: 'none', units: 0 } }),
      ),
      store.append(
        request([proof], { expect: { run: { runId: 'r1', events: 1 } }, meter: { op: 'none', units: 0 } }),
      ),
    ]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['stored', 'stale', 'stored']);
    await drop();
  });

  it('append refuses a request alone, and its neighbours in the commit are stored', async () => {
    const { store, drop } = await open();
    const bug = request([event({ runId: 'bug' })], {
      meter: { op: 'none', units: 7 },
    });
    const thrown = request([event({ runId: 'thrown' })], {
      effects: [{ kind: 'completeJob', jobId: 'job_none', lease: 'none', result: '{}', atMs: startMs }],
    });
    const results = await Promise.allSettled([
      store.append(request([event()])),
      store.append(bug),
      store.append(thrown),
      store.append(request([event()], { projectId: 'prj_unknown' })),
      store.append(request([event()])),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect((await store.head('prj_a', 'audit')).size).toBe(3);
    expect(await store.run('prj_a', 'bug')).toBeNull();
    expect(await store.run('prj_a', 'thrown')).toBeNull();
    expect((await store.run('prj_a', 'r1'))?.events).toBe(2);
    expect(store.condition()).toEqual({ writable: true, reasons: [], altered: [], queued: 0 });
    await drop();
  });

  it('append accepts as many waiting writes as the limit says, and not one more', async () => {
    const { store, drop } = await open();
    const empty = request([], { meter: { op: 'none', units: 0 } });
    const waiting = Array.from({ length: limits.writeQueue }, () => store.append(empty));
    expect(store.condition().queued).toBe(limits.writeQueue);
    expect(await codeOf(store.append(empty))).toBe('OVERLOADED');
    await Promise.all(waiting);
    expect((await store.append(empty)).outcome).toBe('stored');
    await drop();
  });

  it('a write queue full of one project refuses its newest write to admit another project', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const empty = (project: string) =>
      store.append(request([], { projectId: `prj_${project}`, meter: { op: 'none', units: 0 } }));
    const waiting = Array.from({ length: limits.writeQueue }, () => empty('a'));
    const newest = codeOf(waiting.pop()!);
    const other = empty('b');
    expect(store.condition().queued).toBe(limits.writeQueue);
    expect(await newest).toBe('OVERLOADED');
    expect(await codeOf(empty('a'))).toBe('OVERLOADED');
    expect((await other).outcome).toBe('stored');
    await Promise.all(waiting);
    await drop();
  });

  it('a closing store writes the queued requests and refuses new ones', async () => {
    const { store, reopen, drop } = await open();
    const queued = [appended(store, request([event()])), appended(store, request([event()]))];
    const again = reopen();
    expect(await codeOf(store.append(request([event()])))).toBe('SHUTTING_DOWN');
    expect((await Promise.all(queued)).flat().map(({ index }) => index)).toEqual([1, 2]);
    expect((await (await again).head('prj_a', 'audit')).size).toBe(3);
    await drop();
  });

  it('append continues after a restart with the same heads, totals and runs', async () => {
    const { store, reopen, drop } = await open();
    await appended(store, request(Array.from({ length: 300 }, (_, at) => event({ runId: `r${at % 2}` }))));
    const before = {
      audit: await store.head('prj_a', 'audit'),
      metering: await store.head('prj_a', 'metering'),
      totals: await store.totals('prj_a'),
      runs: await store.runs('prj_a', {}, { limit: 10 }),
      leaf: await store.leaf('prj_a', 7),
    };
    const again = await reopen();
    expect({
      audit: await again.head('prj_a', 'audit'),
      metering: await again.head('prj_a', 'metering'),
      totals: await again.totals('prj_a'),
      runs: await again.runs('prj_a', {}, { limit: 10 }),
      leaf: await again.leaf('prj_a', 7),
    }).toEqual(before);
    const [next] = await appended(again, request([event({ runId: 'r1' })]));
    expect(next).toMatchObject({ index: 301, runSeq: 150 });
    await drop();
  });

  it('append keeps trees, runs, ids and answers of projects apart', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const idempotency = {
      key: 'k',
      fingerprint: 'f',
      response: { status: 201, body: 'of a', headers: {} },
    };
    const mine = await appended(store, request([event({ clientEventId: 'c1' })], { idempotency }));
    const theirs = await appended(
      store,
      request([event({ clientEventId: 'c1' })], {
        projectId: 'prj_b',
        idempotency: { ...idempotency, response: { status: 201, body: 'of b', headers: {} } },
      }),
    );
    expect([mine[0]!.index, theirs[0]!.index]).toEqual([1, 1]);
    expect((await store.keptResponse('prj_a', 'k'))?.response.body).toBe('of a');
    expect((await store.keptResponse('prj_b', 'k'))?.response.body).toBe('of b');
    await appended(store, request([event({ runId: 'only-a', eventType: 'only.a' })]));
    expect(await store.run('prj_b', 'only-a')).toBeNull();
    expect(await store.events('prj_b', { runId: 'only-a' }, { limit: 10, order: 'asc' })).toEqual([]);
    expect(await store.countEvents('prj_b', { eventType: 'only.a' })).toBe(0);
    expect(await store.countEvents('prj_b', {})).toBe(1);
    expect(await store.leaf('prj_b', 2)).toBeNull();
    expect((await store.eventsAfter('prj_b', {}, { after: 0, limit: 10 })).map(({ index }) => index)).toEqual(
      [1],
    );
    expect((await store.runs('prj_b', {}, { limit: 10 })).map(({ runId }) => runId)).toEqual(['r1']);
    expect((await store.totals('prj_b')).audit_event).toBe(1);
    await drop();
  });

  it('a project is created only once', async () => {
    const { store, drop } = await open();
    expect(await codeOf(store.createProject(projectOf('a'), genesis('a')))).toBe('CONFLICT');
    expect((await store.head('prj_a', 'audit')).size).toBe(1);
    expect(await store.project('prj_a')).toEqual(projectOf('a'));
    expect(await store.project('prj_none')).toBeNull();
    expect(await codeOf(store.head('prj_none', 'audit'))).toBe('NOT_FOUND');
    await drop();
  });
});
