/**
 * The leaves of a request in the tree of their commit, for a receipt. Proven by `test/store/suite/log/paths.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { hashBytes } from '../../core/merkle/tree.ts';
import type { TileEdge } from '../../core/merkle/tile.ts';
import type { LeafRange, StoredLeaves, StoredTree } from '../port/store.ts';

/** `hashes`: of the leaves. Call it before the edge is settled. Cost: no hash. */
export function storedLeaves(
  edge: TileEdge,
  { first, last }: LeafRange,
  { tree, hashes }: { readonly tree: StoredTree; readonly hashes: readonly Uint8Array[] },
): StoredLeaves {
  const ends = first === last ? [first] : [first, last];
  return {
    tree,
    first,
    last,
    paths: ends.map((index) => joined(edge.path(index))),
    hashes: hashes.length <= limits.receiptLeaves ? joined(hashes) : null,
  };
}

/** In memory of its own: a message to another thread copies the whole memory of a view. */
function joined(hashes: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(hashes.length * hashBytes);
  for (const [at, hash] of hashes.entries()) bytes.set(hash, at * hashBytes);
  return bytes;
}
