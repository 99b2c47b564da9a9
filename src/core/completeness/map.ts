/**
 * The map of `gov.index/1` (`docs/reference/proof-format.md`): key → a list of leaves of the log. Its shape depends on the set of
 * keys alone. Under one root a key is present or absent, never both, because leaf, node and empty subtree have
 * different preimages.
 *
 *   keyHash   = SHA-256("gov.index.key/1\n" ‖ JCS(key))
 *   valueHash = SHA-256("gov.index.value/1\n" ‖ JCS({first, firstMs, last, lastMs, n, root}))
 *   leaf      = SHA-256(0x02 ‖ keyHash ‖ valueHash)
 *   node      = SHA-256(0x03 ‖ left ‖ right)
 *   subtree   = no key: 32 zero bytes; one key: its leaf; else the node of the two halves by the next bit of keyHash
 *
 * Proven by `test/core/completeness/map.test.ts`.
 */
import { canonicalize } from '../json/parse.ts';
import { sha256 } from '../hash.ts';
import { hashBytes } from '../merkle/tree.ts';

/** Such as `["run", "r1"]`; `map-function.ts` names all kinds. */
export type MapKey = readonly string[];

/** What the map says of one key. A type, not an interface, because it is JSON. */
export type ListValue = {
  /** Index in the log and server time of the first and of the last leaf. */
  readonly first: number;
  readonly firstMs: number;
  readonly last: number;
  readonly lastMs: number;
  readonly n: number;
  /** `sha256:` and the RFC 6962 root of the list. */
  readonly root: string;
};

/** The deepest path: one step for each bit of a key hash. */
export const maxDepth = 8 * hashBytes;

export const emptySubtree: Buffer = Buffer.alloc(hashBytes);

export const keyHash = (key: MapKey): Buffer => sha256(`gov.index.key/1\n${canonicalize([...key])}`);
export const valueHash = (value: ListValue): Buffer =>
  sha256(`gov.index.value/1\n${canonicalize({ ...value })}`);

const preimage = Buffer.alloc(1 + 2 * hashBytes);

function pairHash(label: number, left: Uint8Array, right: Uint8Array): Buffer {
  preimage[0] = label;
  preimage.set(left, 1);
  preimage.set(right, 1 + hashBytes);
  return sha256(preimage);
}

export const mapLeaf = (key: Uint8Array, value: Uint8Array): Buffer => pairHash(2, key, value);
export const mapNode = (left: Uint8Array, right: Uint8Array): Buffer => pairHash(3, left, right);

/** Bit `at` of a hash, the highest bit of the first byte first. */
export const bitOf = (hash: Uint8Array, at: number): 0 | 1 =>
  (((hash[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1) as 0 | 1;

/** One place of the map: the only key below it, or no key. */
export interface PathEnd {
  readonly keyHash: Uint8Array;
  readonly valueHash: Uint8Array;
}

/** The way to the place of a key, from the root down. A null sibling is an empty subtree. */
export interface MapPath {
  readonly siblings: readonly (Uint8Array | null)[];
  readonly end: PathEnd | null;
}

/**
 * Returns the root that a path of `key` computes, or null for a path that no map has. At its end is the key itself, no key,
 * or the only other key with the same first bits. Attacker controlled; never throws.
 */
export function rootOfPath(key: Uint8Array, { siblings, end }: MapPath): Buffer | null {
  if (key.length !== hashBytes || siblings.length > maxDepth) return null;
  if (siblings.some((sibling) => sibling !== null && sibling.length !== hashBytes)) return null;
  if (end !== null) {
    if (end.keyHash.length !== hashBytes || end.valueHash.length !== hashBytes) return null;
    for (let at = 0; at < siblings.length; at++) if (bitOf(end.keyHash, at) !== bitOf(key, at)) return null;
  }
  let computed = end === null ? emptySubtree : mapLeaf(end.keyHash, end.valueHash);
  for (let at = siblings.length - 1; at >= 0; at--) {
    const sibling = siblings[at] ?? emptySubtree;
    computed = bitOf(key, at) === 0 ? mapNode(computed, sibling) : mapNode(sibling, computed);
  }
  return computed;
}
