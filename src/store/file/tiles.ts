/**
 * Hash tiles (C2SP tlog-tiles) in rows; `src/store/append/tile-parts.ts` defines the parts.
 * Triggers allow a row only to grow. Proven by `test/store/file/schema/tables.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { hashBytes } from '../../core/merkle/tree.ts';
import { tileWidth, type TileEdge } from '../../core/merkle/tile.ts';
import type { TreeName } from '../port/store.ts';
import type { Connection, Value } from './connection.ts';
import type { Prepare } from './statement.ts';
import { changedParts, hashesPerPart } from '../append/tile-parts.ts';
import { treeNumber } from '../append/trees.ts';

/** Stores the rows of `edge.changed()`. `storedSize` is the tree size in the tables. */
export type TileWriter = (
  project: number,
  tree: TreeName,
  change: { edge: TileEdge; storedSize: number },
) => void;

export function tileWriter(prepare: Prepare): TileWriter {
  const save = prepare(
    'save tile',
    `INSERT INTO tile (project, tree, level, n, part, hashes) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET hashes = excluded.hashes`,
  );
  return (project, tree, { edge, storedSize }) => {
    for (const { level, index, part, hashes } of changedParts(edge, storedSize)) {
      save.run(project, treeNumber(tree), level, index, part, hashes);
    }
  };
}

export type TileReader = (
  project: number,
  tree: TreeName,
  tile: { readonly level: number; readonly index: number },
) => Buffer;

/** All stored hashes of a tile; empty for an unknown tile. */
export function tileReader(db: Connection): TileReader {
  const parts = db
    .prepare<Value[], Buffer>(
      'SELECT hashes FROM tile WHERE project = ? AND tree = ? AND level = ? AND n = ? ORDER BY part',
    )
    .pluck();
  return (project, tree, { level, index }) =>
    Buffer.concat(parts.all(project, treeNumber(tree), level, index));
}

/** The stored leaf hashes of given indexes, in their order. Throws STORAGE_FAULT if one is missing. */
export type LeafHashReader = (project: number, tree: TreeName, indexes: readonly number[]) => Buffer[];

export function leafHashReader(db: Connection): LeafHashReader {
  const part = db
    .prepare<Value[], Buffer>(
      'SELECT hashes FROM tile WHERE project = ? AND tree = ? AND level = 0 AND n = ? AND part = ?',
    )
    .pluck();
  return (project, tree, indexes) => {
    let held = -1;
    let hashes: Buffer = Buffer.alloc(0);
    return indexes.map((index) => {
      const row = Math.floor(index / hashesPerPart);
      if (row !== held) {
        const tile = Math.floor(index / tileWidth);
        hashes =
          part.get(project, treeNumber(tree), tile, row - (tile * tileWidth) / hashesPerPart) ??
          Buffer.alloc(0);
        held = row;
      }
      const at = (index % hashesPerPart) * hashBytes;
      if (hashes.length < at + hashBytes) {
        throw new GovError('STORAGE_FAULT', `expected the hash of ${tree} leaf ${index}, got none; run fsck`);
      }
      return hashes.subarray(at, at + hashBytes);
    });
  };
}
