import { describe, expect, it } from 'vitest';
import { listProofs } from '../../../src/core/completeness/list-proof.ts';
import { leafHash, merkleRoot, verifyConsistency, verifyInclusion } from '../../../src/core/merkle/tree.ts';

describe('proofs about a list in memory', () => {
  it.each([1, 2, 255, 256, 257, 600, 70_000])('hold for a list of %i items', (n) => {
    const hashes = Array.from({ length: n }, (_, at) => leafHash(`${at}`));
    const list = listProofs(Buffer.concat(hashes));
    const root = merkleRoot(hashes);
    expect(list.root()).toEqual(root);
    for (const index of [0, n >>> 1, n - 1]) {
      const claim = { index, size: n, leaf: hashes[index]!, path: list.inclusion(index), root };
      expect(verifyInclusion(claim)).toBe(true);
    }
    for (const first of [1, (n + 1) >>> 1, n]) {
      const firstRoot = merkleRoot(hashes.slice(0, first));
      const path = list.consistency(first);
      expect(verifyConsistency({ first, second: n, firstRoot, secondRoot: root, path })).toBe(true);
    }
  });
});
