import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ListRoot } from '../../../src/core/merkle/list-root.ts';
import { emptyRoot, leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { sharedPath, sharedRoot as rootOf } from '../../../src/core/merkle/shared-path.ts';
import { naivePath, naiveRoot } from './naive.ts';

const sharedRoot = (
  list: readonly { readonly index: number; readonly hash: Uint8Array }[],
  size: number,
  path: readonly Uint8Array[],
) => rootOf({ indexes: list.map(({ index }) => index), hashAt: (at) => list[at]?.hash }, size, path);

describe('the root over text rows', () => {
  it('ListRoot gives the RFC 6962 root over text rows, for every count and any text', () => {
    const rows: string[] = [];
    const root = new ListRoot();
    expect(root.root()).toEqual(Buffer.from(emptyRoot));
    for (let count = 1; count <= 130; count++) {
      const row = `row ${count} ü ${'x'.repeat(count)}`;
      rows.push(row);
      root.add(`\0${row}`);
      expect(root.size).toBe(count);
      expect(root.root()).toEqual(merkleRoot(rows.map(leafHash)));
    }
  });
});

describe('one path for many leaves', () => {
  const leaves = Array.from({ length: 70 }, (_, at) => leafHash(`leaf ${at}`));
  const tree = fc
    .integer({ min: 1, max: 70 })
    .chain((size) =>
      fc.tuple(fc.constant(size), fc.subarray([...leaves.keys()].slice(0, size), { minLength: 1 })),
    );
  const pathFor = (indexes: readonly number[], size: number) =>
    sharedPath(indexes, size, (index) => naivePath(index, leaves.slice(0, size)));
  const chosen = (indexes: readonly number[]) => indexes.map((index) => ({ index, hash: leaves[index]! }));

  it('a shared path gives the root with few hashes for consecutive leaves', () => {
    fc.assert(
      fc.property(tree, ([size, indexes]) => {
        const path = pathFor(indexes, size);
        expect(sharedRoot(chosen(indexes), size, path)).toEqual(naiveRoot(leaves.slice(0, size)));
      }),
      { seed: 1 },
    );
    expect(pathFor([...leaves.keys()], 70)).toEqual([]);
    expect(pathFor([20, 21, 22, 23, 24, 25], 70).length).toBeLessThanOrEqual(2 * 7);
    expect(pathFor([33], 70)).toHaveLength(naivePath(33, leaves).length);
  });

  it('a shared path gives another root, or none, for another leaf, index, size or path', () => {
    fc.assert(
      fc.property(tree, fc.nat(), ([size, indexes], pick) => {
        const root = naiveRoot(leaves.slice(0, size));
        const path = pathFor(indexes, size);
        const events = chosen(indexes);
        const at = pick % events.length;
        const other = events.map((event, position) =>
          position === at ? { ...event, hash: leafHash('?') } : event,
        );
        expect(sharedRoot(other, size, path)).not.toEqual(root);
        expect(sharedRoot(events.toSpliced(at, 1), size, path)).not.toEqual(root);
        expect(sharedRoot(events, size, [...path, leafHash('?')])).toBeNull();
        if (path.length > 0) expect(sharedRoot(events, size, path.slice(1))).toBeNull();
      }),
      { seed: 2 },
    );
  });

  it('a shared path is refused when indexes do not ascend or lie beyond the tree', () => {
    const [a, b] = chosen([3, 4]);
    expect(sharedRoot([b!, a!], 8, [])).toBeNull();
    expect(sharedRoot([a!, a!], 8, [])).toBeNull();
    expect(sharedRoot([a!], 3, [])).toBeNull();
    expect(sharedRoot([], 3, [])).toBeNull();
    expect(sharedRoot([{ index: -1, hash: leaves[0]! }], 3, [])).toBeNull();
    expect(sharedRoot([{ index: 0, hash: leaves[0]! }], Number.MAX_SAFE_INTEGER, [])).toBeNull();
    expect(sharedRoot([{ index: 0, hash: Buffer.alloc(31) }], 2, [leaves[1]!])).toBeNull();
  });
});
