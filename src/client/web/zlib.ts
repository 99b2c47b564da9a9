/**
 * Inflates zlib streams (RFC 1950) in runtimes without Node, as node:zlib does: over fflate, with the checksum, which
 * fflate does not check. `scripts/library.ts` puts this file in the place of node:zlib. Tested by
 * `test/client/web/zlib.test.ts` against node:zlib.
 */
import { Unzlib } from 'fflate';
import { Buffer } from './buffer.ts';

/** Small enough that the content of one piece fits into memory: deflate makes at most 1,032 bytes of one. */
const pieceBytes = 16 * 1024;

interface Bounds {
  readonly maxOutputLength: number;
  readonly info: true;
}

/**
 * Throws for damaged content, and RangeError for more than `maxOutputLength` bytes of it. `bytesWritten`: less than the
 * given bytes where some follow the stream. Those make the checksum wrong, unless they end with it.
 */
export function inflateSync(
  bytes: Uint8Array,
  bounds: Bounds,
): { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } } {
  const buffer = inflate(bytes, bounds);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint32(bytes.length - 4) !== adler32(buffer))
    throw new TypeError('expected content with the checksum of the stream, got other content');
  const isWhole = !isComplete(bytes.subarray(0, -1), bounds);
  return { buffer, engine: { bytesWritten: isWhole ? bytes.length : bytes.length - 1 } };
}

/** Whether a stream ends within these bytes. */
function isComplete(bytes: Uint8Array, bounds: Bounds): boolean {
  try {
    inflate(bytes, bounds);
    return true;
  } catch {
    return false;
  }
}

function inflate(bytes: Uint8Array, { maxOutputLength }: Bounds): Buffer {
  const parts: Uint8Array[] = [];
  let size = 0;
  const stream = new Unzlib((part) => {
    size += part.length;
    if (size > maxOutputLength) throw new RangeError(`expected at most ${maxOutputLength} bytes, got more`);
    parts.push(part);
  });
  for (let at = 0; at < bytes.length || at === 0; at += pieceBytes)
    stream.push(bytes.subarray(at, at + pieceBytes), at + pieceBytes >= bytes.length);
  return Buffer.concat(parts);
}

/** Sums this long fit into 32 bits before the remainder is taken. */
const sumBytes = 3800;

function adler32(bytes: Uint8Array): number {
  let [one, two] = [1, 0];
  for (let at = 0; at < bytes.length; at += sumBytes) {
    for (const byte of bytes.subarray(at, at + sumBytes)) {
      one += byte;
      two += one;
    }
    one %= 65521;
    two %= 65521;
  }
  return ((two << 16) | one) >>> 0;
}
