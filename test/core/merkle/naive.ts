/** The definitions of RFC 6962 §2.1 word for word: slow, recursive, independent of src/core/merkle/tree.ts. */
import { createHash } from 'node:crypto';

const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const zero = Buffer.from([0]);
const one = Buffer.from([1]);

export const naiveLeaf = (record: Uint8Array): Buffer => sha256(zero, record);

/** MTH over leaf hashes. */
export function naiveRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0]!;
  const k = split(leaves.length);
  return sha256(one, naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)));
}

/** PATH(m, D[n]). */
export function naivePath(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return index < k
    ? [...naivePath(index, leaves.slice(0, k)), naiveRoot(leaves.slice(k))]
    : [...naivePath(index - k, leaves.slice(k)), naiveRoot(leaves.slice(0, k))];
}

/** PROOF(m, D[n]). */
export function naiveConsistency(first: number, leaves: readonly Buffer[], known = true): Buffer[] {
  if (first === leaves.length) return known ? [] : [naiveRoot(leaves)];
  const k = split(leaves.length);
  return first <= k
    ? [...naiveConsistency(first, leaves.slice(0, k), known), naiveRoot(leaves.slice(k))]
    : [...naiveConsistency(first - k, leaves.slice(k), false), naiveRoot(leaves.slice(0, k))];
}

/** SUBTREE_PROOF(start, end, D[n]) of draft-ietf-plants-merkle-tree-certs §4.4.1. */
export function naiveSubtreeProof(
  range: { start: number; end: number },
  leaves: readonly Buffer[],
  known = true,
): Buffer[] {
  const { start, end } = range;
  if (start === 0 && end === leaves.length) return known ? [] : [naiveRoot(leaves)];
  const k = split(leaves.length);
  const left = leaves.slice(0, k);
  const right = leaves.slice(k);
  if (end <= k) return [...naiveSubtreeProof(range, left, known), naiveRoot(right)];
  if (start >= k)
    return [...naiveSubtreeProof({ start: start - k, end: end - k }, right, known), naiveRoot(left)];
  return [...naiveSubtreeProof({ start: 0, end: end - k }, right, false), naiveRoot(left)];
}

function split(size: number): number {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
}
