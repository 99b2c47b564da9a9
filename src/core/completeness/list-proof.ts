/**
 * Proofs about a list whose leaf hashes are all in memory: one after the other, 32 bytes each.
 * Proven by `test/core/completeness/list-proof.test.ts`.
 */
import { hashBytes, merkleRoot } from '../merkle/tree.ts';
import { consistencyProof, inclusionProof, rootFromTiles } from '../merkle/tile-proof.ts';
import { tileWidth } from '../merkle/tile-path.ts';
import type { TileRead } from '../merkle/tile-source.ts';

const tileBytes = tileWidth * hashBytes;

export interface ListProofs {
  readonly n: number;
  root(): Buffer;
  /** The path of the item at a position. */
  inclusion(position: number): Buffer[];
  /** From the first `n` items to all of them. */
  consistency(first: number): Buffer[];
}

/** Cost: one hash for each item. */
export function listProofs(hashes: Uint8Array): ListProofs {
  const n = hashes.length / hashBytes;
  const read = tilesOf(hashes);
  return {
    n,
    root: () => rootFromTiles(n, read),
    inclusion: (position) => inclusionProof(position, n, read),
    consistency: (first) => consistencyProof(first, n, read),
  };
}

/** The tiles of the list, as a log has them. */
function tilesOf(hashes: Uint8Array): TileRead {
  const levels = [hashes];
  for (let below = hashes; below.length >= tileBytes;) {
    const count = Math.floor(below.length / tileBytes);
    const level = Buffer.alloc(count * hashBytes);
    for (let tile = 0; tile < count; tile++) {
      const leaves = Array.from({ length: tileWidth }, (_, at) => {
        const start = tile * tileBytes + at * hashBytes;
        return below.subarray(start, start + hashBytes);
      });
      merkleRoot(leaves).copy(level, tile * hashBytes);
    }
    levels.push(level);
    below = level;
  }
  return (level, index) =>
    levels[level]?.subarray(index * tileBytes, (index + 1) * tileBytes) ?? new Uint8Array();
}
