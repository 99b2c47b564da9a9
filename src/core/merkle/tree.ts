/**
 * Merkle trees of RFC 6962 §2.1 (equal in RFC 9162 §2.1) over SHA-256. It verifies inclusion and consistency proofs
 * (RFC 9162 §2.1.3.2, §2.1.4.2; subtrees: draft-ietf-plants-merkle-tree-certs §4).
 * Proven by `test/core/merkle/tree.test.ts` (transparency-dev/merkle vectors, a naive tree as oracle).
 *
 * leaf = SHA-256(0x00 || record), node = SHA-256(0x01 || left || right), the empty tree = SHA-256("").
 */
import { hash } from 'node:crypto';
import { sha256 } from '../hash.ts';
import { isCount } from '../count.ts';

export const hashBytes = 32;

/** The Merkle tree hash of no leaves: SHA-256 of the empty string. */
export const emptyRoot: Buffer = sha256('');

/** 0x00 and space for the longest record; hashing bytes in this buffer costs half of hashing a string. */
const leafPreimage = Buffer.alloc(1 + 64 * 1024);

/** Returns the leaf hash (32 bytes) of a record; a string is hashed as UTF-8. Cost: about 1 µs for 600 bytes. */
export function leafHash(record: string | Uint8Array): Buffer {
  if (typeof record === 'string') {
    if (record.length * 3 >= leafPreimage.length) return sha256(`\0${record}`);
    return sha256(leafPreimage.subarray(0, 1 + leafPreimage.write(record, 1)));
  }
  const preimage = Buffer.allocUnsafe(record.length + 1);
  preimage[0] = 0;
  preimage.set(record, 1);
  return sha256(preimage);
}

const nodePreimage = Buffer.alloc(1 + 2 * hashBytes, 1);

/** Returns the hash (32 bytes) of an inner node. Throws RangeError if a child is not 32 bytes. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  if (left.length !== hashBytes || right.length !== hashBytes) {
    throw new RangeError(`expected two hashes of 32 bytes, got ${left.length} and ${right.length}`);
  }
  nodePreimage.set(left, 1);
  nodePreimage.set(right, 1 + hashBytes);
  return sha256(nodePreimage);
}

/** Writes `nodeHash` of the two hashes at byte `children` of `nodes` to byte `parent`. */
export function writeParent(nodes: Buffer, children: number, parent: number): void {
  nodes.copy(nodePreimage, 1, children, children + 2 * hashBytes);
  nodes.write(hash('sha256', nodePreimage, 'binary'), parent, hashBytes, 'latin1');
}

/**
 * The compact right edge of a tree: one hash per set bit of its size, at most 53. It computes the root of a stream of
 * leaves in memory that grows with log n.
 */
export class Frontier {
  /** `peaks[h]`: root of the complete subtree of 2^h leaves, if bit h of the size is set. */
  #peaks: (Buffer | undefined)[] = [];
  #leaves = 0;

  /** Restores a frontier of `size` leaves from `hashes()` of an earlier one. Throws RangeError for a wrong count. */
  static from(size: number, hashes: readonly Uint8Array[]): Frontier {
    if (!isCount(size)) throw new RangeError(`expected a tree size up to 2^53-1, got ${size}`);
    const frontier = new Frontier();
    let next = hashes.length;
    for (let height = 0, rest = size; rest > 0; height++, rest = half(rest)) {
      if (!isOdd(rest)) continue;
      const peak = hashes[--next];
      if (!isHash(peak)) break;
      frontier.#peaks[height] = Buffer.from(peak);
      frontier.#leaves += 2 ** height;
    }
    if (next !== 0 || frontier.#leaves !== size) {
      throw new RangeError(`expected one 32-byte hash per set bit of ${size}, got ${hashes.length} hashes`);
    }
    return frontier;
  }

  get size(): number {
    return this.#leaves;
  }

  /**
   * Appends a leaf hash. Cost: amortised one node hash, about 0.5 µs. Calls `completed` for each inner node that this leaf
   * completes, from the bottom up, with its height above the leaves.
   */
  append(leaf: Uint8Array, completed?: (height: number, hash: Buffer) => void): void {
    let carry: Buffer = Buffer.from(leaf);
    if (carry.length !== hashBytes)
      throw new RangeError(`expected a 32-byte hash, got ${carry.length} bytes`);
    let height = 0;
    for (let peak = this.#peaks[0]; peak !== undefined; peak = this.#peaks[height]) {
      this.#peaks[height] = undefined;
      carry = nodeHash(peak, carry);
      height++;
      completed?.(height, carry);
    }
    this.#peaks[height] = carry;
    this.#leaves++;
  }

  /** Returns the root; `emptyRoot` without leaves. Cost: at most 52 hashes. */
  root(): Buffer {
    return Buffer.from(this.edges().at(-1) ?? emptyRoot);
  }

  /**
   * Returns the roots of the last leaves: `[h]` is that of the last `size mod 2^h`, undefined if there are none; the last
   * one is the root of the tree. Cost: at most 52 hashes.
   */
  edges(): (Buffer | undefined)[] {
    const edges: (Buffer | undefined)[] = [undefined];
    let edge: Buffer | undefined;
    for (const peak of this.#peaks) {
      if (peak !== undefined) edge = edge === undefined ? peak : nodeHash(peak, edge);
      edges.push(edge);
    }
    return edges;
  }

  /** Returns the root of the complete subtree of 2^height leaves, if the size has this bit. */
  peak(height: number): Buffer | undefined {
    return this.#peaks[height];
  }

  /** Returns the peaks from left to right, the largest subtree first. */
  hashes(): Buffer[] {
    return this.#peaks.filter((peak) => peak !== undefined).reverse();
  }

