/**
 * Somebody who can change every row of the database, while the software stays honest: in each form the attack leads to a
 * refusal, and never to an index leaf or a proof that agrees with the altered rows.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { KeyList } from '../../../src/core/completeness/key-list.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { keyHash, valueHash } from '../../../src/core/completeness/map.ts';
import { readMapped } from '../../../src/core/completeness/map-function.ts';
import { readIndex } from '../../../src/core/completeness/index-leaf.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { hashText } from '../../../src/core/hash.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import type { IndexInput } from '../../../src/service/call/work.ts';
import { appended } from '../../store/support/fixture.ts';
import { engines, filled, index, projectId, prove, shown, type World } from './world.ts';

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => new Error('expected a refusal, got a proof'),
    (refused: unknown) => refused,
  );
  return error instanceof Error ? error.message : String(error);
};

/** The last two events of r1 go from every table of runs. */
async function cutRun({ below: { sql } }: World): Promise<void> {
  const run = "run_no = (SELECT run_no FROM run WHERE run_id = 'r1')";
  await sql(`DELETE FROM run_event WHERE ${run} AND run_seq >= 3`);
  await sql("UPDATE run SET events = 3, last_index = 5 WHERE run_id = 'r1'");
  await sql(`UPDATE run_type SET events = 3 WHERE ${run}`);
}

/** The map of the log, as if the last two events of r1 were of another run. */
async function cutMap({ below }: World, size: number): Promise<LogMap> {
  const map = new LogMap();
  let seen = 0;
  for (const { index: at, record } of (await below.records()).slice(0, size)) {
    const isCut = record.includes('"runId":"r1"') && ++seen > 3;
    const lie = isCut ? record.replace('"runId":"r1"', '"runId":"r9"') : record;
    map.add(leafHash(record).toString('latin1'), readMapped(lie));
    expect(at).toBe(map.size - 1);
  }
  map.root();
  return map;
}

const bytes = (value: Uint8Array, engine: string): string => {
  const hex = Buffer.from(value).toString('hex');
  return engine === 'sqlite' ? `x'${hex}'` : `'\\x${hex}'`;
};

/** Writes the cut list of r1, with or without the hash of its value. */
async function cutList(world: World, engine: string, { whole }: { whole: boolean }): Promise<void> {
  const key = keyHash(['run', 'r1']);
  const list = KeyList.from((await world.store.mapLists(projectId, [key])).get(key.toString('hex'))!)!;
  expect(list.n).toBe(5);
  const lie = new KeyList();
  const records = (await world.below.records()).filter(({ record }) => record.includes('"runId":"r1"'));
  for (const { index: at, record } of records.slice(0, 3)) {
    lie.add(leafHash(record).toString('latin1'), at, readMapped(record).ms!);
  }
  const { n, last, lastMs, peaks } = lie.stored();
  const value = whole ? `, value_hash = ${bytes(valueHash(lie.value()), engine)}` : '';
  await world.below.sql(
    `UPDATE index_list SET n = ${n}, last_index = ${last}, last_ms = ${lastMs},
       peaks = ${bytes(peaks, engine)}${value} WHERE key_hash = ${bytes(key, engine)}`,
  );
}

