import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  emptyRoot,
  Frontier,
  leafHash,
  merkleRoot,
  nodeHash,
  verifyConsistency,
  verifyInclusion,
  verifySubtreeConsistency,
} from '../../../src/core/merkle/tree.ts';
import { hasVectors, vectors } from '../../paths.ts';
import { consistencyProofs, inclusionProofs, leafHashes, leafInputs, roots } from '../../vectors/rfc6962.ts';
import { naiveConsistency, naiveLeaf, naivePath, naiveRoot, naiveSubtreeProof } from './naive.ts';

const leavesOf = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => naiveLeaf(Buffer.from(`leaf ${index}`)));

const bytes = (value: unknown): Buffer => Buffer.from((value ?? '') as string, 'base64');

const flipped = (bytes: Uint8Array, bit: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[Math.floor(bit / 8) % copy.length]! ^= 1 << (bit % 8);
  return copy;
};

const sizes = [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 513];
const anySize = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.constantFrom(...sizes));

describe('hashes', () => {
  it.each(leafHashes)('the hash of the leaf %j is the known answer of RFC 6962 test data', (input, hex) => {
    expect(leafHash(input).toString('hex')).toBe(hex);
  });

  it('leafHash hashes a string as its UTF-8 bytes, whatever its length', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('', '\0', 'é𝄞'.repeat(40_000)));
    fc.assert(
      fc.property(text, (record) => {
        expect(leafHash(record)).toEqual(naiveLeaf(Buffer.from(record)));
        expect(leafHash(Buffer.from(record))).toEqual(naiveLeaf(Buffer.from(record)));
      }),
      { numRuns: 50 },
    );
  });

  it('nodeHash refuses children that are not 32 bytes', () => {
    expect(() => nodeHash(emptyRoot, emptyRoot.subarray(1))).toThrow(RangeError);
    expect(() => nodeHash(Buffer.alloc(33), emptyRoot)).toThrow(RangeError);
  });
});

describe('the reference tree of RFC 6962', () => {
  const known = leafInputs.map((input) => leafHash(Buffer.from(input, 'hex')));

  it.each([...roots.entries()])(
    'the tree of the first %i leaves of the reference tree has the known root',
    (size, root) => {
      const frontier = new Frontier();
      for (const leaf of known.slice(0, size)) frontier.append(leaf);
      expect(frontier.root().toString('hex')).toBe(root);
      expect(merkleRoot(known.slice(0, size)).toString('hex')).toBe(root);
    },
  );

  it('the node hash of the first two leaves is the root of the tree of two leaves', () => {
    expect(nodeHash(known[0]!, known[1]!).toString('hex')).toBe(roots[2]);
  });

  it.each(inclusionProofs)('the inclusion proof of leaf $index in $size leaves verifies', (each) => {
    expect(bytes(each.leaf)).toEqual(known[each.index]);
    expect(bytes(each.root).toString('hex')).toBe(roots[each.size]);
    const claim = { ...each, leaf: bytes(each.leaf), root: bytes(each.root), path: each.path.map(bytes) };
    expect(verifyInclusion(claim)).toBe(true);
    expect(verifyInclusion({ ...claim, root: flipped(claim.root, 0) })).toBe(false);
    expect(naivePath(each.index, known.slice(0, each.size))).toEqual(claim.path);
  });

  it.each(consistencyProofs)('the consistency proof from $first to $second leaves verifies', (each) => {
    expect(bytes(each.firstRoot).toString('hex')).toBe(roots[each.first]);
    expect(bytes(each.secondRoot).toString('hex')).toBe(roots[each.second]);
    const claim = {
      ...each,
      firstRoot: bytes(each.firstRoot),
      secondRoot: bytes(each.secondRoot),
      path: each.path.map(bytes),
    };
    expect(verifyConsistency(claim)).toBe(true);
    expect(verifyConsistency({ ...claim, firstRoot: flipped(claim.firstRoot, 0) })).toBe(false);
    expect(naiveConsistency(each.first, known.slice(0, each.second))).toEqual(claim.path);
  });
});

