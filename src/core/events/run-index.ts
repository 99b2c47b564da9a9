/**
 * The events of a run by position: leaf index, id, and optionally leaf hash, in flat memory (38 or 70 bytes an event).
 * A run may have a million events. An event id contains its leaf index, so ids need no map.
 * Proven by `test/core/events/run-entry.test.ts`.
 */
import { eventIndex } from '../id.ts';
import type { LeafList } from '../merkle/shared-path.ts';
import { hashBytes } from '../merkle/tree.ts';

const idChars = 30;
const blankId = ' '.repeat(idChars);

export class RunIndex {
  #indexes = new Float64Array(64);
  #ids: Buffer = Buffer.allocUnsafe(64 * idChars);
  #hashes: Buffer | null;
  #count = 0;
  #ascending = true;

  constructor(options: { readonly hashes?: boolean } = {}) {
    this.#hashes = options.hashes === true ? Buffer.allocUnsafe(64 * hashBytes) : null;
  }

  get length(): number {
    return this.#count;
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.#indexes.byteLength + this.#ids.length + (this.#hashes?.length ?? 0);
  }

  /** Adds the next event and returns its position. `hash`: 32 bytes, stored if the index has hashes. */
  add(index: number, eventId: string, hash?: Uint8Array): number {
    const at = this.#count;
    if (at === this.#indexes.length) this.#grow();
    if (at > 0 && !(index > (this.#indexes[at - 1] ?? 0))) this.#ascending = false;
    this.#indexes[at] = index;
    // An id of another length is foreign: stored as blanks, it is never found.
    this.#ids.write(eventId.length === idChars ? eventId : blankId, at * idChars, idChars, 'latin1');
    if (this.#hashes !== null && hash !== undefined) this.#hashes.set(hash, at * hashBytes);
    this.#count = at + 1;
    return at;
  }

  indexAt(position: number): number {
    return position < this.#count ? (this.#indexes[position] ?? -1) : -1;
  }

  idAt(position: number): string {
    return position < this.#count
      ? this.#ids.toString('latin1', position * idChars, (position + 1) * idChars)
      : '';
  }

  /** Returns `sha256:…` of the leaf, or an empty text without a stored hash. */
  hashAt(position: number): string {
    if (this.#hashes === null || position >= this.#count) return '';
    return `sha256:${this.#hashes.toString('hex', position * hashBytes, (position + 1) * hashBytes)}`;
  }

  /** The leaf indexes and hashes as a list for `sharedRoot`; needs stored hashes. */
  leaves(): LeafList {
    const hashes = this.#hashes;
    return {
      indexes: this.#indexes.subarray(0, this.#count),
      hashAt: (position) => hashes?.subarray(position * hashBytes, (position + 1) * hashBytes),
    };
  }

  /** Returns the number of events with a smaller leaf index. */
  below(index: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#indexes[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the position of the event with this id, or −1. Attacker controlled. Cost: log n. */
  find(eventId: string): number {
    const index = this.#ascending ? eventIndex(eventId) : null;
    if (index === null || index > this.indexAt(this.#count - 1)) return -1;
    const at = this.below(index);
    return this.indexAt(at) === index && this.idAt(at) === eventId ? at : -1;
  }

  #grow(): void {
    const capacity = this.#indexes.length * 2;
    const indexes = new Float64Array(capacity);
    indexes.set(this.#indexes);
    this.#indexes = indexes;
    this.#ids = copyInto(Buffer.allocUnsafe(capacity * idChars), this.#ids);
    if (this.#hashes !== null)
      this.#hashes = copyInto(Buffer.allocUnsafe(capacity * hashBytes), this.#hashes);
  }
}

function copyInto(larger: Buffer, smaller: Buffer): Buffer {
  larger.set(smaller);
  return larger;
}
