import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyRoot, leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { rootFromTiles, TileEdge } from '../../../src/core/merkle/tile.ts';
import type { TileRead } from '../../../src/core/merkle/tile-source.ts';

const leaves = Array.from({ length: 70_000 }, (_, index) => leafHash(`leaf ${index}`));

/** A store that takes a tile only where it extends what is stored. */
class Store {
  readonly tiles = new Map<string, Buffer>();

  readonly read: TileRead = (level, index) => {
    const tile = this.tiles.get(`${level}/${index}`);
    if (tile === undefined) throw new Error(`tile ${level}/${index} is not stored`);
    return tile;
  };

  put(edge: TileEdge): void {
    for (const { level, index, hashes } of edge.changed()) {
      const before = this.tiles.get(`${level}/${index}`) ?? Buffer.alloc(0);
      expect(hashes.length).toBeGreaterThan(before.length);
      expect(hashes.length).toBeLessThanOrEqual(8192);
      expect(hashes.subarray(0, before.length)).toEqual(before);
      this.tiles.set(`${level}/${index}`, Buffer.from(hashes));
    }
  }
}

describe('tile edge', () => {
  it('a new tile edge is empty', () => {
    const edge = TileEdge.from(0, new Store().read);
    expect(edge.size).toBe(0);
    expect(edge.root()).toEqual(emptyRoot);
    expect(edge.changed()).toEqual([]);
  });

  it('a tile edge writes the same log for any batches, restarts and rollbacks', () => {
    const step = fc.record({
      count: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.constantFrom(0, 1, 255, 256, 257)),
      fate: fc.constantFrom('settle', 'settle', 'roll back', 'restart'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const store = new Store();
        let edge = TileEdge.from(0, store.read);
        let size = 0;
        for (const { count, fate } of steps) {
          const lost = leaves.slice(60_000, 60_000 + count);
          const batch = fate === 'roll back' ? lost : leaves.slice(size, size + count);
          edge.append(batch.slice(0, count / 2));
          edge.append(batch.slice(count / 2));
          if (fate === 'roll back') {
            edge.rollback();
          } else {
            store.put(edge);
            edge.settle();
            size += count;
            if (fate === 'restart') edge = TileEdge.from(size, store.read);
          }
          expect(edge.changed()).toEqual([]);
          expect(edge.size).toBe(size);
          expect(edge.root()).toEqual(merkleRoot(leaves.slice(0, size)));
          expect(rootFromTiles(size, store.read)).toEqual(edge.root());
        }
      }),
      { numRuns: 60 },
    );
  });

  it('a tile edge fills levels 1 and 2 when the tree passes 65,536 leaves', () => {
    const store = new Store();
    const edge = TileEdge.from(0, store.read);
    for (let start = 0; start < leaves.length; start += 500) {
      edge.append(leaves.slice(start, start + 500));
      store.put(edge);
      edge.settle();
    }
    expect(store.tiles.size).toBe(274 + 2 + 1);
    expect(store.tiles.get('2/0')).toEqual(merkleRoot(leaves.slice(0, 65_536)));
    expect(store.tiles.get('1/1')).toHaveLength(17 * 32);
    expect(store.tiles.get('0/273')).toEqual(Buffer.concat(leaves.slice(69_888)));
    expect(rootFromTiles(65_537, store.read)).toEqual(merkleRoot(leaves.slice(0, 65_537)));
  });

  it('a tile edge reports one tile per level for one leaf, and no empty tile', () => {
    const store = new Store();
    const edge = TileEdge.from(0, store.read);
    edge.append(leaves.slice(0, 255));
    store.put(edge);
    edge.settle();
    edge.append(leaves.slice(255, 256));
    const widths = edge.changed().map(({ level, index, hashes }) => [level, index, hashes.length / 32]);
    expect(widths).toEqual([
      [0, 0, 256],
      [1, 0, 1],
    ]);
  });

  it('a tile edge resumes after a full tile without a partial tile', () => {
    for (const size of [256, 512, 65_536]) {
      const store = new Store();
      const edge = TileEdge.from(0, store.read);
      edge.append(leaves.slice(0, size));
      store.put(edge);
      const resumed = TileEdge.from(size, store.read);
      resumed.append(leaves.slice(size, size + 1));
      expect(resumed.changed().map(({ level, index }) => [level, index])).toEqual([[0, size / 256]]);
      expect(resumed.root()).toEqual(merkleRoot(leaves.slice(0, size + 1)));
    }
  });

  it('a tile edge refuses a hash that is not 32 bytes and is whole again after the rollback', () => {
    const edge = TileEdge.from(0, new Store().read);
    expect(() => edge.append([leaves[0]!, Buffer.alloc(31)])).toThrow('32-byte');
    edge.rollback();
    expect(edge.size).toBe(0);
    expect(edge.changed()).toEqual([]);
  });

  it('a tile edge refuses a store that has too few hashes', () => {
    expect(() => TileEdge.from(2, () => leaves[0]!)).toThrow('expected 2 hashes in tile 0/0, got 32 bytes');
  });
});
