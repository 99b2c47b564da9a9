import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rootOfPath } from '../../../src/core/completeness/map.ts';
import { PrefixTree, type Part } from '../../../src/core/completeness/prefix-tree.ts';
import { naiveMapRoot } from './naive.ts';

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const entry = (at: number, version = 0) => ({
  keyHash: hashOf(`key ${at}`),
  valueHash: hashOf(`${at} ${version}`),
});
const isIn = ({ from, to }: Part, key: Buffer): boolean => from.compare(key) <= 0 && key.compare(to) <= 0;

/** Key hashes that share their first bits, as somebody who chooses run ids could grind them. */
const near = (at: number, bits: number): Buffer => {
  const key = hashOf(`near ${at}`);
  for (let bit = 0; bit < bits; bit++) key[bit >>> 3]! &= ~(0x80 >>> (bit & 7));
  return key;
};

describe('the prefix tree', () => {
  it('has the root of the tree of all its keys, in whatever order they come, and whenever it is asked', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(60), fc.nat(3), fc.boolean()), { maxLength: 120 }), (steps) => {
        const tree = new PrefixTree();
        const kept = new Map<number, number>();
        for (const [at, version, asked] of steps) {
          const { keyHash, valueHash } = entry(at, version);
          tree.set(keyHash, valueHash);
          kept.set(at, version);
          if (asked) expect(tree.root()).toEqual(naiveMapRoot(Array.from(kept, (each) => entry(...each))));
        }
        expect(tree.keys).toBe(kept.size);
        expect(tree.root()).toEqual(naiveMapRoot(Array.from(kept, (each) => entry(...each))));
      }),
      { seed: 1, numRuns: 60 },
    );
  });

  it('shows for every key one path, present or absent, that leads to its root', () => {
    const tree = new PrefixTree();
    for (let at = 0; at < 50; at++) tree.set(entry(at).keyHash, entry(at).valueHash);
    for (let at = 0; at < 200; at++) {
      const { keyHash, valueHash } = entry(at);
      const path = tree.path(keyHash);
      expect(rootOfPath(keyHash, path)).toEqual(tree.root());
      expect(tree.get(keyHash)).toEqual(at < 50 ? valueHash : null);
      expect(path.end !== null && keyHash.equals(path.end.keyHash)).toBe(at < 50);
    }
  });

  it('keeps keys apart that share 200 bits', () => {
    const tree = new PrefixTree();
    const keys = [0, 1, 2, 3].map((at) => ({ keyHash: near(at, 200), valueHash: hashOf(`${at}`) }));
    for (const { keyHash, valueHash } of keys) tree.set(keyHash, valueHash);
    expect(tree.root()).toEqual(naiveMapRoot(keys));
    for (const { keyHash } of keys) expect(rootOfPath(keyHash, tree.path(keyHash))).toEqual(tree.root());
    const absent = near(9, 200);
    expect(tree.get(absent)).toBeNull();
    expect(rootOfPath(absent, tree.path(absent))).toEqual(tree.root());
  });

  it('is the same tree after it was closed, and opens part by part', () => {
    const all = Array.from({ length: 1000 }, (_, at) => entry(at));
    const tree = new PrefixTree();
    for (const { keyHash, valueHash } of all) tree.set(keyHash, valueHash);
    const closed = PrefixTree.closed(tree.parts())!;
    expect(closed.root()).toEqual(tree.root());
    expect(closed.keys).toBe(1000);
    const { keyHash } = entry(7);
    const part = closed.closedAt(keyHash)!;
    const entries = all.filter((each) => isIn(part, each.keyHash));
    expect(entries.length).toBeLessThanOrEqual(64);
    expect(closed.open(part, entries)).toBe(true);
    expect(closed.closedAt(keyHash)).toBeNull();
    closed.set(keyHash, entry(7, 1).valueHash);
    tree.set(keyHash, entry(7, 1).valueHash);
    expect(closed.root()).toEqual(tree.root());
    expect(rootOfPath(keyHash, closed.path(keyHash))).toEqual(tree.root());
    // a part that stayed closed and one that was open are stored alike
    expect(PrefixTree.closed(closed.parts())!.root()).toEqual(tree.root());
  });

  it('opens a part with its own entries only', () => {
    const all = Array.from({ length: 300 }, (_, at) => entry(at));
    const tree = new PrefixTree();
    for (const { keyHash, valueHash } of all) tree.set(keyHash, valueHash);
    const closed = PrefixTree.closed(tree.parts())!;
    const part = closed.closedAt(entry(7).keyHash)!;
    const entries = all.filter((each) => isIn(part, each.keyHash));
    const other = all.find((each) => !isIn(part, each.keyHash))!;
    expect(closed.open(part, entries.slice(1))).toBe(false);
    expect(closed.open(part, [...entries, other])).toBe(false);
    expect(closed.open(part, [...entries.slice(1), entry(7, 1)])).toBe(false);
    expect(closed.open(part, entries)).toBe(true);
  });

  it('is not restored from other bytes, and never throws for them', () => {
    const tree = new PrefixTree();
    for (let at = 0; at < 100; at++) tree.set(entry(at).keyHash, entry(at).valueHash);
    const parts = tree.parts();
    for (const bytes of [Buffer.alloc(0), parts.subarray(1), parts.subarray(0, -1), Buffer.alloc(4000)]) {
      expect(PrefixTree.closed(bytes)).toBeNull();
    }
    expect(PrefixTree.closed(Buffer.of(9))).toBeNull();
    expect(PrefixTree.closed(new PrefixTree().parts())!.root()).toEqual(Buffer.alloc(32));
  });
});
