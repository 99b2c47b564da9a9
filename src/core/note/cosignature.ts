/**
 * What C2SP tlog-cosignature signs: not the note text, but a message that also binds a time. Ed25519
 * cosignatures (type 0x04) sign the note text below two lines, ML-DSA-44 ones (0x06) a binary structure that
 * names the cosigner too. Both signatures carry the time before them, as u64. `test/core/note/checkpoint.test.ts`.
 */
import { parseCheckpoint } from './tree-head.ts';

const timestampBytes = 8;
const textBytes = 255;

/** The Ed25519 message of a checkpoint's note text at a POSIX time in seconds. */
export function cosignatureMessage(noteText: Uint8Array, timestampSeconds: number): Buffer {
  return Buffer.concat([Buffer.from(`cosignature/v1\ntime ${timestampSeconds}\n`), noteText]);
}

const subtreeLabel = Buffer.from('subtree/v1\n\0');

/**
 * The ML-DSA-44 message: `cosigned_message` over the whole tree of a checkpoint. Extension lines are not in
 * it. Throws VALIDATION_ERROR where the text is no checkpoint, RangeError where a name exceeds 255 bytes.
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

/** `timestamped_signature`: the time, then the signature. */
export const withTimestamp = (timestampSeconds: number, signature: Uint8Array): Buffer =>
  Buffer.concat([uint64(timestampSeconds), signature]);

/** The parts of a `timestamped_signature`, or null where it is torn or the time passes 2^53−1. */
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
