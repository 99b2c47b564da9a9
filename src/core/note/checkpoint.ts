/**
 * C2SP tlog-checkpoint: the signed head of a log. Ed25519 signatures cover the note text; ML-DSA-44 ones and
 * cosignatures cover what C2SP tlog-cosignature says. `test/core/note/checkpoint.test.ts` proves it.
 */
import {
  NoteError,
  type NoteSignature,
  type NoteSigner,
  openNote,
  type SignOptions,
  signNote,
  untrusted,
} from './signed.ts';
import type { VerifiedSignature, VerifierKey } from './signed.ts';
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from './tree-head.ts';
import type { Trust } from './trust.ts';

export { ed25519Cosigner, ed25519Signer, mlDsa44Signer } from './signed.ts';
export { hasMlDsa44 } from './signature.ts';
export { type Checkpoint, formatCheckpoint, parseCheckpoint } from './tree-head.ts';
export { formatTrust, parseTrust, type Trust } from './trust.ts';

export type CheckpointSigner = NoteSigner;

/** A signed checkpoint, one line per signer. The caller makes sure that it extends what it signed before. */
export function signCheckpoint(
  checkpoint: Checkpoint,
  signers: readonly CheckpointSigner[],
  options: SignOptions = {},
): string {
  return signNote(formatCheckpoint(checkpoint), signers, options);
}

export interface OpenCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The note text that was signed. */
  readonly text: string;
  /** The given keys that signed, at least one. */
  readonly signedBy: readonly VerifiedSignature[];
  /** Signatures of other keys; they say nothing. */
  readonly unverified: readonly NoteSignature[];
}

/**
 * Opens a checkpoint of `expectedOrigin` that at least one of the log's own `keys` signed. Never give a
 * witness's key here: a witness alone does not make a checkpoint. Throws NoteError as `openNote` does, and
 * `wrong_origin`; VALIDATION_ERROR where the text is no checkpoint. An attacker may control the note.
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
  /** Distinct witnesses of the trust that cosigned at a stated time. */
  readonly witnessedBy: readonly VerifiedSignature[];
  /** Whether they are as many as the trust asks for. */
  readonly quorumMet: boolean;
}

/**
 * Opens a checkpoint under a trust: signed by one of its log keys, else an error as above. Whether enough
 * witnesses cosigned is a verdict, `quorumMet`; one forged cosignature of a trusted witness is an error.
 */
export function openTrustedCheckpoint(note: string | Uint8Array, trust: Trust): TrustedCheckpoint {
  const opened = openCheckpoint(note, [...trust.keys, ...trust.witnesses], trust.origin);
  const signedBy = opened.signedBy.filter(({ key }) => trust.keys.includes(key));
  if (signedBy.length === 0) throw untrusted(trust.keys, opened.signedBy);
  const seen = new Set(trust.keys.map(({ publicKey }) => publicKey.toString('hex')));
  const witnessedBy = opened.signedBy.filter(({ key, timestampSeconds }) => {
    const id = key.publicKey.toString('hex');
    if (!timestampSeconds || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  return { ...opened, signedBy, witnessedBy, quorumMet: witnessedBy.length >= trust.quorum };
}
