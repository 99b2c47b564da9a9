/**
 * `Buffer` for runtimes without Node: the package `buffer`, with base64url, and with UTF-8 from the runtime's own codecs,
 * so that invalid bytes become the same characters as in Node. `scripts/library.ts` puts it in the place of the global.
 * Tested by `test/client/web/buffer.test.ts` against the Buffer of Node.
 */
import { Buffer as Portable } from 'buffer/index.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Spellings of Node for the encodings that this file handles. */
const isUtf8 = (encoding: unknown): boolean =>
  encoding === undefined || encoding === 'utf8' || encoding === 'utf-8';

/** Its own members, before those below replace them. */
const portable = {
  from: Portable.from,
  toString: Portable.prototype.toString,
  write: Portable.prototype.write,
} as unknown as {
  readonly from: (...args: readonly unknown[]) => Buffer;
  readonly toString: (this: Buffer, ...args: readonly unknown[]) => string;
  readonly write: (this: Buffer, text: string, ...rest: readonly unknown[]) => number;
};

function from(value: unknown, ...rest: readonly unknown[]): Buffer {
  if (typeof value !== 'string') return portable.from(value, ...rest);
  if (!isUtf8(rest[0])) return portable.from(value, rest[0] === 'base64url' ? 'base64' : rest[0]);
  const bytes = encoder.encode(value);
  return portable.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function toString(this: Buffer, encoding?: BufferEncoding, start = 0, end = this.length): string {
  if (isUtf8(encoding)) return decoder.decode(this.subarray(start, end));
  if (encoding !== 'base64url') return portable.toString.call(this, encoding, start, end);
  const text = portable.toString.call(this, 'base64', start, end);
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function write(this: Buffer, text: string, ...rest: readonly unknown[]): number {
  const known = rest.map((each) => (each === 'base64url' ? 'base64' : each));
  return portable.write.call(this, text, ...known);
}

const byteLength = (value: string | ArrayBufferView): number =>
  typeof value === 'string' ? encoder.encode(value).length : value.byteLength;

/** Accepts any bytes, as in Node. */
function equals(this: Uint8Array, other: Uint8Array): boolean {
  return Portable.compare(this, other) === 0;
}

Object.assign(Portable, { from, byteLength });
Object.assign(Portable.prototype, { toString, write, equals });

/** Only the members that the library uses behave as in Node. */
export const Buffer = Portable as unknown as BufferConstructor;
