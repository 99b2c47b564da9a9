/**
 * The signed messages of C2SP tlog-cosignature, which also contain a time.
 * Ed25519 cosignatures (type 0x04) sign two lines and the note text. ML-DSA-44 cosignatures (0x06) sign a binary
 * structure with the name of the cosigner. Both have the time, as u64, before the signature.
 * Proven by `test/core/note/checkpoint.test.ts`.
 */
import { parseCheckpoint } from './tree-head.ts';

const timestampBytes = 8;
const textBytes = 255;

/** Returns the Ed25519 message of a checkpoint text at a POSIX time in seconds. */
export function cosignatureMessage(noteText: Uint8Array, timestampSeconds: number): Buffer {
  return Buffer.concat([Buffer.from(`cosignature/v1\ntime ${timestampSeconds}\n`), noteText]);
}

const subtreeLabel = Buffer.from('subtree/v1\n\0');

/**
 * Returns the ML-DSA-44 message: `cosigned_message` over the whole tree of a checkpoint, without extension lines. Throws
 * VALIDATION_ERROR if the text is not a checkpoint, RangeError for a name over 255 bytes.
 */
export function cosignedMessage(
  noteText: Uint8Array,
  cosignerName: string,
  timestampSeconds: number,
): Buffer {
  const { origin, size, root } = parseCheckpoint(Buffer.from(noteText).toString());
  const range = [uint64(0), uint64(size)];
  const names = { cosigner: shortText(cosignerName), origin: shortText(origin) };
  return Buffer.concat([
    subtreeLabel,
    names.cosigner,
    uint64(timestampSeconds),
    names.origin,
    ...range,
    root,
  ]);
}

/** Returns `timestamped_signature`: the time, then the signature. */
export const withTimestamp = (timestampSeconds: number, signature: Uint8Array): Buffer =>
  Buffer.concat([uint64(timestampSeconds), signature]);

/** Splits a `timestamped_signature`; null if it is too short or its time exceeds 2^53−1. */
export function splitTimestamp(bytes: Uint8Array): { timestampSeconds: number; signature: Buffer } | null {
  const buffer = Buffer.from(bytes);
  if (buffer.length <= timestampBytes) return null;
  const timestampSeconds = Number(buffer.readBigUInt64BE());
  if (!Number.isSafeInteger(timestampSeconds)) return null;
  return { timestampSeconds, signature: buffer.subarray(timestampBytes) };
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function shortText(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length < 1 || bytes.length > textBytes) {
    throw new RangeError(`expected a name of 1 to ${textBytes} bytes, got ${bytes.length}`);
  }
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}
