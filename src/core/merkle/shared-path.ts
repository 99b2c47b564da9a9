/**
 * One inclusion proof for many leaves of an RFC 6962 tree: the hashes of the largest subtrees without any of these
 * leaves, from left to right. With the leaf hashes they give the root, as a single path does for one leaf. For
 * consecutive leaves the proof is hardly longer than a single path. Proven by `test/core/merkle/list-root.test.ts`.
 */
import { ListRoot, parent } from './list-root.ts';
import { hashBytes, isHash } from './tree.ts';

/**
 * Returns the shared path of leaves at ascending `indexes` in the tree of `size` leaves. `pathOf` returns the inclusion
 * path of one leaf (RFC 6962 §2.1.1); it is called for few leaves, at most twice in a row for the same.
 */
export function sharedPath(
  indexes: readonly number[],
  size: number,
  pathOf: (index: number) => readonly Uint8Array[],
): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  const take = (index: number, depth: number): void => {
    const path = pathOf(index);
    const hash = path[path.length - 1 - depth];
    if (!isHash(hash)) throw new Error(`expected a path of leaf ${index} that is deeper than ${depth}`);
    hashes.push(hash);
  };
  const descend = (range: Range, depth: number): void => {
    if (range.end - range.start <= 1) return;
    const { left, right } = halves(range, indexes);
    if (left.from === left.to) take(indexes[right.from] ?? -1, depth);
    else descend(left, depth + 1);
    if (right.from === right.to) take(indexes[left.to - 1] ?? -1, depth);
    else descend(right, depth + 1);
  };
  if (indexes.length > 0) descend({ start: 0, end: size, from: 0, to: indexes.length }, 0);
  return hashes;
}

/** Leaves in the order of their indexes. They may be many, so a caller may have them in flat memory. */
export interface LeafList {
  readonly indexes: ArrayLike<number>;
  /** The leaf hash at a position of the list. */
  readonly hashAt: (position: number) => Uint8Array | undefined;
}

/**
 * Returns the root of the tree of `size` leaves, from leaf hashes at ascending `indexes` and their shared path; null if
 * the path has too few or too many hashes. Attacker controlled; the caller must compare the root.
 */
export function sharedRoot(leaves: LeafList, size: number, path: readonly Uint8Array[]): Uint8Array | null {
  const { indexes } = leaves;
  if (indexes.length === 0 || !areAscending(indexes, size) || !Number.isSafeInteger(size)) return null;
  let next = 0;
  /** Returns an empty text if a hash is missing. */
  const compute = (range: Range): string => {
    if (range.from === range.to) return byteText(path[next++]);
    if (range.end - range.start === range.to - range.from) return wholeRoot(leaves, range);
    const { left, right } = halves(range, indexes);
    const leftHash = compute(left);
    const rightHash = compute(right);
    return leftHash === '' || rightHash === '' ? '' : parent(leftHash, rightHash);
  };
  const root = compute({ start: 0, end: size, from: 0, to: indexes.length });
  return root !== '' && next === path.length ? Buffer.from(root, 'latin1') : null;
}

function areAscending(indexes: ArrayLike<number>, size: number): boolean {
  for (let at = 0; at < indexes.length; at++) {
    const index = indexes[at] ?? -1;
    if (!(index > (indexes[at - 1] ?? -1) && index < size)) return false;
  }
  return true;
}

/** Returns the root of a subtree whose leaves are all given; an empty text for an invalid leaf hash. */
function wholeRoot({ hashAt }: LeafList, { from, to }: Range): string {
  const root = new ListRoot();
  for (let at = from; at < to; at++) {
    const leaf = byteText(hashAt(at));
    if (leaf === '') return '';
    root.addHash(leaf);
  }
  return root.byteText();
}

/** Returns a hash in the form that `parent` takes; an empty text for an invalid hash. */
const byteText = (hash: Uint8Array | undefined): string =>
  isHash(hash) ? Buffer.from(hash.buffer, hash.byteOffset, hashBytes).toString('latin1') : '';

/** Leaves [start, end) of the tree; their indexes are at positions [from, to) of the index list. */
interface Range {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/** Splits at the largest power of two below the size (RFC 6962 §2.1). */
function halves(range: Range, indexes: ArrayLike<number>): { left: Range; right: Range } {
  const { start, end, from, to } = range;
  let split = 1;
  while (split * 2 < end - start) split *= 2;
  const middle = start + split;
  let cut = from;
  let high = to;
  while (cut < high) {
    const probe = (cut + high) >>> 1;
    if ((indexes[probe] ?? 0) < middle) cut = probe + 1;
    else high = probe;
  }
  return { left: { start, end: middle, from, to: cut }, right: { start: middle, end, from: cut, to } };
}
