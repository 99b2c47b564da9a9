import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeyList } from '../../../src/core/completeness/key-list.ts';
import { keyHash, mapLeaf, mapNode, rootOfPath, valueHash } from '../../../src/core/completeness/map.ts';
import { placeItem } from '../../../src/core/completeness/map-function.ts';
import { PrefixTree } from '../../../src/core/completeness/prefix-tree.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';

const startMs = 1764000000000;

/** The vector of the proof format: three records, of one run and two of type tool.call. */
function vector() {
  const run = new KeyList();
  const type = new KeyList();
  for (let index = 0; index < 3; index++) {
    const ms = startMs + index;
    run.add(leafHash(`record ${index}`).toString('latin1'), index, ms);
    if (index !== 1) type.add(placeItem(index, ms), index, ms);
  }
  return [
    { key: ['run', 'r1'], list: run },
    { key: ['type', 'tool.call'], list: type },
  ];
}

describe('the map of an index', () => {
  it('has the leaves and the root that sha256sum gives for three records', () => {
    const leaves = vector().map(({ key, list }) =>
      mapLeaf(keyHash(key), valueHash(list.value())).toString('hex'),
    );
    expect(leaves.map((leaf) => `${leaf.slice(0, 8)}…${leaf.slice(-4)}`)).toEqual([
      '55169e6a…5f1c',
      '6e9ef02f…5ffd',
    ]);
    const tree = new PrefixTree();
    for (const { key, list } of vector()) tree.set(keyHash(key), valueHash(list.value()));
    expect(tree.root().toString('hex')).toBe(
      'b19cb3edb787e63770a20c9077d53dd17256f1a5020a7afdf70defb7ca51cadf',
    );
  });

  it('hashes the text of a key and of a value', () => {
    const hex = (text: string) => createHash('sha256').update(text).digest('hex');
    expect(keyHash(['run', 'r1']).toString('hex')).toBe(hex('gov.index.key/1\n["run","r1"]'));
    const value = { first: 1, firstMs: 2, last: 3, lastMs: 4, n: 5, root: 'sha256:00' };
    expect(valueHash(value).toString('hex')).toBe(
      hex('gov.index.value/1\n{"first":1,"firstMs":2,"last":3,"lastMs":4,"n":5,"root":"sha256:00"}'),
    );
  });

  it('gives leaf, node and empty subtree different preimages', () => {
    const [a, b] = [leafHash('a'), leafHash('b')];
    expect(mapLeaf(a, b)).not.toEqual(mapNode(a, b));
    expect(new PrefixTree().root()).toEqual(Buffer.alloc(32));
  });

  it('accepts a path of at most 256 steps, with hashes of 32 bytes only', () => {
    const key = keyHash(['run', 'r']);
    const steps = (count: number) => Array.from({ length: count }, () => null);
    expect(rootOfPath(key, { siblings: steps(256), end: null })).not.toBeNull();
    expect(rootOfPath(key, { siblings: steps(257), end: null })).toBeNull();
    expect(rootOfPath(key, { siblings: [Buffer.alloc(31)], end: null })).toBeNull();
    expect(rootOfPath(key.subarray(1), { siblings: [], end: null })).toBeNull();
    const end = { keyHash: key, valueHash: Buffer.alloc(33) };
    expect(rootOfPath(key, { siblings: [], end })).toBeNull();
  });
});
