/** Every statement of an erasure and of a pruning fails once: all of it is there afterwards or nothing, and fsck judges. */
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { draftPrune } from '../../../../src/core/decided/prune.ts';
import { erasuresOf } from '../../../../src/core/events/erased.ts';
import { hashText } from '../../../../src/core/hash.ts';
import { merkleRoot } from '../../../../src/core/merkle/tree.ts';
import type { Faults } from '../../../../src/store/file/faults.ts';
import type { SqliteStore } from '../../../../src/store/sqlite/store.ts';
import { appended, event, request } from '../../support/fixture.ts';
import { digestsOf, erasing } from '../../support/erasing.ts';
import { unmetered } from '../../support/governance.ts';
import { TestPlane } from '../../support/plane.ts';

const subject = 'ab'.repeat(16);
const below = 15;
const planes: TestPlane[] = [];
let original: TestPlane;
beforeAll(async () => {
  original = await new TestPlane().filled(20);
  const store = original.open();
  await appended(store, request([{ ...event({ clientEventId: 'mine' }), subjects: [subject] }]));
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

/** Fails at one step, counted from when it is armed. */
class Failing implements Faults {
  readonly steps: string[] = [];
  armed = false;
  readonly #at: number;
  readonly #code: string;

  constructor(at: number, code: string) {
    this.#at = at;
    this.#code = code;
  }

  before(step: string): void {
    if (!this.armed) return;
    this.steps.push(step);
    if (this.steps.length - 1 === this.#at)
      throw new Database.SqliteError(`injected ${this.#code}`, this.#code);
  }
}

const targetsOf = async (store: SqliteStore) => {
  const leaves = await store.leavesAbout('prj_a', subject, { limit: 10 });
  return leaves.map((leaf) => ({ index: leaf.index, digests: [...digestsOf(leaf).values()] }));
};

/** Of whom nothing is left, and the leaf that says so. */
async function erase(store: SqliteStore): Promise<void> {
  const targets = await targetsOf(store);
  const { effects = [], ...made } = erasing(targets);
  await store.append({
    ...made,
    effects: effects.map((effect) => ({ ...effect, subject })) as typeof effects,
  });
}

async function prune(store: SqliteStore): Promise<void> {
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: below });
  const root = merkleRoot(leaves.map(({ hash }) => hash));
  const record = {
    minIndex: below,
    rootAtMinIndex: hashText(root),
    archiveHash: `sha256:${'0'.repeat(64)}`,
    archiveSize: 1,
    reasonCode: 'test',
    prunedAt: '2026-01-01T00:00:00.000Z',
  };
  await store.append(unmetered([draftPrune(record)], [{ kind: 'prune', minIndex: below, root, leaf: 0 }]));
  await store.dropPruned('prj_a', { from: 0, to: below });
}

interface Outcome {
  readonly steps: readonly string[];
  readonly done: boolean;
}

/** Does something with a store that fails once; then what is on disk. */
async function attempt(
  work: (store: SqliteStore) => Promise<void>,
  {
    at,
    code,
    judge,
  }: { at: number; code: string; judge: (store: SqliteStore, done: boolean) => Promise<void> },
): Promise<Outcome> {
  const plane = original.copy();
  planes.push(plane);
  const faults = new Failing(at, code);
  const store = plane.open({ faults });
  faults.armed = true;
  const done = await work(store).then(
    () => true,
    () => false,
  );
  faults.armed = false;
  await store.close();
  const again = plane.open();
  await judge(again, done);
  // goes on where it was
  await appended(again, request([event()]));
  await again.close();
  const where = `${faults.steps[at] ?? 'nothing'}, ${code}`;
  expect([where, (await plane.fsck()).problems]).toEqual([where, []]);
  plane.drop();
  return { steps: faults.steps, done };
}

const judgeErased = async (store: SqliteStore, done: boolean): Promise<void> => {
  const leaf = (await store.leaf('prj_a', 21))!;
  const [erasure] = await store.leavesOf('prj_a', { type: 'gov.erasure/1' }, { limit: 1, order: 'desc' });
  const all = [
    leaf.disclosures === '[]',
    erasuresOf(leaf.erased ?? null).length === 1,
    erasure !== undefined,
    (await targetsOf(store)).length === 0,
  ];
  expect(new Set(all).size).toBe(1);
  if (done) expect(all[0]).toBe(true);
};

const judgePruned = async (store: SqliteStore, done: boolean): Promise<void> => {
  const isThere = await store.leaf('prj_a', 3).then(
    () => true,
    () => false,
  );
  if (done) expect(isThere).toBe(false);
  if (!isThere) expect(await store.prunedBelow('prj_a')).toBe(below);
};

describe.each([
  ['an erasure', erase, judgeErased],
  ['a pruning', prune, judgePruned],
] as const)('%s with one failed statement', (_, work, judge) => {
  it.each(['SQLITE_IOERR_WRITE', 'SQLITE_FULL'])(
    'an erasure or pruning where a statement fails with %s is complete or has no effect',
    async (code) => {
      const { steps, done } = await attempt(work, { at: -1, code, judge });
      expect(done).toBe(true);
      expect(steps.length).toBeGreaterThan(10);
      for (let at = 0; at < steps.length; at++) await attempt(work, { at, code, judge });
    },
  );
});
