/**
 * C2SP tlog-checkpoint: the signed head of a log. Ed25519 signatures cover the note text; ML-DSA-44 signatures and
 * cosignatures cover the message of C2SP tlog-cosignature. Proven by `test/core/note/checkpoint.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  NoteError,
  type NoteSignature,
  type NoteSigner,
  openNote,
  type SignOptions,
  signNote,
  splitNote,
  untrusted,
} from './signed.ts';
import type { VerifiedSignature, VerifierKey } from './signed.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from './tree-head.ts';
import type { Trust } from './trust.ts';

/** The head that a signed note names. No signature is checked. VALIDATION_ERROR for another text. */
export const unverifiedHead = (note: string): Checkpoint => parseCheckpoint(splitNote(note).text);

/** As `unverifiedHead`; null for a text that is no signed head. */
export function unverifiedHeadOrNull(note: string): Checkpoint | null {
  try {
    return unverifiedHead(note);
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

export { ed25519Cosigner, ed25519Signer, mlDsa44Signer } from './signed.ts';
export { hasMlDsa44 } from './signature.ts';
export { type Checkpoint, parseCheckpoint } from './tree-head.ts';
export { formatTrust, parseTrust, type Trust } from './trust.ts';

export type CheckpointSigner = NoteSigner;

/** Returns a signed checkpoint, one line per signer. The caller ensures that it extends all signed before. */
export function signCheckpoint(
  checkpoint: Checkpoint,
  signers: readonly CheckpointSigner[],
  options: SignOptions = {},
): string {
  return signNote(formatCheckpoint(checkpoint), signers, options);
}

export interface OpenCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The signed note text. */
  readonly text: string;
  /** The given keys that signed it, at least one. */
  readonly signedBy: readonly VerifiedSignature[];
  /** Signatures by other keys; they prove nothing. */
  readonly unverified: readonly NoteSignature[];
}

/**
 * Opens a checkpoint of `expectedOrigin` that at least one of the log's own `keys` signed. `keys` must not contain keys of
 * witnesses: a witness alone does not make a checkpoint. Throws NoteError as `openNote` does, and `wrong_origin`;
 * VALIDATION_ERROR if the text is not a checkpoint. Attacker controlled.
 */
export function openCheckpoint(
  note: string | Uint8Array,
  keys: readonly VerifierKey[],
  expectedOrigin: string,
): OpenCheckpoint {
  const { text, verified, unverified } = openNote(note, keys);
  const checkpoint = parseCheckpoint(text);
  if (checkpoint.origin !== expectedOrigin) {
    const got = JSON.stringify(checkpoint.origin.slice(0, 64));
    throw new NoteError(
      'wrong_origin',
      `checkpoint: expected the origin ${JSON.stringify(expectedOrigin)}, got ${got}`,
    );
  }
  return { checkpoint, text, signedBy: verified, unverified };
}

export interface TrustedCheckpoint extends OpenCheckpoint {
  /** Algorithms of log keys in the trust without a signature here, sorted. */
  readonly missing: readonly VerifierKey['algorithm'][];
  /** Distinct witnesses of the trust that cosigned at a stated time. */
  readonly witnessedBy: readonly VerifiedSignature[];
  /** Whether there are as many as the trust requires. */
  readonly quorumMet: boolean;
  /** Null where the trust names no index witness. */
  readonly index: IndexCosigners | null;
}

/** Which of the trusted index witnesses cosigned a checkpoint: every index leaf below its size is right. */
export interface IndexCosigners {
  /** Their names in the trust file. */
  readonly by: readonly string[];
  /** How many the trust names, and how many have to have cosigned. */
  readonly of: number;
  readonly quorum: number;
}

/**
 * Opens a checkpoint that one of the trusted log keys signed, else throws as above. Too few cosignatures are no error
 * (`quorumMet`); one forged cosignature of a trusted witness is an error. Throws `signature_missing` where the trust
 * requires a signature by each algorithm of its log keys, and one is missing.
 */
export function openTrustedCheckpoint(note: string | Uint8Array, trust: Trust): TrustedCheckpoint {
  const deriving = trust.index?.witnesses ?? [];
  const known = [...trust.keys, ...trust.witnesses, ...deriving.map(({ key }) => key)];
  const opened = openCheckpoint(note, known, trust.origin);
  const signedBy = opened.signedBy.filter(({ key }) => trust.keys.includes(key));
  if (signedBy.length === 0) throw untrusted(trust.keys, opened.signedBy);
  const signed = new Set(signedBy.map(({ key }) => key.algorithm));
  const listed = [...new Set(trust.keys.map(({ algorithm }) => algorithm))].toSorted();
  const missing = listed.filter((algorithm) => !signed.has(algorithm));
  if (trust.require === 'each-algorithm' && missing.length > 0) {
    const expected = `a signature by each algorithm of the trust, ${listed.join(' and ')}`;
    throw new NoteError('signature_missing', `note: expected ${expected}, got none by ${missing.join(', ')}`);
  }
  const seen = new Set(trust.keys.map(({ publicKey }) => publicKey.toString('hex')));
  const index = cosignersOf(trust, opened);
  const witnessedBy = opened.signedBy.filter(({ key, timestampSeconds }) => {
    if (!trust.witnesses.includes(key)) return false;
    const id = key.publicKey.toString('hex');
    if (!timestampSeconds || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  const quorumMet = witnessedBy.length >= trust.quorum;
  return { ...opened, signedBy, missing, witnessedBy, quorumMet, index };
}

/** A cosignature without a time is none. Two names cannot have one key (`parseTrust`). */
function cosignersOf({ index }: Trust, { signedBy }: OpenCheckpoint): IndexCosigners | null {
  if (index === undefined) return null;
  const timed = new Set(signedBy.filter(({ timestampSeconds }) => timestampSeconds).map(({ key }) => key));
  const by = index.witnesses.filter(({ key }) => timed.has(key)).map(({ name }) => name);
  return { by, of: index.witnesses.length, quorum: index.quorum };
}