  clone(): Frontier {
    const copy = new Frontier();
    copy.#peaks = [...this.#peaks];
    copy.#leaves = this.#leaves;
    return copy;
  }
}

/** Returns the root over leaf hashes. Cost: one hash per leaf, memory log n. */
export function merkleRoot(hashes: Iterable<Uint8Array>): Buffer {
  const frontier = new Frontier();
  for (const leaf of hashes) frontier.append(leaf);
  return frontier.root();
}

export interface InclusionClaim {
  readonly index: number;
  readonly size: number;
  /** The leaf hash, 32 bytes. */
  readonly leaf: Uint8Array;
  /** From the sibling of the leaf up to the child of the root, 32 bytes each. */
  readonly path: readonly Uint8Array[];
  readonly root: Uint8Array;
}

/**
 * Returns whether `leaf` is at `index` in the tree of `size` leaves with this root. Attacker controlled: integers beyond
 * 2^53−1, wrong lengths and surplus hashes give false, never an error.
 */
export const verifyInclusion = (claim: InclusionClaim): boolean =>
  isHash(claim.root) && isEqual(inclusionRoot(claim), claim.root);

/**
 * Returns the root that `path` computes from `leaf` at `index` in a tree of `size` leaves; null if no tree has this path.
 * The root proves nothing until the caller compares it. Attacker controlled; never throws.
 */
export function inclusionRoot({ index, size, leaf, path }: Omit<InclusionClaim, 'root'>): Uint8Array | null {
  if (!isCount(index) || !isCount(size) || index >= size) return null;
  if (!isHash(leaf) || !Array.isArray(path)) return null;
  let node = index;
  let last = size - 1;
  let computed = leaf;
  for (const sibling of path) {
    if (last === 0 || !isHash(sibling)) return null;
    if (isOdd(node) || node === last) {
      computed = nodeHash(sibling, computed);
      for (; !isOdd(node) && node !== 0; node = half(node)) last = half(last);
    } else {
      computed = nodeHash(computed, sibling);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0 ? computed : null;
}

export interface ConsistencyClaim {
  readonly first: number;
  readonly second: number;
  readonly firstRoot: Uint8Array;
  readonly secondRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/**
 * Returns whether the tree of `second` leaves extends the tree of `first` leaves. `first` 0 gives false, because an empty
 * tree proves nothing; a caller without an earlier tree must not ask. Attacker controlled; never throws.
 */
export function verifyConsistency(claim: ConsistencyClaim): boolean {
  const { first, second, firstRoot, secondRoot, path } = claim;
  if (first === 0) return false;
  return verifySubtreeConsistency({
    start: 0,
    end: first,
    size: second,
    subtreeRoot: firstRoot,
    root: secondRoot,
    path,
  });
}

export interface SubtreeConsistencyClaim {
  readonly start: number;
  readonly end: number;
  readonly size: number;
  readonly subtreeRoot: Uint8Array;
  readonly root: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** Returns whether the leaves [start, end) of the tree of `size` leaves have `subtreeRoot`. Never throws. */
export function verifySubtreeConsistency(claim: SubtreeConsistencyClaim): boolean {
  const { start, end, size, subtreeRoot, root, path } = claim;
  if (!isCount(size) || !isSubtree(start, end) || end > size || !Array.isArray(path)) return false;
  if (start === end) return path.length === 0 && isEqual(subtreeRoot, emptyRoot);
  if (end - start === size) return path.length === 0 && isEqual(subtreeRoot, root);
  if (!isHash(subtreeRoot) || !isHash(root)) return false;

  // Climb to the largest complete subtree at the right end. Its hash is the first of the path, unless it is the whole
  // subtree, whose hash the caller has.
  let first = start;
  let node = end - 1;
  let last = size - 1;
  while (first !== node && (node === last || isOdd(node))) {
    first = half(first);
    node = half(node);
    last = half(last);
  }
  const whole = first === node;
  const seed = whole ? subtreeRoot : path[0];
  if (!isHash(seed)) return false;
  let subtreeHash = seed;
  let treeHash = seed;
  for (let next = whole ? 0 : 1; next < path.length; next++) {
    const sibling: unknown = path[next];
    if (last === 0 || !isHash(sibling)) return false;
    if (isOdd(node) || node === last) {
      if (first < node) subtreeHash = nodeHash(sibling, subtreeHash);
      treeHash = nodeHash(sibling, treeHash);
      for (; !isOdd(node) && node !== 0; node = half(node)) {
        first = half(first);
        last = half(last);
      }
    } else {
      treeHash = nodeHash(treeHash, sibling);
    }
    first = half(first);
    node = half(node);
    last = half(last);
  }
  return last === 0 && isEqual(subtreeHash, subtreeRoot) && isEqual(treeHash, root);
}

/** [start, end) is a subtree if `start` is a multiple of the least power of two ≥ its length. */
function isSubtree(start: unknown, end: unknown): boolean {
  if (!isCount(start) || !isCount(end) || start > end) return false;
  let width = 1;
  while (width < end - start) width *= 2;
  return start % width === 0;
}

// Sizes exceed 2^31, the limit of bit operators; these are exact up to 2^53.
const isOdd = (count: number): boolean => count % 2 === 1;
const half = (count: number): number => Math.floor(count / 2);

/** Whether a value is a hash of 32 bytes. */
export const isHash = (value: unknown): value is Uint8Array =>
  value instanceof Uint8Array && value.length === hashBytes;

const isEqual = (left: unknown, right: unknown): boolean =>
  left instanceof Uint8Array && right instanceof Uint8Array && Buffer.compare(left, right) === 0;
