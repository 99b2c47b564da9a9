import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { MultiproofRoot, subtreesOf } from '../../../src/core/merkle/multi-proof.ts';

const leaves = (size: number): Buffer[] =>
  Array.from({ length: size }, (_, index) => leafHash(`leaf ${index}`));

/** Hashes of the gap before each leaf that is shown, and of the one behind the last. */
function gapsOf(all: readonly Buffer[], shown: readonly number[]): Buffer[][] {
  const ends = [...shown, all.length];
  return ends.map((end, at) =>
    subtreesOf(at === 0 ? 0 : (ends[at - 1] ?? 0) + 1, end).map(({ level, index }) =>
      merkleRoot(all.slice(index * 2 ** level, (index + 1) * 2 ** level)),
    ),
  );
}

function rootOf(
  size: number,
  shown: readonly (readonly [number, Uint8Array])[],
  gaps: readonly (readonly Uint8Array[])[],
) {
  const proof = new MultiproofRoot();
  for (const [at, [index, hash]] of shown.entries()) proof.leaf(index, hash, gaps[at] ?? []);
  return proof.root(size, gaps[shown.length] ?? []);
}

const trees = fc
  .integer({ min: 1, max: 70 })
  .chain((size) =>
    fc.tuple(fc.constant(size), fc.subarray(Array.from({ length: size }, (_, index) => index))),
  );

describe('a proof of many leaves', () => {
  it('a proof of many leaves gives the root of the tree for any choice of leaves', () => {
    fc.assert(
      fc.property(trees, ([size, shown]) => {
        const all = leaves(size);
        const given = shown.map((index) => [index, all[index] as Buffer] as const);
        expect(rootOf(size, given, gapsOf(all, shown))).toEqual(merkleRoot(all));
      }),
    );
  });

  it('a proof of many leaves gives no root or another one after any change', () => {
    fc.assert(
      fc.property(trees, fc.nat(), ([size, shown], at) => {
        const all = leaves(size);
        const root = merkleRoot(all);
        const gaps = gapsOf(all, shown);
        const given = shown.map((index) => [index, all[index] as Buffer] as const);
        const other = leafHash('another');
        const changedLeaf = given.map(([index, hash], place) =>
          place === at % given.length ? ([index, other] as const) : ([index, hash] as const),
        );
        if (given.length > 0) expect(rootOf(size, changedLeaf, gaps)).not.toEqual(root);
        if (given.length > 0)
          expect(rootOf(size, given.toSpliced(at % given.length, 1), gaps)).not.toEqual(root);
        const place = gaps.findIndex((gap) => gap.length > 0);
        const gap = gaps[place] ?? [];
        if (place < 0) return;
        const wrong = [gap.with(at % gap.length, other), gap.slice(1), [...gap, other]];
        expect(rootOf(size, given, gaps.with(place, wrong[0] ?? []))).not.toEqual(root);
        expect(rootOf(size, given, gaps.with(place, wrong[1] ?? []))).toBeNull();
        expect(rootOf(size, given, gaps.with(place, wrong[2] ?? []))).toBeNull();
      }),
    );
  });

  it('a proof of many leaves takes ascending leaves below the size and 32-byte hashes only', () => {
    const all = leaves(4);
    const [one, two] = [all[1] as Buffer, all[2] as Buffer];
    expect(
      rootOf(
        4,
        [
          [2, two],
          [1, one],
        ],
        gapsOf(all, [1, 2]),
      ),
    ).toBeNull();
    expect(
      rootOf(
        4,
        [
          [1, one],
          [1, one],
        ],
        gapsOf(all, [1, 2]),
      ),
    ).toBeNull();
    expect(rootOf(4, [[4, one]], gapsOf(all, []))).toBeNull();
    expect(rootOf(4, [[0.5, one]], gapsOf(all, []))).toBeNull();
    expect(rootOf(4, [[1, one.subarray(1)]], gapsOf(all, [1]))).toBeNull();
    expect(rootOf(4, [[3, one]], [[], gapsOf(all, [])[0] ?? []])).toBeNull();
    expect(rootOf(0, [], [])).toBeNull();
    expect(rootOf(NaN, [], [])).toBeNull();
  });

  it('a proof of many leaves needs few hashes between leaves, even in the largest trees', () => {
    expect(subtreesOf(1, 8)).toEqual([
      { level: 0, index: 1 },
      { level: 1, index: 1 },
      { level: 2, index: 1 },
    ]);
    expect(subtreesOf(5, 5)).toEqual([]);
    const most = subtreesOf(1, Number.MAX_SAFE_INTEGER);
    expect(most.length).toBeLessThanOrEqual(2 * 53);
    expect(most.reduce((sum, { level }) => sum + 2 ** level, 1)).toBe(Number.MAX_SAFE_INTEGER);
  });
});