describe.each(Object.entries(engines))('on %s, rows that somebody altered', (engine, open) => {
  const worlds: World[] = [];
  const start = async (): Promise<World> => {
    const world = await filled(open);
    worlds.push(world);
    return world;
  };
  afterAll(async () => {
    for (const world of worlds) await world.drop();
  });

  it('a proof of an unaltered run adds an index leaf, and the next proof uses the same leaf', async () => {
    const world = await start();
    const { size } = await world.store.head(projectId, 'audit');
    const first = await prove(world);
    const leaf = await world.store.leaf(projectId, first!.leafIndex!);
    expect(readIndex(leaf!.record)).toMatchObject({ size });
    expect(first!.entries[0]).toMatchObject({ key: ['run', 'r1'], end: { value: { n: 5 } } });
    const second = await prove(world, 'r2', size);
    expect(second).toMatchObject({ leafIndex: first!.leafIndex, entries: [{ end: { value: { n: 5 } } }] });
    await world.restart();
    const third = await prove(world, 'r2', 11);
    expect(third!.leafIndex).toBe(first!.leafIndex);
    expect((await world.store.head(projectId, 'audit')).size).toBe(size + 1);
  });

  it('a proof refuses altered rows in the tables of runs', async () => {
    const world = await start();
    await cutRun(world);
    expect((await shown(world, 'r1'))[0]!.n).toBe(3);
    expect(await refusal(prove(world))).toMatch(
      /index_mismatch: the list of the events of r1: it has 3 .* and the log 5/,
    );
    expect(await refusal(index(world, 'check', await shown(world, 'r1')))).toContain('index_mismatch');
    await expect(prove(world, 'r2')).resolves.not.toBeNull();
  });

  it('a proof refuses an altered table of decisions that hides an evaluation of the run', async () => {
    const world = await start();
    const meter = { op: 'none', units: 0 } as const;
    const leaves = [draftLeaf('gov.evaluation/1', { id: 'pev_1' }, { runId: 'r1', id: 'pev_1' })];
    await appended(world.store, { projectId, leaves, meter });
    const key = ['of', 'gov.evaluation/1', 'r1'];
    const evaluations = async (): Promise<IndexInput['lists']> => {
      const page = { limit: 10, order: 'asc' } as const;
      const found = await world.store.leavesOf(projectId, { type: 'gov.evaluation/1', runId: 'r1' }, page);
      return [{ key, what: 'evaluations', n: found.length, root: null }];
    };
    expect((await index(world, 'check', await evaluations()))!.entries[0]).toMatchObject({ key });
    await world.below.sql("DELETE FROM decided WHERE run_id = 'r1'");
    await world.restart();
    expect(await refusal(index(world, 'check', await evaluations()))).toMatch(
      /index_mismatch: the list of the evaluations of r1: it has 0 .* and the log 1/,
    );
  });

  it('a proof refuses an altered list of the map together with the altered run', async () => {
    const world = await start();
    await cutRun(world);
    await cutList(world, engine, { whole: false });
    expect(await refusal(prove(world))).toContain('index_mismatch: a list or part of the saved map');
  });

  it('a proof refuses an altered list and part of the map together with the altered run', async () => {
    const world = await start();
    await cutRun(world);
    await cutList(world, engine, { whole: true });
    expect(await refusal(prove(world))).toContain('index_mismatch: a list or part of the saved map');
  });

  it('a proof refuses altered tables of the map that agree with each other', async () => {
    const world = await start();
    await cutRun(world);
    const { size, leafIndex } = (await world.store.savedMap(projectId))!;
    const lie = await cutMap(world, size);
    const { parts, lists } = lie.unsaved();
    await world.store.dropMap(projectId);
    await world.store.saveMap(projectId, { map: { size, ms: lie.ms, leafIndex, parts }, since: 0, lists });
    expect(await refusal(prove(world))).toContain('index_mismatch: the saved map of the log');
    // nor with the record of the index leaf, and its hash in the tile
    const { record } = (await world.store.leaf(projectId, leafIndex))!;
    const forged = record.replace(/sha256:[0-9a-f]{64}/, hashText(lie.root()));
    await replaceLeaf(world, engine, { index: leafIndex, record: forged });
    await world.restart().catch(() => {});
    expect(await refusal(prove(world))).not.toContain('got a proof');
  });

  it('a proof derives missing rows of the map from the leaves again', async () => {
    const world = await start();
    const { leafIndex } = (await world.store.savedMap(projectId))!;
    const before = readIndex((await world.store.leaf(projectId, leafIndex))!.record)!;
    await world.below.sql('DELETE FROM index_map');
    await world.below.sql('DELETE FROM index_list');
    const again = await prove(world);
    expect(again!.entries[0]).toMatchObject({ end: { value: { n: 5 } } });
    const later = readIndex((await world.store.leaf(projectId, again!.leafIndex!))!.record)!;
    expect(later.keys).toBeGreaterThanOrEqual(before.keys);
    await cutRun(world);
    await world.restart();
    expect(await refusal(prove(world))).toContain('index_mismatch');
  });

  it('an altered record with its hash in the tile does not get into an index leaf', async () => {
    const world = await start();
    await world.below.sql('DELETE FROM index_map');
    await world.below.sql('DELETE FROM index_list');
    const last = (await world.below.records()).find(({ record }) => record.includes('"runSeq":4'));
    const forged = last!.record.replace('"runId":"r1"', '"runId":"r9"').replace('"runSeq":4', '"runSeq":0');
    await replaceLeaf(world, engine, { index: last!.index, record: forged });
    const { size } = await world.store.head(projectId, 'audit');
    expect(await refusal(index(world, 'build'))).toContain('index_mismatch: ');
    expect((await world.store.head(projectId, 'audit')).size).toBe(size);
  });
});

/** Replaces a record, and its hash in the lowest tile. The roots above stay as they were signed. */
async function replaceLeaf(
  { below, store }: World,
  engine: string,
  { index: at, record }: { index: number; record: string },
): Promise<void> {
  await below.sql(`UPDATE leaf SET record = '${record}' WHERE ${below.leafAt(at)}`);
  const [tile] = await store.tiles(projectId, 'audit', [{ level: 0, index: 0, width: at + 1 }]);
  const hashes = Buffer.from(tile!);
  leafHash(record).copy(hashes, at * 32);
  await below.sql(
    `UPDATE tile SET hashes = ${bytes(hashes.subarray(0, 1024), engine)} WHERE tree = 0 AND level = 0 AND n = 0 AND part = 0`,
  );
}
