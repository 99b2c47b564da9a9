/**
 * Splits an object with large lists, as its bytes arrive, into the items of these lists and the rest of the text. Memory
 * holds the rest and one item, whatever the length of the lists. It builds no value: the caller parses the rest, in which
 * the lists are empty, and each item with `parseJson`. The text is accepted if all of them are.
 *
 * Why that is as strict as parsing the text at once: where the rest is JSON, this reader followed its strings and its
 * nesting correctly, so each empty list is the member that was asked for, and a second member of the same name is a
 * repeated name in the rest. Between the brackets of a list it accepts nothing but objects or lists, commas and space.
 * The caller must check that the rest is an object, and so is each member on the way to a list.
 * Attacker controlled. Proven by `test/core/json/large-list.test.ts` (`parseJson` as oracle).
 */
import { GovError } from '../../contract/problems.ts';
import { malformed, unexpected } from './token.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** A list that is read item by item. */
export interface ListMember {
  /** The names of one or two members that lead to the list. */
  readonly path: readonly [string] | readonly [string, string];
  /** Whether its bytes count towards `restBytes`, because the caller keeps the items. */
  readonly isKept: boolean;
  /** Receives each item in order; its memory may be reused after the call. `at`: its offset in the text. */
  readonly item: (bytes: Uint8Array, at: number) => void;
}

export interface LargeListOptions {
  readonly lists: readonly ListMember[];
  /** Limits in bytes of the whole text, of what is kept of it, and of one item. */
  readonly bytes: number;
  readonly restBytes: number;
  readonly itemBytes: number;
  /** Whether `end` returns the rest. */
  readonly keepsRest: boolean;
}

/** The text without the items. */
export interface Rest {
  readonly bytes: Uint8Array;
  /** Converts an offset in `bytes` to one in the whole text. */
  readonly offset: (at: number) => number;
}

/** `rest`: outside of the list. `first`, `next`: before an item, after a comma. `after`: after an item. */
type ListState = 'rest' | 'first' | 'next' | 'after' | 'item';

export class LargeList {
  readonly #options: LargeListOptions;
  readonly #rest: GrowingBytes;
  readonly #item: GrowingBytes;
  readonly #name = new NameReader();
  /** The last string at each depth: in an object that is JSON, the name of the member whose value follows. */
  readonly #names = ['', ''];
  /** The list that is read; else the last one. */
  #list: ListMember | null = null;
  #place: ListState = 'rest';
  /** Containers that are open: in the rest from the object on, in an item from the item on. */
  #depth = 0;
  /** In an item: the depth in its list. */
  #listDepth = 0;
  #inString = false;
  #escaped = false;
  /** Whether a string was just read, where a name may be; and the list that is named, once its colon was read. */
  #isNamed = false;
  #next: ListMember | null = null;
  /** Bytes in earlier chunks. */
  #before = 0;
  /** For each list so far: where its items were in the rest, and how many bytes they have. */
  readonly #taken: { readonly at: number; bytes: number }[] = [];
  #keptBytes = 0;
  #itemAt = 0;

