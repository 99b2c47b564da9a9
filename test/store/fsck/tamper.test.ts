/** What was changed below SQL's guards is found: by fsck with its position, by reads, by the next start. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { positionOf } from '../../../src/store/file/position.ts';
import { codeOf, startMs } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

const planes: TestPlane[] = [];
const originals = new Map<number, TestPlane>();
beforeAll(async () => {
  for (const events of [200, 600]) originals.set(events, await new TestPlane().filled(events));
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => {
  for (const plane of originals.values()) plane.drop();
});

function filled(events: 200 | 600 = 600): TestPlane {
  const plane = originals.get(events)!.copy();
  planes.push(plane);
  return plane;
}

/** All events of a plane are in one bucket of each width. */
const bucketOf = (width: number): number => Math.floor(startMs / 2 ** width);
const ofBuckets = [0, 1].flatMap((type) =>
  [16, 24].map((width) => `prj_a/event_count/${type}/${width}/${bucketOf(width)} counter_mismatch`),
);

const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
const blob = (value: Buffer): string => `x'${value.toString('hex')}'`;

describe('fsck of the database schema', () => {
  it.each([
    ['a trigger that is gone', 'DROP TRIGGER leaf_delete', 'gov.db/trigger leaf_delete schema_altered'],
    [
      'a trigger that lets everything pass',
      'DROP TRIGGER leaf_update; CREATE TRIGGER leaf_update BEFORE UPDATE ON leaf BEGIN SELECT 1; END',
      'gov.db/trigger leaf_update schema_altered',
    ],
    [
      'a trigger of somebody else',
      'CREATE TRIGGER mine AFTER INSERT ON leaf BEGIN DELETE FROM run; END',
      'gov.db/trigger mine schema_altered',
    ],
  ])('fsck finds %s in the database schema', async (_, statement, problem) => {
    const plane = filled(200);
    plane.guarded(statement);
    const { problems } = await plane.fsck();
    expect(problems.map(({ position, kind }) => `${position} ${kind}`)).toEqual([problem]);
  });
});