describe('frontier', () => {
  it('a frontier agrees with the recursive definition at every size up to 300', () => {
    const leaves = leavesOf(300);
    const frontier = new Frontier();
    expect(frontier.root()).toEqual(emptyRoot);
    for (const [index, leaf] of leaves.entries()) {
      frontier.append(leaf);
      expect(frontier.size).toBe(index + 1);
      expect(frontier.root()).toEqual(naiveRoot(leaves.slice(0, index + 1)));
    }
    expect(merkleRoot(leaves)).toEqual(frontier.root());
    expect(merkleRoot([])).toEqual(emptyRoot);
  });

  it('a frontier continues from its stored hashes, and clones do not share state', () => {
    fc.assert(
      fc.property(anySize, fc.integer({ min: 0, max: 40 }), (size, more) => {
        const leaves = leavesOf(size + more);
        const frontier = new Frontier();
        for (const leaf of leaves.slice(0, size)) frontier.append(leaf);
        const before = frontier.root();
        const copy = frontier.clone();
        const restored = Frontier.from(size, frontier.hashes());
        for (const leaf of leaves.slice(size)) {
          copy.append(leaf);
          restored.append(leaf);
        }
        expect(frontier.root()).toEqual(before);
        expect(copy.root()).toEqual(naiveRoot(leaves));
        expect(restored.root()).toEqual(naiveRoot(leaves));
      }),
    );
  });

  it('a frontier keeps one hash for each set bit of its size and works at the largest size', () => {
    const peaks = Array.from({ length: 53 }, () => emptyRoot);
    const frontier = Frontier.from(Number.MAX_SAFE_INTEGER, peaks);
    expect(frontier.size).toBe(Number.MAX_SAFE_INTEGER);
    expect(frontier.hashes()).toHaveLength(53);
    expect(() => Frontier.from(Number.MAX_SAFE_INTEGER, peaks.slice(1))).toThrow('set bit');
    expect(() => Frontier.from(2, [emptyRoot, emptyRoot])).toThrow('set bit');
    expect(() => Frontier.from(1, [emptyRoot.subarray(1)])).toThrow('set bit');
    expect(() => Frontier.from(0, [emptyRoot])).toThrow('set bit');
    expect(() => Frontier.from(2 ** 53, [emptyRoot])).toThrow('2^53-1');
    expect(() => Frontier.from(1.5, [emptyRoot])).toThrow('2^53-1');
  });

  it('a frontier does not keep the buffer of the caller', () => {
    const reused = Buffer.from(emptyRoot);
    const frontier = new Frontier();
    frontier.append(reused);
    reused.fill(0);
    expect(frontier.root()).toEqual(emptyRoot);
  });

  it('a frontier refuses a leaf that is not 32 bytes', () => {
    expect(() => new Frontier().append(Buffer.alloc(31))).toThrow(RangeError);
  });
});

