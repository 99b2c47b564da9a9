/**
 * Proves any number of leaves of one tree at once (RFC 6962 §2.1): beside the leaves' own hashes only those of the
 * largest complete subtrees between them are needed, in order. For a log of which nearly every leaf is shown these are
 * few; for k scattered leaves of n they are about k·log2(n/k). Proven by `test/core/multiproof.test.ts`.
 */
import { hashBytes, nodeHash } from './merkle.ts';

/** A complete subtree: the leaves [index·2^level, (index+1)·2^level). */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** The largest complete subtrees that make up the leaves [from, to), in order: at most 2·log2(to). */
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
 * The root of a tree of `size` leaves, some of which are given, the others by the hashes of `subtreesOf` each gap. Given
 * in ascending order; memory is log n. Nothing throws: what does not fit makes `root` answer null.
 */
export class MultiproofRoot {
  readonly #size: number;
  readonly #gaps: Iterator<Uint8Array>;
  /** `#peaks[h]` is the root of a complete subtree of 2^h leaves; they make up the leaves [0, #at). */
  readonly #peaks: (Uint8Array | undefined)[] = [];
  #at = 0;
  #isSound = true;

  /** `gaps`: hashes of 32 bytes, taken as they are needed. */
  constructor(size: number, gaps: Iterable<Uint8Array>) {
    this.#size = size;
    this.#gaps = gaps[Symbol.iterator]();
    this.#isSound = Number.isSafeInteger(size) && size >= 0;
  }

  /** Cost: amortised one node hash, and one for each hash of the gap before it. */
  leaf(index: number, hash: Uint8Array): void {
    if (!Number.isSafeInteger(index) || index < this.#at || index >= this.#size) this.#isSound = false;
    if (!this.#isSound) return;
    this.#fill(index);
    this.#add(0, hash);
  }

  /** The root, 32 bytes; null where a hash was missing, left over or torn, or an index out of turn. Once, at the end. */
  root(): Buffer | null {
    if (this.#isSound) this.#fill(this.#size);
    if (!this.#isSound || this.#gaps.next().done !== true) return null;
    const [lowest, ...higher] = this.#peaks.filter((peak) => peak !== undefined);
    if (lowest === undefined) return null; // of an empty tree nothing can be shown
    return Buffer.from(higher.reduce((root, peak) => nodeHash(peak, root), lowest));
  }

  #fill(to: number): void {
    for (const { level } of subtreesOf(this.#at, to)) {
      const next = this.#gaps.next();
      if (next.done === true) this.#isSound = false;
      else this.#add(level, next.value);
      if (!this.#isSound) return;
    }
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
