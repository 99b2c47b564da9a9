/**
 * The rows of a tile (C2SP tlog-tiles): up to eight parts of up to 32 hashes each.
 * A commit of one leaf therefore rewrites at most 1 KiB of its tile instead of 8 KiB. A row only grows.
 * Proven by `test/store/suite/log/append.ts`.
 */
import { hashBytes } from '../../core/merkle/tree.ts';
import { tileWidth, type TileEdge } from '../../core/merkle/tile.ts';

export const hashesPerPart = 32;
const partBytes = hashesPerPart * hashBytes;

export interface TilePart {
  readonly level: number;
  readonly index: number;
  readonly part: number;
  /** Whole hashes. A view: valid until the edge changes. */
  readonly hashes: Buffer;
}

/** The rows that differ from the stored ones, if the tables have a tree of `storedSize` leaves. */
export function* changedParts(edge: TileEdge, storedSize: number): Generator<TilePart> {
  for (const { level, index, hashes } of edge.changed()) {
    const storedHashes = Math.floor(storedSize / tileWidth ** level) - index * tileWidth;
    const first = Math.floor(Math.max(0, storedHashes) / hashesPerPart);
    for (let part = first; part * partBytes < hashes.length; part++) {
      yield { level, index, part, hashes: hashes.subarray(part * partBytes, (part + 1) * partBytes) };
    }
  }
}
