import { describe, expect, it } from 'vitest';
import { KeyList } from '../../../src/core/completeness/key-list.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';

const leaf = (at: number) => leafHash(`item ${at}`);

describe('the list of a key', () => {
  it('has the RFC 6962 root and the bounds of its items, also after it was stored at any size', () => {
    let list = new KeyList();
    for (let n = 1; n <= 70; n++) {
      list.add(leaf(n - 1).toString('latin1'), 10 * n, 1000 + n);
      const root = `sha256:${merkleRoot(Array.from({ length: n }, (_, at) => leaf(at))).toString('hex')}`;
      const value = { first: 10, firstMs: 1001, last: 10 * n, lastMs: 1000 + n, n, root };
      expect(list.value()).toEqual(value);
      const restored = KeyList.from(list.stored())!;
      expect(restored.value()).toEqual(value);
      list = restored;
    }
  });

  it('is not restored from another number of peaks than its count has', () => {
    const list = new KeyList();
    for (let at = 0; at < 6; at++) list.add(leaf(at).toString('latin1'), at, at);
    const stored = list.stored();
    expect(stored.peaks).toHaveLength(64);
    expect(KeyList.from({ ...stored, n: 7 })).toBeNull();
    expect(KeyList.from({ ...stored, n: 4 })).toBeNull();
    expect(KeyList.from({ ...stored, peaks: stored.peaks.subarray(1) })).toBeNull();
  });

  it('has no value while it is empty, since no map has an empty list', () => {
    expect(() => new KeyList().value()).toThrow('expected a list with an item');
  });
});