  constructor(options: LargeListOptions) {
    this.#options = options;
    const { bytes, restBytes, itemBytes } = options;
    this.#rest = new GrowingBytes(restBytes, () => this.#refuseRest());
    this.#item = new GrowingBytes(itemBytes, () => {
      throw tooComplex(itemBytes, this.#itemAt);
    });
    if (restBytes > bytes) throw new Error('expected a limit of the rest within that of the text');
  }

  /** Takes the next bytes. Throws INVALID_JSON, JSON_TOO_COMPLEX, PAYLOAD_TOO_LARGE, and the errors of `item`. */
  push(chunk: Uint8Array): void {
    const { bytes: most } = this.#options;
    if (this.#before + chunk.length > most) throw tooLarge(`${most} bytes`);
    let at = 0;
    while (at < chunk.length) {
      if (this.#place === 'rest') at = this.#readRest(chunk, at);
      else if (this.#place === 'item') at = this.#readItem(chunk, at);
      else at = this.#readBetween(chunk, at);
    }
    this.#before += chunk.length;
  }

  /** Ends the text. Throws INVALID_JSON where the list has not ended. */
  end(): Rest {
    if (this.#place !== 'rest') malformed(this.#before, 'the end of the list', 'the end of the text');
    const taken = this.#taken;
    const offset = (at: number): number =>
      taken.reduce((sum, list) => (at >= list.at ? sum + list.bytes : sum), at);
    return { bytes: this.#rest.take(), offset };
  }

  /** Copies bytes of the rest up to the begin of a list or the end of the chunk. */
  #readRest(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let at = from;
    while (at < length) {
      if (this.#inString) {
        at = this.#readRestString(chunk, at);
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (byte <= 0x20) continue;
      if (byte === ARRAY && this.#next !== null) {
        this.#keep(chunk, from, at);
        this.#list = this.#next;
        this.#next = null;
        this.#depth++;
        this.#place = 'first';
        this.#taken.push({ at: this.#rest.length, bytes: 0 });
        return at;
      }
      this.#next = byte === COLON && this.#isNamed ? this.#named() : null;
      this.#isNamed = false;
      if (byte === QUOTE) {
        this.#inString = true;
        this.#name.begin();
      } else if (byte === OBJECT || byte === ARRAY) this.#depth++;
      else if (byte === OBJECT_END || byte === ARRAY_END) this.#depth--;
    }
    this.#keep(chunk, from, at);
    return at;
  }

  /** The list whose name was just read. */
  #named(): ListMember | null {
    const depth = this.#depth;
    const names = this.#names;
    const isHere = ({ path }: ListMember): boolean =>
      path.length === depth && path.every((name, at) => name === names[at]);
    return this.#options.lists.find(isHere) ?? null;
  }

  #keep(chunk: Uint8Array, from: number, to: number): void {
    if (!this.#options.keepsRest) return;
    this.#count(to - from);
    this.#rest.add(chunk, from, to);
  }

  #count(bytes: number): void {
    this.#keptBytes += bytes;
    if (this.#keptBytes > this.#options.restBytes) this.#refuseRest();
  }

  #refuseRest(): never {
    const { lists, restBytes } = this.#options;
    const others = lists.filter(({ isKept }) => !isKept).map(({ path }) => path.join('/'));
    throw tooLarge(`${restBytes} bytes besides ${others.join(' and ')}`);
  }

  /** Reads a string up to its end or the end of the chunk, and keeps it where it may be a name. */
  #readRestString(chunk: Uint8Array, from: number): number {
    const depth = this.#depth;
    const end = this.#stringEnd(chunk, from);
    if (depth < 1 || depth > this.#names.length) return end;
    this.#name.add(chunk, from, this.#inString ? end : end - 1);
    if (!this.#inString) {
      this.#names[depth - 1] = this.#name.text();
      this.#isNamed = true;
    }
    return end;
  }

  /** Returns the offset after the closing quote, or the end of the chunk. */
  #stringEnd(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let at = from;
    if (this.#escaped && at < length) {
      this.#escaped = false;
      at++;
    }
    while (at < length) {
      const byte = chunk[at++] ?? 0;
      if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (byte !== BACKSLASH) continue;
      if (at === length) this.#escaped = true;
      at++;
    }
    return length;
  }

  /** Reads commas and space up to an item or the end of the list. */
  #readBetween(chunk: Uint8Array, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
      if (byte === ARRAY_END && this.#place !== 'next') {
        this.#place = 'rest';
        break;
      }
      if (this.#place === 'after') {
        if (byte !== COMMA) this.#refuse(chunk, at, "',' or ']'");
        this.#place = 'next';
      } else {
        if (byte !== OBJECT && byte !== ARRAY) this.#refuse(chunk, at, 'an object or a list');
        this.#place = 'item';
        this.#itemAt = this.#before + at;
        this.#listDepth = this.#depth;
        this.#depth = 0;
        break;
      }
    }
    this.#take(at - from);
    return at;
  }

  /** Counts bytes that are not in the rest. */
  #take(bytes: number): void {
    const taken = this.#taken.at(-1);
    if (taken !== undefined) taken.bytes += bytes;
    if (this.#list?.isKept === true) this.#count(bytes);
  }

  #refuse(chunk: Uint8Array, at: number, expected: string): never {
    try {
      unexpected(chunk, at, expected);
    } catch (error) {
      throw error instanceof GovError ? moved(error, () => this.#before + at) : error;
    }
  }

  /** Reads an item up to its end or the end of the chunk. */
  #readItem(chunk: Uint8Array, from: number): number {
    const at = this.#itemEnd(chunk, from);
    this.#take(at - from);
    if (this.#depth > 0) {
      this.#item.add(chunk, from, at);
      return at;
    }
    this.#place = 'after';
    this.#depth = this.#listDepth;
    if (this.#item.length > 0) {
      this.#item.add(chunk, from, at);
      this.#list?.item(this.#item.view(), this.#itemAt);
      this.#item.clear();
    } else {
      if (at - from > this.#options.itemBytes) throw tooComplex(this.#options.itemBytes, this.#itemAt);
      this.#list?.item(chunk.subarray(from, at), this.#itemAt);
    }
    return at;
  }

  /** Returns the offset after the item, or the end of the chunk. Sets `#depth` to 0 after the item. */
  #itemEnd(chunk: Uint8Array, from: number): number {
    const length = chunk.length;
    let depth = this.#depth;
    let at = from;
    while (at < length) {
      if (this.#inString) {
        at = this.#stringEnd(chunk, at);
        continue;
      }
      const byte = chunk[at++] ?? 0;
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OBJECT || byte === ARRAY) depth++;
      else if ((byte === OBJECT_END || byte === ARRAY_END) && --depth === 0) break;
    }
    this.#depth = depth;
    return at;
  }
}

