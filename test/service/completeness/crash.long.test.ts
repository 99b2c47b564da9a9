/**
 * A process ends at each step at which the index of a log is written: the leaf, the map and its lists. The next process
 * finds no half of them, and derives the same index as one that never failed.
 */
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { readIndex } from '../../../src/core/completeness/index-leaf.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { mapOf } from '../../core/completeness/indexed.ts';
import { appended, event, request } from '../../store/support/fixture.ts';
import { missing } from '../../store/postgres/support/described.ts';
import { engines, filled, index, projectId, prove, type World } from './world.ts';

const failures: Record<string, () => Error> = {
  sqlite: () => new Database.SqliteError('injected SQLITE_IOERR', 'SQLITE_IOERR'),
  postgres: () => Object.assign(new Error('thrown 58030'), { code: '58030' }),
};

/** The root that an index leaf of this size must have, from the records alone. */
async function rootAt({ below }: World, size: number): Promise<Buffer> {
  const records = (await below.records()).slice(0, size);
  return mapOf(
    records,
    records.map(({ record }) => leafHash(record)),
  ).root();
}

/** Every index leaf of the log has the root of the records below it, and the saved map the root of one of them. */
async function expectTrue(world: World): Promise<void> {
  const page = { limit: 100, order: 'asc' } as const;
  const leaves = await world.store.leavesOf(projectId, { type: 'gov.index/1' }, page);
  const read = leaves.map(({ record }) => readIndex(record)!);
  for (const { size, root } of read) expect(root).toEqual(await rootAt(world, size));
  const saved = await world.store.savedMap(projectId);
  expect(read.map(({ size }) => size)).toContain(saved!.size);
}

/** More events of runs that the saved map has, and of new ones. */
async function grow({ store }: World): Promise<void> {
  for (const runId of ['r1', 'r3', 'r4', 'r5']) await appended(store, request([event({ runId })]));
}

/** Builds the index in a process that fails at a step; returns the steps, of which the last one failed if any did. */
async function buildFailing(world: World, engine: string, failing: number): Promise<string[]> {
  const steps: string[] = [];
  let isArmed = false;
  await world.restart((step) => {
    if (!isArmed) return;
    steps.push(step);
    if (steps.length > failing) throw failures[engine]!();
  });
  isArmed = true;
  const failed = await index(world, 'build').then(
    () => false,
    () => true,
  );
  expect(failed).toBe(steps.length > failing);
  isArmed = false;
  return steps;
}

describe.each(Object.entries(engines))(
  'on %s, a process that ends while it writes the index',
  (engine, open) => {
    it(
      'a process that ends while it writes the index leaves whole steps, and the next has the same root',
      { timeout: 120_000 },
      async () => {
        const world = await filled(open);
        const seen = new Set<string>();
        for (let failing = 0; ; failing++) {
          await grow(world);
          const before = await world.store.savedMap(projectId);
          const steps = await buildFailing(world, engine, failing);
          await world.restart();
          await expectTrue(world);
          if (steps.length <= failing) break;
          seen.add(steps.at(-1)!);
          expect(await world.store.savedMap(projectId)).toEqual(before);
          expect((await prove(world))!.entries[0]).toMatchObject({ end: { value: { n: 6 + failing } } });
          await world.restart();
        }
        expect(seen.size).toBeGreaterThan(engine === 'sqlite' ? 5 : 0);
        await index(world, 'build');
        await expectTrue(world);
        await world.drop();
      },
    );
  },
);

describe.skipIf(missing !== null)('on postgres, a statement that fails while the map is saved', () => {
  it('a statement that fails while the map is saved leaves the old map, and the next process saves it', async () => {
    const world = await filled(engines['postgres']!);
    const before = await world.store.savedMap(projectId);
    await grow(world);
    const { sql } = world.below;
    await sql('ALTER TABLE index_list ADD CONSTRAINT failing CHECK (n < 0) NOT VALID');
    await expect(index(world, 'build')).rejects.toThrow();
    expect(await world.store.savedMap(projectId)).toEqual(before);
    await sql('ALTER TABLE index_list DROP CONSTRAINT failing');
    await world.restart();
    await index(world, 'build');
    expect((await world.store.savedMap(projectId))!.size).toBeGreaterThan(before!.size);
    await expectTrue(world);
    await world.drop();
  });
});
