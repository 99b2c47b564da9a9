/**
 * C2SP tlog-proof v1 (`.tlog-proof`): the portable proof that a record is in a log.
 * One text has the index, the inclusion proof and the signed checkpoint. Proven by `test/core/note/tlog-proof.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { hashBytes } from '../merkle/tree.ts';
import { malformedAs } from './malformed.ts';

const malformed = malformedAs('tlog-proof');

export interface TlogProof {
  readonly index: number;
  /** From the sibling of the leaf up to the child of the root, 32 bytes each. */
  readonly path: readonly Uint8Array[];
  /** The signed note, unchanged. */
  readonly checkpoint: string;
  /** Opaque bytes that no signature covers. */
  readonly extra?: Uint8Array;
}

const header = 'c2sp.org/tlog-proof@v1';

/** Returns the proof as text. Throws VALIDATION_ERROR for a member that the format cannot express. */
export function formatTlogProof({ index, path, checkpoint, extra }: TlogProof): string {
  const lines = [
    header,
    ...(extra === undefined ? [] : [`extra ${encodeBase64(extra)}`]),
    `index ${index}`,
    ...path.map(encodeBase64),
    '',
  ];
  const text = `${lines.join('\n')}\n${checkpoint}`;
  parseTlogProof(text);
  return text;
}

const indexForm = /^index (0|[1-9][0-9]{0,15})$/;

/**
 * Reads a proof strictly without verifying it. The caller opens the checkpoint with its trusted keys, then calls
 * `verifyInclusion` with its root. Throws VALIDATION_ERROR. Attacker controlled.
 */
export function parseTlogProof(text: string): TlogProof {
  if (Buffer.byteLength(text) > limits.noteBytes) throw malformed(`at most ${limits.noteBytes} bytes`, text);
  const end = text.indexOf('\n\n');
  if (end < 0) throw malformed('an empty line before the checkpoint', text);
  const [first, ...lines] = text.slice(0, end).split('\n');
  if (first !== header) throw malformed(header, text);
  const extra = lines[0]?.startsWith('extra ') ? decode(lines.shift()?.slice('extra '.length)) : undefined;
  const indexLine = lines.shift() ?? '';
  const index = Number(indexForm.exec(indexLine)?.[1] ?? NaN);
  if (!Number.isSafeInteger(index)) throw malformed('index and a decimal number up to 2^53-1', indexLine);
  const path = lines.map((line) => {
    const hash = decode(line);
    if (hash.length !== hashBytes) throw malformed('hashes of 32 bytes', line);
    return hash;
  });
  const checkpoint = text.slice(end + 2);
  if (checkpoint === '') throw malformed('a checkpoint after the empty line', 'nothing');
  return { index, path, checkpoint, ...(extra === undefined ? {} : { extra }) };
}

function decode(text = ''): Buffer {
  const bytes = decodeBase64(text);
  if (bytes === null) throw malformed('canonical base64', text);
  return bytes;
}
