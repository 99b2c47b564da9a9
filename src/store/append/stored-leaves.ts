/**
 * The leaves of a request in the tree of their commit, for a receipt. Proven by `test/store/suite/log/paths.ts`.
 */
import { limits } from '../../contract/limits.ts';
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

const joined = (hashes: readonly Uint8Array[]): string => Buffer.concat(hashes).toString('latin1');