describe('verification', () => {
  it('verifyInclusion accepts every valid proof and no changed bit, index or length', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), fc.nat(), (size, seed, bit) => {
        const leaves = leavesOf(size);
        const index = seed % size;
        const root = naiveRoot(leaves);
        const claim = { index, size, leaf: leaves[index]!, path: naivePath(index, leaves), root };
        expect(verifyInclusion(claim)).toBe(true);
        expect(verifyInclusion({ ...claim, leaf: flipped(claim.leaf, bit) })).toBe(false);
        expect(verifyInclusion({ ...claim, root: flipped(root, bit) })).toBe(false);
        expect(verifyInclusion({ ...claim, index: index + 1 })).toBe(false);
        expect(verifyInclusion({ ...claim, index: index - 1 })).toBe(false);
        expect(verifyInclusion({ ...claim, path: [...claim.path, root] })).toBe(false);
        for (const [at, hash] of claim.path.entries()) {
          expect(verifyInclusion({ ...claim, path: claim.path.with(at, flipped(hash, bit)) })).toBe(false);
          expect(verifyInclusion({ ...claim, path: claim.path.toSpliced(at, 1) })).toBe(false);
        }
      }),
    );
  });

  it('verifyConsistency accepts every valid proof and no changed bit or length', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), fc.nat(), (second, seed, bit) => {
        const leaves = leavesOf(second);
        const first = 1 + (seed % second);
        const claim = {
          first,
          second,
          firstRoot: naiveRoot(leaves.slice(0, first)),
          secondRoot: naiveRoot(leaves),
          path: naiveConsistency(first, leaves),
        };
        expect(verifyConsistency(claim)).toBe(true);
        expect(verifyConsistency({ ...claim, firstRoot: flipped(claim.firstRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...claim, secondRoot: flipped(claim.secondRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...claim, path: [...claim.path, emptyRoot] })).toBe(false);
        if (first < second) expect(verifyConsistency({ ...claim, secondRoot: claim.firstRoot })).toBe(false);
        for (const [at, hash] of claim.path.entries()) {
          expect(verifyConsistency({ ...claim, path: claim.path.with(at, flipped(hash, bit)) })).toBe(false);
          expect(verifyConsistency({ ...claim, path: claim.path.toSpliced(at, 1) })).toBe(false);
        }
      }),
    );
  });

  it('subtree verification accepts every subtree of every tree up to 40 leaves', () => {
    for (let size = 1; size <= 40; size++) {
      const leaves = leavesOf(size);
      const root = naiveRoot(leaves);
      for (let start = 0; start < size; start++) {
        for (let end = start + 1; end <= size; end++) {
          if (start % 2 ** Math.ceil(Math.log2(end - start)) !== 0) continue;
          const subtreeRoot = naiveRoot(leaves.slice(start, end));
          const path = naiveSubtreeProof({ start, end }, leaves);
          const claim = { start, end, size, subtreeRoot, root, path };
          expect(verifySubtreeConsistency(claim), `[${start}, ${end}) of ${size}`).toBe(true);
          expect(verifySubtreeConsistency({ ...claim, subtreeRoot: flipped(subtreeRoot, end) })).toBe(false);
          expect(verifySubtreeConsistency({ ...claim, root: flipped(root, start) })).toBe(false);
        }
      }
    }
  });

  it('verifyConsistency refuses an empty first tree', () => {
    const claim = { second: 1, secondRoot: leafHash(''), firstRoot: emptyRoot, path: [] };
    expect(verifyConsistency({ ...claim, first: 0 })).toBe(false);
    expect(verifyConsistency({ ...claim, first: 0, second: 0, secondRoot: emptyRoot })).toBe(false);
  });

  it('proof verification returns a verdict and never throws, whatever an attacker sends', () => {
    const hostile = fc.oneof(
      fc.anything(),
      fc.double(),
      fc.maxSafeInteger(),
      fc.constantFrom(2 ** 53, -0, 2n ** 64n - 1n, new Proxy([], {}), Array.from({ length: 9 })),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.array(fc.uint8Array({ minLength: 31, maxLength: 33 }), { maxLength: 70 }),
    );
    const members = ['index', 'size', 'leaf', 'path', 'root', 'first', 'second', 'firstRoot', 'secondRoot'];
    const claims = fc.record(
      Object.fromEntries([...members, 'start', 'end', 'subtreeRoot'].map((member) => [member, hostile])),
    );
    fc.assert(
      fc.property(claims, (claim) => {
        for (const verify of [verifyInclusion, verifyConsistency, verifySubtreeConsistency]) {
          expect(typeof verify(claim as never)).toBe('boolean');
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('proof verification works at the largest size and refuses the next', () => {
    const path = Array.from({ length: 53 }, () => emptyRoot);
    const size = Number.MAX_SAFE_INTEGER;
    let root = emptyRoot;
    for (let height = 0; height < 53; height++) root = nodeHash(root, emptyRoot);
    const claim = { index: 0, size, leaf: emptyRoot, path, root };
    expect(verifyInclusion(claim)).toBe(true);
    expect(verifyInclusion({ ...claim, size: size + 1 })).toBe(false);
    expect(verifyInclusion({ ...claim, path: [...path, emptyRoot] })).toBe(false);
  });
});

interface VectorCase {
  readonly file: string;
  readonly desc: string;
  readonly wantErr: boolean;
  readonly proof: readonly string[] | null;
  readonly [member: string]: unknown;
}

/** Numbers up to 2^53−1 as numbers, larger ones as BigInt, as a parser that loses nothing would give them. */
function readVectors(name: string): VectorCase[] {
  const exact = (_key: string, value: unknown, context: { source: string }): unknown => {
    if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
    return BigInt(context.source);
  };
  return JSON.parse(readFileSync(vectors(`rfc6962/${name}.json`), 'utf8'), exact as never) as VectorCase[];
}

const verifiers: Record<string, (each: VectorCase, path: Buffer[]) => boolean> = {
  inclusion: (each, path) =>
    verifyInclusion({
      index: each['leafIdx'] as number,
      size: each['treeSize'] as number,
      leaf: bytes(each['leafHash']),
      root: bytes(each['root']),
      path,
    }),
  consistency: (each, path) =>
    verifyConsistency({
      first: each['size1'] as number,
      second: each['size2'] as number,
      firstRoot: bytes(each['root1']),
      secondRoot: bytes(each['root2']),
      path,
    }),
  subtreeconsistency: (each, path) =>
    verifySubtreeConsistency({
      start: each['start'] as number,
      end: each['end'] as number,
      size: each['size'] as number,
      subtreeRoot: bytes(each['root1']),
      root: bytes(each['root2']),
      path,
    }),
};

describe.skipIf(!hasVectors)('transparency-dev/merkle vectors (skipped where GOV_VECTORS is absent)', () => {
  it('proof verification decides the 314 transparency-dev cases of whole trees and consistency as published', () => {
    const wrong: string[] = [];
    let count = 0;
    for (const [name, verify] of Object.entries(verifiers)) {
      for (const each of readVectors(name)) {
        count++;
        if (verify(each, (each.proof ?? []).map(bytes)) === each.wantErr)
          wrong.push(`${each.file}: ${each.desc}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBe(314);
  });
});
