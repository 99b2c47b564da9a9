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
const nullItem = Buffer.from([nullByte]);

/** Maps are written in the order of their encoded names. Numbers: integers of at most 2^53-1. Cost: one copy of all bytes. */
export function writeCbor(value: Cbor): Buffer {
  const parts: Uint8Array[] = [];
  addParts(value, parts);
  return Buffer.concat(parts);
}

function addParts(value: Cbor, parts: Uint8Array[]): void {
  if (value === null) parts.push(nullItem);
  else if (typeof value === 'number')
    parts.push(value < 0 ? headOf(major.negative, -1 - value) : headOf(major.unsigned, value));
  else if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    parts.push(headOf(major.text, bytes.length), bytes);
  } else if (value instanceof Uint8Array) parts.push(headOf(major.bytes, value.length), value);
  else if (value instanceof CborTag) {
    parts.push(headOf(major.tag, value.tag));
    addParts(value.value, parts);
  } else if (isMap(value)) {
    const members = [...value]
      .map(([name, member]) => ({ name: writeCbor(name), member }))
      .sort((one, other) => Buffer.compare(one.name, other.name));
    parts.push(headOf(major.map, members.length));
    for (const { name, member } of members) {
      parts.push(name);
      addParts(member, parts);
    }
  } else {
    parts.push(headOf(major.array, value.length));
    for (const item of value) addParts(item, parts);
  }
}

const isMap = (value: Cbor): value is CborMap => value instanceof Map;

/** The first bytes of an item: its kind, and its value or length in the shortest form. */
function headOf(kind: number, value: number): Buffer {
  const first = kind << 5;
  if (value < 24) return Buffer.from([first | value]);
  if (value < 0x100) return Buffer.from([first | 24, value]);
  const bytes = Buffer.alloc(value < 0x1_0000 ? 3 : value < 0x1_0000_0000 ? 5 : 9);
  bytes[0] = first | (bytes.length === 3 ? 25 : bytes.length === 5 ? 26 : 27);
  if (bytes.length === 9) bytes.writeBigUInt64BE(BigInt(value), 1);
  else bytes.writeUIntBE(value, 1, bytes.length - 1);
  return bytes;
}

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
