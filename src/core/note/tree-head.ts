/**
 * The text of a C2SP tlog-checkpoint, which a log signs: origin, size and root on three lines, then opaque
 * extension lines. Proven by `test/core/note/checkpoint.test.ts`.
 */
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { emptyRoot, hashBytes } from '../merkle/tree.ts';
import { malformedAs } from './malformed.ts';

const malformed = malformedAs('checkpoint');

export interface Checkpoint {
  /** Identity of the log, one non-empty line. */
  readonly origin: string;
  /** Number of leaves, up to 2^53−1. */
  readonly size: number;
  /** RFC 6962 root, 32 bytes. */
  readonly root: Buffer;
  /** Opaque lines that log monitors cannot audit; empty in our own checkpoints. */
  readonly extensions: readonly string[];
}

/** Returns the note text with its final newline. Throws VALIDATION_ERROR for a member that does not fit on a line. */
export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  const text = [origin, size, encodeBase64(root), ...extensions].map((line) => `${line}\n`).join('');
  const read = parseCheckpoint(text);
  if (read.origin !== origin || read.extensions.length !== extensions.length) {
    throw malformed('an origin and extensions without line breaks', origin);
  }
  return text;
}

const sizeForm = /^(?:0|[1-9][0-9]{0,15})$/;

/** Reads a note text strictly. Throws VALIDATION_ERROR. Attacker controlled. */
export function parseCheckpoint(text: string): Checkpoint {
  if (!text.endsWith('\n')) throw malformed('a final newline', text.slice(-10));
  const lines = text.slice(0, -1).split('\n');
  const [origin = '', sizeText = '', rootText = '', ...extensions] = lines;
  if (lines.length < 3 || lines.includes('')) throw malformed('three or more lines, none empty', text);
  const size = sizeForm.test(sizeText) ? Number(sizeText) : NaN;
  if (!Number.isSafeInteger(size)) throw malformed('a decimal size up to 2^53-1', sizeText);
  const root = decodeBase64(rootText);
  if (root?.length !== hashBytes) throw malformed('a root of 32 bytes in base64', rootText);
  if (size === 0 && !root.equals(emptyRoot)) throw malformed('the empty root at size 0', rootText);
  return { origin, size, root, extensions };
}