describe('fsck of changed rows', () => {
  it.each([
    [
      'a changed record',
      "UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx = 300",
      ['prj_a/audit/300 record_altered', 'prj_a/audit/300 run_mismatch'],
    ],
    [
      'a deleted record',
      'DELETE FROM leaf WHERE idx = 300',
      ['prj_a/audit/300 record_missing', 'prj_a/run_event run_mismatch'],
    ],
    [
      'a record inserted beyond the head',
      'INSERT INTO leaf (position, record) SELECT position + 1, record FROM leaf WHERE idx = 600',
      ['prj_a/audit/601 record_beyond_head'],
    ],
    [
      'two records in each other’s place',
      `UPDATE leaf SET position = -1 WHERE idx = 300; UPDATE leaf SET position = position - 1 WHERE idx = 301; UPDATE leaf SET position = ${positionOf(1, 301)} WHERE position = -1`,
      [
        'prj_a/audit/300 body_altered',
        'prj_a/audit/301 body_altered',
        'prj_a/audit/301 server_time_backwards',
        'prj_a/audit/300 event_id_mismatch',
        'prj_a/audit/300 record_altered',
        'prj_a/audit/300 run_mismatch',
        'prj_a/audit/301 event_id_mismatch',
        'prj_a/audit/301 record_altered',
        'prj_a/audit/301 run_mismatch',
      ],
    ],
    [
      'a record inserted between two others',
      `UPDATE leaf SET position = -position - 1 WHERE idx >= 599; UPDATE leaf SET position = -position WHERE position < 0;
      INSERT INTO leaf (position, record) SELECT position + 1, record FROM leaf WHERE idx = 598`,
      [
        'prj_a/audit/599 body_altered',
        'prj_a/audit/600 body_altered',
        'prj_a/audit/599 event_id_mismatch',
        'prj_a/audit/599 record_altered',
        'prj_a/audit/599 run_mismatch',
        'prj_a/audit/600 event_id_mismatch',
        'prj_a/audit/600 record_altered',
        'prj_a/audit/600 run_mismatch',
        'prj_a/audit/601 record_beyond_head',
      ],
    ],
    [
      'a changed tile',
      'UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE tree = 0 AND level = 0 AND n = 1 AND part = 2',
      [
        'prj_a/audit/320 record_altered',
        'prj_a/audit/checkpoint/601 root_mismatch',
        'prj_a/audit/head root_mismatch',
        'prj_a/audit/tile/1/0 tile_altered',
        'prj_a/metering/7 meter_ref',
      ],
    ],
    [
      'a changed upper tile',
      'UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE tree = 0 AND level = 1',
      ['prj_a/audit/tile/1/0 tile_altered', 'heads/test/a/audit heads_mismatch'],
    ],
    [
      'a deleted tile',
      'DELETE FROM tile WHERE tree = 0 AND level = 1',
      ['prj_a/audit/tile/1/0 tile_missing', 'prj_a/audit/tile/1/0 tile_missing', 'heads file_corrupt'],
    ],
    [
      'a changed head',
      'UPDATE head SET root = zeroblob(32) WHERE tree = 0',
      ['prj_a/audit/head root_mismatch'],
    ],
    [
      'a changed checkpoint root',
      'UPDATE checkpoint SET root = zeroblob(32) WHERE size = 51',
      ['prj_a/audit/checkpoint/51 checkpoint_mismatch', 'prj_a/audit/checkpoint/51 root_mismatch'],
    ],
    [
      'a changed body',
      "UPDATE body SET disclosures = replace(disclosures, 'execute', 'exekute') WHERE idx = 300",
      ['prj_a/audit/300 body_altered'],
    ],
    ...['NULL', "'[]'"].map((erased): [string, string, string[]] => [
      `a body with its fields in another order, and ${erased} for what was erased`,
      `UPDATE body SET erased = ${erased}, disclosures =
       (SELECT json_group_array(json(value)) FROM (SELECT value FROM json_each(disclosures) ORDER BY key DESC))
       WHERE idx = 300`,
      ['prj_a/audit/300 body_altered', ...(erased === 'NULL' ? [] : ['prj_a/audit/300 erasure_mismatch'])],
    ]),
    ['a deleted body', 'DELETE FROM body WHERE idx = 300', ['prj_a/audit/300 body_missing']],
    [
      'a changed place in a run',
      'UPDATE run_event SET idx = 999 WHERE idx = 300',
      ['prj_a/audit/300 run_mismatch', 'prj_a/run_event run_mismatch', 'prj_a/run/r2 run_mismatch'],
    ],
    [
      'a deleted place in a run',
      'DELETE FROM run_event WHERE idx = 300',
      [
        'prj_a/audit/300 run_mismatch',
        'prj_a/run_event run_mismatch',
        'prj_a/run/r2 run_mismatch',
        'prj_a/run_type/3/1 counter_mismatch',
        ...ofBuckets,
      ],
    ],
    [
      'a changed run',
      "UPDATE run SET events = events + 1 WHERE run_id = 'r1'",
      ['prj_a/run/r1 run_mismatch'],
    ],
    [
      'a run with another time of its newest event',
      "UPDATE run SET last_server_ms = last_server_ms + 1 WHERE run_id = 'r1'",
      ['prj_a/run/r1 run_mismatch'],
    ],
    [
      'a changed counter',
      'UPDATE run_type SET events = events + 1 WHERE run_no = 1',
      ['prj_a/run_type/1/1 counter_mismatch', 'prj_a/type_total/1 counter_mismatch'],
    ],
    [
      'a changed counter of events by time',
      'UPDATE event_count SET events = events + 1 WHERE type_no = 0 AND width = 24',
      [`prj_a/event_count/0/24/${bucketOf(24)} counter_mismatch`],
    ],
    [
      'a deleted counter of events by time',
      'DELETE FROM event_count WHERE type_no = 1 AND width = 16',
      [`prj_a/event_count/1/16/${bucketOf(16)} counter_mismatch`],
    ],
    [
      'a counter of events that were never recorded',
      'INSERT INTO event_count (project, type_no, width, bucket, events) VALUES (1, 1, 16, 7, 1)',
      ['prj_a/event_count/1/16/7 counter_mismatch'],
    ],
    [
      'a narrower time of a block of runs',
      'UPDATE run_span SET last_ms = last_ms - 1',
      ['prj_a/run_span/0 counter_mismatch'],
    ],
    [
      'a changed metering leaf',
      `UPDATE meter SET record = replace(record, '"units":50', '"units":49') WHERE idx = 5`,
      ['prj_a/metering/5 meter_totals', 'prj_a/metering/5 record_altered'],
    ],
    [
      'a metering leaf with a shorter nonce',
      'UPDATE meter SET nonce = substr(nonce, 1, 15) WHERE idx = 5',
      ['prj_a/metering/5 meter_ref'],
    ],
    [
      'a metering leaf of an unknown kind',
      `UPDATE meter SET record = replace(record, '"op":"audit_event"', '"op":"nope"') WHERE idx = 12`,
      [
        'prj_a/metering/12 record_altered',
        'prj_a/metering/12 record_malformed',
        'prj_a/metering/13 meter_coverage',
      ],
    ],
    [
      'a metering leaf from before the log',
      'UPDATE meter SET first_index = -1 WHERE idx = 5',
      ['prj_a/metering/5 meter_coverage', 'prj_a/metering/5 meter_ref', 'prj_a/metering/6 meter_coverage'],
    ],
    [
      'a metering leaf that covers other leaves',
      'UPDATE meter SET leaf_count = leaf_count - 1 WHERE idx = 5',
      ['prj_a/metering/5 meter_ref', 'prj_a/metering/6 meter_coverage'],
    ],
    [
      'a metering leaf taken away at the end',
      'DELETE FROM meter WHERE idx = 12',
      ['prj_a/metering/12 record_missing', 'prj_a/metering/13 meter_coverage'],
    ],
  ])('fsck finds %s and reports its position', async (_, statements, expected) => {
    const plane = filled();
    plane.sql(statements);
    const { ok, problems } = await plane.fsck();
    expect(ok).toBe(false);
    const found = problems.map(({ position, kind }) => `${position} ${kind}`);
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    '{"_sd":[],"eventId":7,"runId":{},"runSeq":"x","type":"gov.event/1"}',
    '{"_sd":[],"id":{},"runId":[],"type":"gov.approval/1"}',
    '{"_sd":[],"approval":{"id":[]},"type":"gov.evaluation/1"}',
    '{"_sd":[],"policyId":{},"type":"gov.policy/1","version":"1"}',
    '{"_sd":[],"type":{}}',
    'null',
  ])('fsck reports a record with members of wrong types and continues: %s', async (record) => {
    const plane = filled(200);
    plane.sql(`UPDATE leaf SET record = ${text(record)} WHERE idx = 100`);
    const { problems } = await plane.fsck();
    expect(problems[0]).toMatchObject({ position: 'prj_a/audit/100', kind: 'record_altered' });
  });

  it('fsck without --deep finds a changed row unless it is in a body', async () => {
    const plane = filled(200);
    plane.sql("UPDATE body SET disclosures = replace(disclosures, 'execute', 'exekute') WHERE idx = 3");
    expect((await plane.fsck(false)).ok).toBe(true);
    plane.sql("UPDATE leaf SET record = record || ' ' WHERE idx = 3");
    expect((await plane.fsck(false)).problems.map(({ kind }) => kind)).toEqual([
      'record_altered',
      'record_malformed',
      'run_mismatch',
    ]);
  });

  it('forged record, hash and tiles still contradict the signed checkpoint', async () => {
    const plane = filled(200);
    const [row] = plane.query<{ record: string }>('SELECT record FROM leaf WHERE idx = 120');
    const forged = canonicalize({ ...(JSON.parse(row!.record) as object), causedBy: ['forged'] });
    const part = `tree = 0 AND level = 0 AND n = 0 AND part = ${Math.floor(120 / 32)}`;
    const at = (120 % 32) * 32;
    plane.sql(
      `UPDATE leaf SET record = ${text(forged)} WHERE idx = 120;
       UPDATE tile SET hashes = CAST(substr(hashes, 1, ${at}) || ${blob(leafHash(forged))} || substr(hashes, ${at + 33}) AS BLOB) WHERE ${part}`,
    );
    const found = (await plane.fsck()).problems.map(({ position, kind }) => `${position} ${kind}`);
    expect(found).toContain('prj_a/audit/checkpoint/201 root_mismatch');
    expect(found).toContain('prj_a/audit/head root_mismatch');
  });
});