/** The error with the offset that `offset` returns for it. */
export function moved(error: GovError, offset: (at: number) => number): GovError {
  const at = error.extensions['offset'];
  if (typeof at !== 'number') return error;
  const to = offset(at);
  const detail = error.message.replace(`at byte ${at}`, `at byte ${to}`);
  return new GovError(error.code, detail, { cause: error, extensions: { ...error.extensions, offset: to } });
}

/** Reads a short member name, in any spelling. */
class NameReader {
  #bytes = Buffer.alloc(128);
  #length = 0;

  begin(): void {
    this.#length = 0;
  }

  /** Adds bytes between the quotes. */
  add(chunk: Uint8Array, from: number, to: number): void {
    const kept = Math.min(to - from, Math.max(0, this.#bytes.length - this.#length));
    if (kept > 0) this.#bytes.set(chunk.subarray(from, from + kept), this.#length);
    this.#length += to - from;
  }

  /** Empty for a name that is longer than any that is looked for, or malformed: the parser of the rest refuses it. */
  text(): string {
    if (this.#length > this.#bytes.length) return '';
    const text = this.#bytes.toString('utf8', 0, this.#length);
    if (!text.includes('\\')) return text;
    try {
      return String(JSON.parse(`"${text}"`));
    } catch {
      return '';
    }
  }
}

/** Bytes up to a limit, in one piece of memory. */
class GrowingBytes {
  readonly #most: number;
  readonly #refuse: () => never;
  #bytes = Buffer.alloc(0);
  length = 0;

  constructor(most: number, refuse: () => never) {
    this.#most = most;
    this.#refuse = refuse;
  }

  add(chunk: Uint8Array, from: number, to: number): void {
    const enough = this.length + to - from;
    if (enough > this.#most) this.#refuse();
    if (enough > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(this.#most, Math.max(enough, 2 * this.#bytes.length)));
      larger.set(this.view());
      this.#bytes = larger;
    }
    this.#bytes.set(chunk.subarray(from, to), this.length);
    this.length = enough;
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  take(): Uint8Array {
    const taken = this.view();
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }
}

const tooLarge = (most: string): GovError =>
  new GovError('PAYLOAD_TOO_LARGE', `expected at most ${most}, got more`);

const tooComplex = (most: number, at: number): GovError =>
  new GovError(
    'JSON_TOO_COMPLEX',
    `expected items of at most ${most} bytes, got a larger one at byte ${at}`,
    {
      extensions: { offset: at },
    },
  );
