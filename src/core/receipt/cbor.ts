/**
 * The part of CBOR (RFC 8949) that receipts need: integers, byte strings, texts, arrays, maps with integer or text names, one
 * tag, and null. Writing is deterministic (§4.2.1); reading accepts only what writing makes, so a receipt has one spelling.
 * Proven by `test/core/receipt/cbor.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

export type CborKey = number | string;
export type Cbor = number | string | Uint8Array | null | readonly Cbor[] | CborMap | CborTag;
export type CborMap = ReadonlyMap<CborKey, Cbor>;

export class CborTag {
  readonly tag: number;
  readonly value: Cbor;

  constructor(tag: number, value: Cbor) {
    this.tag = tag;
    this.value = value;
  }
}

const major = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const nullByte = 0xf6;

/** Maps are written in the order of their encoded names. Numbers: integers of at most 2^53-1. Cost: 0.1 µs an item. */
export function writeCbor(value: Cbor): Buffer {
  const writer = new Writer();
  writer.item(value);
  return writer.bytes();
}

const firstBytes = 1024;

/** Writes items one after another into one buffer: a receipt has fifty, and a copy of each would cost more than its text. */
class Writer {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #at = 0;

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  item(value: Cbor): void {
    if (value === null) this.#byte(nullByte);
    else if (typeof value === 'number')
      if (value < 0) this.#head(major.negative, -1 - value);
      else this.#head(major.unsigned, value);
    else if (typeof value === 'string') {
      const bytes = Buffer.from(value);
      this.#head(major.text, bytes.length);
      this.#copy(bytes);
    } else if (value instanceof Uint8Array) {
      this.#head(major.bytes, value.length);
      this.#copy(value);
    } else if (value instanceof CborTag) {
      this.#head(major.tag, value.tag);
      this.item(value.value);
    } else if (isMap(value)) this.#map(value);
    else {
      this.#head(major.array, value.length);
      for (const each of value) this.item(each);
    }
  }

  #map(map: CborMap): void {
    this.#head(major.map, map.size);
    const names = map.size < 2 ? [...map.keys()] : inOrder([...map.keys()]);
    for (const name of names) {
      this.item(name);
      this.item(map.get(name) ?? null);
    }
  }

  /** The first bytes of an item: its kind, and its value or length in the shortest form. */
  #head(kind: number, value: number): void {
    const first = kind << 5;
    if (value < 24) return this.#byte(first | value);
    const bytes = value < 0x100 ? 1 : value < 0x1_0000 ? 2 : value < 0x1_0000_0000 ? 4 : 8;
    this.#byte(first | (bytes === 1 ? 24 : bytes === 2 ? 25 : bytes === 4 ? 26 : 27));
    this.#room(bytes);
    if (bytes === 8) this.#buffer.writeBigUInt64BE(BigInt(value), this.#at);
    else this.#buffer.writeUIntBE(value, this.#at, bytes);
    this.#at += bytes;
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#buffer[this.#at++] = byte;
  }

  #copy(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #room(bytes: number): void {
    const enough = this.#at + bytes;
    if (enough <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(enough, 2 * this.#buffer.length));
    larger.set(this.bytes());
    this.#buffer = larger;
  }
}

/** Names by their encoded bytes (RFC 8949 §4.2.1). */
const inOrder = (names: readonly CborKey[]): CborKey[] =>
  names
    .map((name) => ({ name, bytes: writeCbor(name) }))
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes))
    .map(({ name }) => name);

const isMap = (value: Cbor): value is CborMap => value instanceof Map;

const malformed = (detail: string): GovError => new GovError('VALIDATION_ERROR', `CBOR: ${detail}`);

/** Deepest nesting of a receipt: tag, array, map, map, array. */
const mostDepth = 8;

/** Throws VALIDATION_ERROR for anything that `writeCbor` does not make. Attacker controlled. */
export function readCbor(bytes: Uint8Array): Cbor {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (reader.at !== bytes.length) throw malformed('expected the end of the item, got more bytes');
  if (!writeCbor(value).equals(bytes)) throw malformed('expected the deterministic form, got another one');
  return value;
}

class Reader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  value(depth: number): Cbor {
    if (depth > mostDepth) throw malformed(`expected at most ${mostDepth} levels`);
    const first = this.#take(1)[0] ?? 0;
    if (first === nullByte) return null;
    const kind = first >> 5;
    const value = this.#number(first & 31);
    switch (kind) {
      case major.unsigned:
        return value;
      case major.negative:
        return -1 - value;
      case major.bytes:
        return Uint8Array.prototype.slice.call(this.#take(value));
      case major.text:
        return this.#text(value);
      case major.array:
        return Array.from({ length: this.#count(value) }, () => this.value(depth + 1));
      case major.map:
        return this.#map(this.#count(value), depth + 1);
      case major.tag:
        return new CborTag(value, this.value(depth + 1));
    }
    throw malformed(`expected a number, text, bytes, array, map, tag or null, got byte ${first}`);
  }

  #map(count: number, depth: number): CborMap {
    const members = new Map<CborKey, Cbor>();
    for (let n = 0; n < count; n++) {
      const name = this.value(depth);
      if (typeof name !== 'number' && typeof name !== 'string')
        throw malformed('expected a name, got another item');
      if (members.has(name)) throw malformed('expected each name once');
      members.set(name, this.value(depth));
    }
    return members;
  }

  #text(bytes: number): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.#take(bytes));
    } catch {
      throw malformed('expected UTF-8');
    }
  }

  #number(short: number): number {
    if (short < 24) return short;
    if (short > 27) throw malformed('expected a definite length');
    const bytes = this.#take(2 ** (short - 24));
    const value = bytes.length === 8 ? Number(bytes.readBigUInt64BE()) : bytes.readUIntBE(0, bytes.length);
    if (!Number.isSafeInteger(value)) throw malformed('expected a number of at most 2^53-1');
    return value;
  }

  /** An item has at least one byte, so a longer list cannot be there. */
  #count(value: number): number {
    if (value > this.#bytes.length - this.at) throw malformed('expected as many items as the head says');
    return value;
  }

  #take(bytes: number): Buffer {
    const end = this.at + bytes;
    if (end > this.#bytes.length) throw malformed('expected more bytes, got the end');
    const taken = this.#bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }
}