describe('a read of a changed leaf', () => {
  it('a read of a changed record is refused with its position, and other reads succeed', async () => {
    const plane = filled(200);
    const store = plane.open();
    plane.sql("UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx = 100");
    const read = store.leaf('prj_a', 100);
    await expect(read).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      extensions: { tree: 'audit', index: 100 },
      message: expect.stringContaining('leaf 100 of the audit log does not match its hash') as string,
    });
    const runId = `r${99 % 3}`;
    expect(await codeOf(store.events('prj_a', { runId }, { limit: 1000, order: 'asc' }))).toBe(
      'STORAGE_FAULT',
    );
    expect(await codeOf(store.leaves('prj_a', 'audit', { from: 90, to: 110 }))).toBe('STORAGE_FAULT');
    expect(await codeOf(store.eventsAfter('prj_a', {}, { after: 95, limit: 10 }))).toBe('STORAGE_FAULT');
    const range = { fromSeq: 0, beforeIndex: 1000, limit: 1000, bodies: false };
    expect(await codeOf(store.runLeaves('prj_a', runId, range))).toBe('STORAGE_FAULT');
    const narrow = { ...range, bodies: { at: '/action' } };
    expect(await codeOf(store.runLeaves('prj_a', runId, narrow))).toBe('STORAGE_FAULT');
    expect((await store.leaf('prj_a', 101))?.index).toBe(101);
    expect(store.condition()).toMatchObject({
      writable: true,
      reasons: [expect.stringMatching(/^integrity_violation: project prj_a: leaf 100 of the audit log/)],
    });
    await store.close();
  });

  it('a read of a missing record or a changed body is refused', async () => {
    const plane = filled(200);
    const store = plane.open();
    plane.sql(
      `DELETE FROM leaf WHERE idx = 100;
       UPDATE body SET disclosures = replace(disclosures, 'execute', 'exekute') WHERE idx = 110`,
    );
    await expect(store.leaf('prj_a', 100)).rejects.toMatchObject({ extensions: { index: 100 } });
    await expect(store.leaf('prj_a', 110)).rejects.toMatchObject({ extensions: { index: 110 } });
    const page = store.events('prj_a', { runId: 'r0' }, { limit: 1000, order: 'asc' });
    await expect(page).rejects.toMatchObject({ extensions: { index: 100 } });
    await store.close();
  });
});

