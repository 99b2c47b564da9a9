import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { compareHeads, SignedHead } from '../../../src/core/note/heads.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { logSigner, origin, trust } from '../proofs/log.ts';

/** Leaf hashes of a log that leaves the history `a` at leaf `fork`. */
const leavesOf = (size: number, history = 'a', fork = 0): Buffer[] =>
  Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`${n < fork ? 'a' : history} ${n}`)));

function headOf(leaves: readonly Buffer[], indexes: readonly number[] = []): SignedHead {
  const checkpoint = { origin, size: leaves.length, root: naiveRoot(leaves), extensions: [] };
  const head = SignedHead.open(signCheckpoint(checkpoint, [logSigner]), trust);
  for (const index of indexes) expect(head.add(pathOf(leaves, index))).toBe(true);
  return head;
}

const pathOf = (leaves: readonly Buffer[], index: number) => ({
  index,
  leaf: leaves[index]!,
  path: naivePath(index, leaves),
});

/** Numbers that look random, the same in each run. */
const random = (seed: string, below: number): number =>
  createHash('sha256').update(seed).digest().readUInt32BE() % below;

const sizes = Array.from({ length: 33 }, (_, n) => n + 1);

describe('heads of one history', () => {
  it('the path of the last leaf of the smaller tree shows that the larger one extends it', () => {
    for (const small of sizes)
      for (const large of sizes.filter((size) => size >= small)) {
        const paths = small === large ? [] : [small - 1];
        const [one, other] = [headOf(leavesOf(small)), headOf(leavesOf(large), paths)];
        expect([compareHeads(one, other), compareHeads(other, one)]).toEqual([
          { result: 'extends' },
          { result: 'extends' },
        ]);
      }
  });

  it('no two heads of one history are called a split view, whatever their paths are', () => {
    for (let n = 0; n < 2000; n++) {
      const [a, b] = [1 + random(`${n} a`, 70), 1 + random(`${n} b`, 70)];
      const paths = (size: number, name: string) => [0, 1, 2].map((k) => random(`${n} ${name} ${k}`, size));
      const compared = compareHeads(
        headOf(leavesOf(a), paths(a, 'one')),
        headOf(leavesOf(b), paths(b, 'other')),
      );
      expect(compared.result, `${a} and ${b}`).not.toBe('split');
    }
  });

  it('heads without paths that compare them are unknown', () => {
    expect(compareHeads(headOf(leavesOf(5)), headOf(leavesOf(9)))).toEqual({ result: 'unknown' });
  });
});

describe('heads of two histories', () => {
  it('the path of the last leaf of the smaller tree convicts, and so do two roots of one size', () => {
    for (const small of sizes)
      for (const large of sizes.filter((size) => size >= small))
        for (const fork of [0, small - 1]) {
          const paths = small === large ? [] : [small - 1];
          const compared = compareHeads(headOf(leavesOf(small)), headOf(leavesOf(large, 'b', fork), paths));
          expect(compared.result, `${small}, ${large}, fork at ${fork}`).toBe('split');
        }
  });

  it('a path of each that fix one complete subtree convict', () => {
    const compared = compareHeads(headOf(leavesOf(245), [241]), headOf(leavesOf(249, 'b', 243), [242]));
    expect(compared).toMatchObject({
      result: 'split',
      detail: 'the heads of 245 and 249 leaves have two hashes for leaves 242 to 243',
    });
  });

  it('a fork after the smaller tree is no split view of it', () => {
    const compared = compareHeads(headOf(leavesOf(5)), headOf(leavesOf(9, 'b', 5), [4]));
    expect(compared).toEqual({ result: 'extends' });
  });
});

describe('a signed head', () => {
  it('a path that does not lead to the root is refused', () => {
    const leaves = leavesOf(9);
    const head = headOf(leaves);
    const good = pathOf(leaves, 4);
    for (const bad of [
      { ...good, index: 5 },
      { ...good, leaf: leaves[5]! },
      { ...good, path: good.path.slice(1) },
      { ...good, path: [...good.path, good.leaf] },
    ])
      expect(head.add(bad)).toBe(false);
    expect(head.paths).toEqual([]);
  });

  it('a head keeps a bounded number of paths', () => {
    const leaves = leavesOf(limits.headPaths + 1);
    const head = headOf(leaves, [...leaves.keys()]);
    expect(head.paths.length).toBe(limits.headPaths);
  });
});
