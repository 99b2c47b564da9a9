/**
 * C2SP tlog-witness v1: the request of a log for a cosignature, and the decision of the witness.
 * The body is `old <size>`, at most 63 lines with the hashes of a consistency proof in base64, an empty line, and the
 * checkpoint. The witness stores its newest cosigned checkpoint of each log. It refuses a checkpoint that does not extend
 * this one. Proven by `test/core/note/witness.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { type Checkpoint, parseCheckpoint } from './tree-head.ts';
import { hashBytes, verifyConsistency } from '../merkle/tree.ts';
import { NoteError, openNote, splitNote, type VerifierKey } from './signed.ts';
import { malformedAs } from './malformed.ts';

const malformed = malformedAs('add-checkpoint');

/** Media type of a 409 response with the size of the newest cosigned checkpoint. */
export const sizeType = 'text/x.tlog.size';

export interface WitnessRequest {
  /** Size of the newest cosigned checkpoint that the sender knows; 0 if it knows none. */
  readonly oldSize: number;
  /** RFC 6962 consistency proof, 32 bytes each. */
  readonly proof: readonly Buffer[];
  /** The signed checkpoint. */
  readonly note: string;
}

/** Returns the body of `POST /add-checkpoint`. */
export const formatWitnessRequest = ({ oldSize, proof, note }: WitnessRequest): string =>
  [`old ${oldSize}`, ...proof.map(encodeBase64), '', note].join('\n');

const sizeForm = /^(?:0|[1-9][0-9]{0,15})$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body strictly, but not its checkpoint. Throws VALIDATION_ERROR. Attacker controlled. */
export function parseWitnessRequest(body: Uint8Array): WitnessRequest {
  const text = textOf(body);
  const end = text.indexOf('\n\n');
  if (end < 0) throw malformed('an empty line before the checkpoint', 'none');
  const [first = '', ...hashes] = text.slice(0, end).split('\n');
  const oldSize = first.startsWith('old ') ? parseSize(first.slice(4)) : null;
  if (oldSize === null) throw malformed('old <size>, a decimal up to 2^53-1', first);
  if (hashes.length > limits.witnessProofLines) {
    throw malformed(`at most ${limits.witnessProofLines} proof lines`, `${hashes.length}`);
  }
  const proof = hashes.map((line) => {
    const hash = decodeBase64(line);
    if (hash?.length !== hashBytes) throw malformed('a hash of 32 bytes in base64', line);
    return hash;
  });
  return { oldSize, proof, note: text.slice(end + 2) };
}

/** Returns the size in the body of a 409, `<size>` and a newline; null if it is malformed. A witness controls it. */
export const parseSizeBody = (body: string): number | null =>
  body.endsWith('\n') ? parseSize(body.slice(0, -1)) : null;

function parseSize(text: string): number | null {
  const size = sizeForm.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(size) ? size : null;
}

/** The state of a witness for one log. */
export interface WitnessedLog {
  readonly keys: readonly VerifierKey[];
  /** Its newest cosigned checkpoint; null before the first. */
  readonly latest: { readonly size: number; readonly root: Uint8Array } | null;
}

/** `knownSize`: the size in a 409 response from which the sender must start. */
export type WitnessDecision =
  | { readonly status: 200; readonly checkpoint: Checkpoint; readonly text: string }
  | { readonly status: 400 | 403 | 404 | 422; readonly detail: string }
  | { readonly status: 409; readonly detail: string; readonly knownSize: number | null };

/** Returns the origin of a checkpoint, which identifies its log; null if the checkpoint is malformed. */
export function originOf(note: string): string | null {
  try {
    return parseCheckpoint(splitNote(note).text).origin;
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

/**
 * Decides whether to cosign, in the order of the specification: the log is known (404); one of its keys signed (403); the
 * old size is at most the new one (400); it is the size of the newest cosigned checkpoint (409); the consistency proof is
 * valid (422; 409 for another root of the same size). `log`: null for an unknown origin. The request is attacker
 * controlled. The caller must store the checkpoint durably before another decision for this log, and only then cosign.
 */
export function decideWitness(request: WitnessRequest, log: WitnessedLog | null): WitnessDecision {
  const opened = openSigned(request.note, log);
  if ('status' in opened) return opened;
  const { checkpoint } = opened;
  const { oldSize, proof } = request;
  const { size, root } = checkpoint;
  if (oldSize > size)
    return { status: 400, detail: `expected an old size of at most ${size}, got ${oldSize}` };
  const known = log?.latest ?? null;
  const knownSize = known?.size ?? 0;
  if (oldSize !== knownSize) {
    return { status: 409, detail: `expected old ${knownSize}, got ${oldSize}`, knownSize };
  }
  if (known !== null && size === knownSize && !root.equals(known.root)) {
    return {
      status: 409,
      detail: `expected the cosigned root of size ${size}, got another`,
      knownSize: null,
    };
  }
  const consistent =
    knownSize === 0
      ? proof.length === 0
      : verifyConsistency({
          first: knownSize,
          second: size,
          firstRoot: known?.root ?? root,
          secondRoot: root,
          path: proof,
        });
  if (consistent) return { status: 200, ...opened };
  return {
    status: 422,
    detail: `expected a consistency proof from size ${knownSize} to ${size}, got an invalid one`,
  };
}

type WitnessRefusal = Extract<WitnessDecision, { status: 400 | 403 | 404 | 422 }>;

function openSigned(
  note: string,
  log: WitnessedLog | null,
): { readonly checkpoint: Checkpoint; readonly text: string } | WitnessRefusal {
  try {
    const checkpoint = parseCheckpoint(splitNote(note).text);
    if (log === null) {
      const origin = JSON.stringify(checkpoint.origin.slice(0, limits.echoChars));
      return { status: 404, detail: `expected the origin of a log that this witness serves, got ${origin}` };
    }
    return { checkpoint, text: openNote(note, log.keys).text };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const unsigned = error instanceof NoteError && error.code === 'INVALID_SIGNATURE';
    return { status: unsigned ? 403 : 400, detail: error.message };
  }
}

function textOf(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch {
    throw malformed('UTF-8', 'other bytes');
  }
}
