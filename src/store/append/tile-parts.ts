/**
 * How a tile stands in rows: up to eight of up to 32 hashes, so that a commit of one leaf rewrites at most 1 KiB of
 * its tile instead of 8. A row only ever grows.
 */
import { hashBytes } from '../../core/merkle/tree.ts';
import { tileWidth, type TileEdge } from '../../core/merkle/tile.ts';

export const partHashes = 32;
const partBytes = partHashes * hashBytes;

export interface TilePart {
  readonly level: number;
  readonly index: number;
  readonly part: number;
  /** Whole hashes. A view: valid until the edge changes. */
  readonly hashes: Buffer;
}

/** The rows that differ from what is stored, where the tables hold a tree of `storedSize` leaves. */
export function* changedParts(edge: TileEdge, storedSize: number): Generator<TilePart> {
  for (const { level, index, hashes } of edge.changed()) {
    const storedHashes = Math.floor(storedSize / tileWidth ** level) - index * tileWidth;
    const first = Math.floor(Math.max(0, storedHashes) / partHashes);
    for (let part = first; part * partBytes < hashes.length; part++) {
      yield { level, index, part, hashes: hashes.subarray(part * partBytes, (part + 1) * partBytes) };
    }
  }
}
