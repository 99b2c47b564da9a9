/**
 * The list of one key: its RFC 6962 tree by its peaks, and its bounds. Memory: one hash for each set bit of the count.
 * Proven by `test/core/completeness/key-list.test.ts` (`merkleRoot` as oracle).
 */
import { hashText } from '../hash.ts';
import { addPeak, rootOfPeaks } from '../merkle/list-root.ts';
import { hashBytes } from '../merkle/tree.ts';
import type { ListValue } from './map.ts';

/** The state of a list as a table stores it. */
export interface StoredList {
  readonly n: number;
  readonly first: number;
  readonly firstMs: number;
  readonly last: number;
  readonly lastMs: number;
  /** The peaks, the largest subtree first, 32 bytes each. */
  readonly peaks: Uint8Array;
}

export class KeyList {
  #n = 0;
  #first = 0;
  #firstMs = 0;
  #last = 0;
  #lastMs = 0;
  /** `peaks[h]`: root of the complete subtree of 2^h items, 32 one-byte characters; empty if bit h is not set. */
  readonly #peaks: string[] = [];

  /** Restores a list; null for a state that no list has. */
  static from({ n, first, firstMs, last, lastMs, peaks }: StoredList): KeyList | null {
    const list = new KeyList();
    let end = peaks.length;
    for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
      const isSet = rest % 2 === 1;
      if (isSet) end -= hashBytes;
      if (end < 0) return null;
      list.#peaks.push(isSet ? Buffer.from(peaks.subarray(end, end + hashBytes)).toString('latin1') : '');
    }
    if (end !== 0) return null;
    list.#n = n;
    list.#first = first;
    list.#firstMs = firstMs;
    list.#last = last;
    list.#lastMs = lastMs;
    return list;
  }

  get n(): number {
    return this.#n;
  }

  /** Adds an item by its leaf hash, 32 one-byte characters, with its index in the log and its server time. */
  add(leaf: string, index: number, ms: number): void {
    if (this.#n === 0) {
      this.#first = index;
      this.#firstMs = ms;
    }
    this.#last = index;
    this.#lastMs = ms;
    addPeak(this.#peaks, leaf);
    this.#n++;
  }

  /** What the map commits to. Throws for an empty list, which no map has. */
  value(): ListValue {
    if (this.#n === 0) throw new Error('expected a list with an item, got an empty one');
    return {
      first: this.#first,
      firstMs: this.#firstMs,
      last: this.#last,
      lastMs: this.#lastMs,
      n: this.#n,
      root: hashText(Buffer.from(rootOfPeaks(this.#peaks), 'latin1')),
    };
  }

  stored(): StoredList {
    const peaks = this.#peaks.filter((peak) => peak !== '').reverse();
    return {
      n: this.#n,
      first: this.#first,
      firstMs: this.#firstMs,
      last: this.#last,
      lastMs: this.#lastMs,
      peaks: Buffer.from(peaks.join(''), 'latin1'),
    };
  }
}
