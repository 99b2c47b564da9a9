/**
 * Inclusion proof of any number of leaves of one tree (RFC 6962 §2.1), in one pass: in addition to the leaves it needs
 * only the hashes of the largest complete subtrees between them, in order. These are few if nearly all leaves are present,
 * and about k·log2(n/k) for k scattered leaves of n. Proven by `test/core/merkle/multi-proof.test.ts`.
 */
import { hashBytes, nodeHash } from './tree.ts';

/** A complete subtree: the leaves [index·2^level, (index+1)·2^level). */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** Returns the largest complete subtrees that make up the leaves [from, to), in order: at most 2·log2(to). */
export function subtreesOf(from: number, to: number): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to;) {
    let [level, width] = [0, 1];
    while (at % (width * 2) === 0 && at + width * 2 <= to) [level, width] = [level + 1, width * 2];
    subtrees.push({ level, index: at / width });
    at += width;
  }
  return subtrees;
}

/**
 * Computes the root of a tree from some leaves and the hashes of `subtreesOf` each gap, 32 bytes each, in ascending order.
 * Memory is log n. Nothing throws: for invalid input `root` returns null.
 */
export class MultiproofRoot {
  /** `#peaks[h]`: root of a complete subtree of 2^h leaves; together they make up the leaves [0, #at). */
  readonly #peaks: (Uint8Array | undefined)[] = [];
  #at = 0;
  #isSound = true;

  /** Adds a leaf. `gap`: the hashes since the previous leaf. Cost: amortised one node hash, and one for each gap hash. */
  leaf(index: number, hash: Uint8Array, gap: readonly Uint8Array[]): void {
    if (!this.#fill(index, gap)) return;
    this.#add(0, hash);
  }

  /**
   * Returns the root of the first `size` leaves, 32 bytes, with the hashes after the last leaf; null if a hash was missing,
   * surplus or of another length, or if an index was out of order. Call it once, at the end.
   */
  root(size: number, gap: readonly Uint8Array[]): Buffer | null {
    if (!this.#fill(size, gap)) return null;
    const [lowest, ...higher] = this.#peaks.filter((peak) => peak !== undefined);
    if (lowest === undefined) return null; // an empty tree has no leaves to prove
    return Buffer.from(higher.reduce((root, peak) => nodeHash(peak, root), lowest));
  }

  #fill(to: number, gap: readonly Uint8Array[]): boolean {
    if (!Number.isSafeInteger(to) || to < this.#at) this.#isSound = false;
    if (!this.#isSound) return false;
    const subtrees = to === this.#at ? [] : subtreesOf(this.#at, to);
    if (subtrees.length !== gap.length) this.#isSound = false;
    for (const [at, { level }] of subtrees.entries()) {
      const hash = gap[at];
      if (hash !== undefined && this.#isSound) this.#add(level, hash);
    }
    return this.#isSound;
  }

  #add(level: number, hash: Uint8Array): void {
    if (hash.length !== hashBytes) {
      this.#isSound = false;
      return;
    }
    this.#at += 2 ** level;
    let [height, carry] = [level, hash];
    for (let peak = this.#peaks[height]; peak !== undefined; peak = this.#peaks[height]) {
      this.#peaks[height] = undefined;
      carry = nodeHash(peak, carry);
      height++;
    }
    this.#peaks[height] = carry;
  }
}
