import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  emptyRoot,
  hashBytes,
  leafHash,
  merkleRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/core/merkle/tree.ts';
import {
  consistencyPlan,
  consistencyProof,
  inclusionPlan,
  inclusionProof,
  rootFromTiles,
  rootPlan,
  TileCache,
  type TileId,
} from '../../../src/core/merkle/tile.ts';
import { tilePath } from '../../../src/core/merkle/tile-path.ts';
import { frontierFromTiles } from '../../../src/core/merkle/tile-proof.ts';
import type { TileRead } from '../../../src/core/merkle/tile-source.ts';
import { tiles } from '../../vectors/c2sp.ts';
import { accumulators as wanted } from '../../vectors/tree-certificates.ts';
import { naiveConsistency, naivePath, naiveRoot } from './naive.ts';

const largest = 65_536 + 257;
const leaves = Array.from({ length: largest }, (_, index) => leafHash(`leaf ${index}`));

/** The tiles by their definition: the n-th hash of level l is MTH(D[n·256^l : (n+1)·256^l]). */
const levels = [0, 1, 2].map((level) => {
  const span = 256 ** level;
  const hashes = Array.from({ length: Math.floor(largest / span) }, (_, index) =>
    merkleRoot(leaves.slice(index * span, (index + 1) * span)),
  );
  return Buffer.concat(hashes);
});

const tileBytes = (level: number, index: number, width = 256): Buffer =>
  (levels[level] ?? Buffer.alloc(0)).subarray(index * 8192, index * 8192 + width * hashBytes);

const newest: TileRead = (level, index) => tileBytes(level, index);

/** Serves exactly what a plan names, at exactly its width: reading anything else is an error. */
function planned(plan: readonly TileId[]): TileRead {
  const tiles = new Map(
    plan.map(({ level, index, width }) => [`${level}/${index}`, tileBytes(level, index, width)]),
  );
  return (level, index) => {
    const bytes = tiles.get(`${level}/${index}`);
    if (bytes === undefined) throw new Error(`tile ${level}/${index} is not in the plan`);
    return bytes;
  };
}

const edges = [1, 2, 3, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 65_791, 65_792, 65_793];
const anySize = fc.oneof(fc.constantFrom(...edges), fc.integer({ min: 1, max: largest }));
const roots = new Map<number, Buffer>();
const rootAt = (size: number): Buffer => {
  const root = roots.get(size) ?? merkleRoot(leaves.slice(0, size));
  roots.set(size, root);
  return root;
};

describe('roots from tiles', () => {
  it('the planned tiles give the root of every size around the powers of 256', () => {
    for (const size of edges) {
      expect(rootFromTiles(size, planned(rootPlan(size)))).toEqual(rootAt(size));
      expect(rootFromTiles(size, newest)).toEqual(rootAt(size));
      expect(frontierFromTiles(size, newest).size).toBe(size);
    }
    expect(rootFromTiles(0, planned([]))).toEqual(emptyRoot);
  });

  it('the root plan names the C2SP tiles for trees of 70,000 and 256 leaves', () => {
    for (const { size, paths } of tiles.partial) expect(rootPlan(size).map(tilePath)).toEqual(paths);
    expect(rootPlan(0)).toEqual([]);
  });
});

describe('inclusion proofs from tiles', () => {
  it('inclusion proofs from tiles equal the recursive definition in sampled trees up to 600 leaves', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(), (size, seed) => {
        const index = seed % size;
        expect(inclusionProof(index, size, newest)).toEqual(naivePath(index, leaves.slice(0, size)));
      }),
    );
  });

  it('inclusion proofs from planned tiles verify in trees around the powers of 256', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), (size, seed) => {
        const index = seed % size;
        const path = inclusionProof(index, size, planned(inclusionPlan(index, size)));
        expect(path).toEqual(inclusionProof(index, size, newest));
        expect(verifyInclusion({ index, size, leaf: leaves[index]!, path, root: rootAt(size) })).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('a small shared tile cache gives the same proofs, in any order of sizes', () => {
    const cache = new TileCache(3);
    fc.assert(
      fc.property(anySize, fc.nat(), (size, seed) => {
        const index = seed % size;
        const read = planned(inclusionPlan(index, size));
        expect(inclusionProof(index, size, read, { cache })).toEqual(inclusionProof(index, size, newest));
        expect(cache.size).toBeLessThanOrEqual(3);
      }),
    );
  });

  it('a proof whose tiles are cached reads no tile', () => {
    const cache = new TileCache();
    const path = inclusionProof(1000, 65_600, newest, { cache });
    const nothing: TileRead = () => expect.unreachable('read');
    expect(inclusionProof(1000, 65_600, nothing, { cache })).toEqual(path);
  });

  it('the plan of an inclusion proof names exact tile widths, even near the largest size', () => {
    expect(inclusionPlan(0, 1)).toEqual([]);
    expect(inclusionPlan(300, 600).map(tilePath)).toEqual([
      'tile/0/001',
      'tile/1/000.p/2',
      'tile/0/002.p/88',
    ]);
    const plan = inclusionPlan(Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER);
    expect(plan.map(tilePath).at(0)).toBe('tile/0/x035/x184/x372/x088/831.p/255');
    expect(Math.max(...plan.map((tile) => tile.level))).toBe(6);
  });
});