describe('a read of one field', () => {
  const plane = (): TestPlane => filled(200);
  const read = (store: ReturnType<TestPlane['open']>, at: string) =>
    store.runLeaves('prj_a', 'r0', { fromSeq: 0, beforeIndex: 1000, limit: 1000, bodies: { at } });

  it('a read of one field refuses a changed value and an unproved absence, but not other fields', async () => {
    const altered = plane();
    const store = altered.open();
    altered.sql("UPDATE body SET disclosures = replace(disclosures, 'execute', 'exekute') WHERE idx = 100");
    const refusal = { code: 'STORAGE_FAULT', extensions: { tree: 'audit', index: 100 } };
    await expect(read(store, '/action')).rejects.toMatchObject(refusal);
    await expect(read(store, '/metadata/absent')).rejects.toMatchObject(refusal);
    expect(await read(store, '/actor/role')).not.toHaveLength(0);
    await store.close();
    expect((await altered.fsck()).problems).toMatchObject([
      { position: 'prj_a/audit/100', kind: 'body_altered' },
    ]);
  });

  it('a read of one field refuses a body in which the field was renamed', async () => {
    const altered = plane();
    const store = altered.open();
    altered.sql("UPDATE body SET disclosures = replace(disclosures, '/action', '/acting') WHERE idx = 100");
    await expect(read(store, '/action')).rejects.toMatchObject({ extensions: { index: 100 } });
    await store.close();
  });
});

describe('the start of a store', () => {
  it.each([
    ['a changed record', "UPDATE leaf SET record = record || ' ' WHERE idx = 150", 'at leaf 150'],
    ['a missing record', 'DELETE FROM leaf WHERE idx = 150', 'at leaf 150'],
    ['a cut tail', 'DELETE FROM leaf WHERE idx >= 190', 'at leaf 190'],
    [
      'a record beyond the head',
      `INSERT INTO leaf (position, record) VALUES (${positionOf(1, 201)}, '{}')`,
      'at leaf 201',
    ],
    ['a changed metering leaf', "UPDATE meter SET record = record || ' ' WHERE idx = 2", 'at leaf 2'],
    ['a changed head', 'UPDATE head SET root = zeroblob(32) WHERE tree = 1', 'tiles that lead to the head'],
    ['a head moved back', 'UPDATE head SET size = 200 WHERE tree = 0', 'at least 201 leaves'],
  ])('the store refuses to open a log with %s', async (_, statements, detail) => {
    const plane = filled(200);
    plane.sql(statements);
    expect(() => plane.open()).toThrow(detail);
    expect((await plane.fsck()).ok).toBe(false);
  });

  it('the store refuses to open when a tile does not match its parent', async () => {
    const plane = filled(600);
    plane.sql(
      `UPDATE tile SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE tree = 0 AND level = 0 AND n = 1 AND part = 2;
       DELETE FROM checkpoint`,
    );
    expect(() => plane.open()).toThrow(/at leaf (320|256)/);
  });
});
