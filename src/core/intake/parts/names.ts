/**
 * The names that connect the lines of a long recording, such as ids of calls, by a number of 53 bits each. Two names may
 * have one number, so `has` may say yes to a name that is new: the recording is then read as a whole, and loses nothing. It
 * never says no to a name that it has. Tested by `test/core/intake/parts/reader.test.ts`.
 */
import type { PartNames } from '../format.ts';

export class NameSet implements PartNames {
  /** A hash table with open addressing; 0 is an empty place. */
  #table = new Float64Array(1024);
  #count = 0;
  #own: number[] = [];

  /** `saved`: what `toString` returned. */
  constructor(saved = '') {
    const bytes = Buffer.from(saved, 'base64');
    for (let at = 0; at + 8 <= bytes.length; at += 8) this.#insert(bytes.readDoubleLE(at));
  }

  has(name: string): boolean {
    const number = numberOf(name);
    return this.#table[placeIn(this.#table, number)] === number;
  }

  add(name: string): void {
    this.#own.push(numberOf(name));
  }

  /** Ends a part: its names are those of an earlier part from now on. */
  endPart(): void {
    for (const number of this.#own) this.#insert(number);
    this.#own = [];
  }

  #insert(number: number): void {
    if (this.#count * 2 >= this.#table.length) {
      const larger = new Float64Array(this.#table.length * 2);
      for (const each of this.#table) if (each !== 0) larger[placeIn(larger, each)] = each;
      this.#table = larger;
    }
    const place = placeIn(this.#table, number);
    if (this.#table[place] !== number) this.#count += 1;
    this.#table[place] = number;
  }

  /** Returns the names of the parts that have ended. Cost: once over them, sorted. */
  toString(): string {
    const bytes = Buffer.alloc(this.#count * 8);
    const numbers = this.#table.filter((each) => each !== 0).sort();
    for (const [at, number] of numbers.entries()) bytes.writeDoubleLE(number, at * 8);
    return bytes.toString('base64');
  }
}

/** Returns the place of a number, or the empty one where it belongs. */
function placeIn(table: Float64Array, number: number): number {
  let place = number % table.length;
  while (table[place] !== 0 && table[place] !== number) place = (place + 1) % table.length;
  return place;
}

/** Two rounds of FNV-1a with other beginnings. Not for secrets: two names with one hash only slow down a push. */
function numberOf(name: string): number {
  let [a, b] = [0x811c9dc5, 0x9747b28c];
  for (let at = 0; at < name.length; at += 1) {
    const unit = name.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995);
    b ^= b >>> 15;
  }
  return (a >>> 0) * 0x200000 + ((b ^ (b >>> 13)) & 0x1fffff) + 1;
}