describe('consistency proofs from tiles', () => {
  it('consistency proofs from tiles equal the recursive definition in trees up to 600 leaves', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(), (second, seed) => {
        const first = 1 + (seed % second);
        expect(consistencyProof(first, second, newest)).toEqual(
          naiveConsistency(first, leaves.slice(0, second)),
        );
      }),
    );
  });

  it('consistency proofs from planned tiles verify between trees around the powers of 256', () => {
    fc.assert(
      fc.property(anySize, anySize, (left, right) => {
        const [first, second] = [Math.min(left, right), Math.max(left, right)];
        const path = consistencyProof(first, second, planned(consistencyPlan(first, second)));
        const claim = { first, second, firstRoot: rootAt(first), secondRoot: rootAt(second), path };
        expect(verifyConsistency(claim)).toBe(true);
        expect(path).toEqual(consistencyProof(first, second, newest, { cache: new TileCache(2) }));
      }),
      { numRuns: 30 },
    );
  });
});

describe('impossible requests', () => {
  it('proof plans refuse indexes and sizes outside the tree', () => {
    for (const [index, size] of [
      [0, 0],
      [1, 1],
      [-1, 5],
      [5, 5],
      [0.5, 5],
      [0, 2 ** 53],
      [NaN, 3],
      [0, NaN],
    ] as const) {
      expect(() => inclusionPlan(index, size), `${index} of ${size}`).toThrow(RangeError);
    }
    for (const [first, second] of [
      [0, 0],
      [0, 5],
      [6, 5],
      [1, 2 ** 53],
      [1.5, 5],
    ] as const) {
      expect(() => consistencyPlan(first, second), `${first} to ${second}`).toThrow(RangeError);
    }
    expect(() => rootPlan(-1)).toThrow(RangeError);
  });

  it('a proof names the tile for which the store has too few hashes', () => {
    const short: TileRead = (level, index) => tileBytes(level, index, 3);
    expect(() => inclusionProof(1, 5, short)).toThrow('expected 5 hashes in tile 0/0, got 96 bytes');
  });
});

describe('subtree accumulators', () => {
  it('subtree roots and proofs equal those of draft-ietf-plants-merkle-tree-certs C.1.1 and C.1.2', () => {
    const bytes = Array.from({ length: wanted.maxSize }, (_, index) => leafHash(Buffer.from([index])));
    const hashes = createHash('sha256');
    const proofs = createHash('sha256');
    for (let end = 0; end <= wanted.maxSize; end++) {
      for (let start = 0; start <= end; start++) {
        if (start % 2 ** Math.ceil(Math.log2(Math.max(1, end - start))) !== 0) continue;
        const subtree = bytes.slice(start, end);
        hashes.update(`[${start}, ${end}) ${naiveRoot(subtree).toString('hex')}\n`);
        const cache = new TileCache();
        for (let index = start; index < end; index++) {
          const path = inclusionProof(index - start, end - start, () => Buffer.concat(subtree), { cache });
          proofs.update(
            `${[`${index} [${start}, ${end})`, ...path.map((hash) => hash.toString('hex'))].join(' ')}\n`,
          );
        }
      }
    }
    expect(hashes.digest('hex')).toBe(wanted.subtreeHash);
    expect(proofs.digest('hex')).toBe(wanted.subtreeInclusionProof);
  });
});
