/**
 * The identity of a data plane: the origins of its two logs and the Ed25519 keys that sign them, fixed at enrolment. The
 * key of the metering log has the origin of epoch 0 as name; a later epoch has the same key under its own name.
 * Proven by `test/core/planes/identity.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { TelemetryFault } from '../../contract/telemetry.ts';
import { type Checkpoint, openCheckpoint } from '../note/checkpoint.ts';
import { sha256 } from '../hash.ts';
import { NoteError, openNote, parseVerifierKey, type VerifierKey, verifierKeyText } from '../note/signed.ts';

export interface PlaneIdentity {
  /** Origin of its metering log, without the epoch. */
  readonly origin: string;
  /** Origin of its audit log in epoch 0. */
  readonly auditOrigin: string;
  /** C2SP vkeys, Ed25519, of the metering log and of the audit log, both at epoch 0. */
  readonly verifierKey: string;
  readonly auditVerifierKey: string;
}

/** Earlier keys of a plane with the same origins. */
export interface FormerKeys extends Pick<PlaneIdentity, 'verifierKey' | 'auditVerifierKey'> {
  /** When the plane enrolled with new keys. */
  readonly untilMs: number;
}

/** A fault in a message: its code, its JSON pointer, and what was expected and found. */
export interface Fault {
  readonly fault: TelemetryFault;
  readonly pointer: string;
  readonly detail: string;
}

export const faultAt = (fault: TelemetryFault, pointer: string, detail: string): Fault => ({
  fault,
  pointer,
  detail,
});

/** Returns the origin of the metering log in an epoch. */
export const epochOrigin = (origin: string, epoch: number): string => `${origin}/${epoch}`;

/** Returns the origin of the audit log in an epoch: a restarted log has the epoch in its name (`gov log recover`). */
export const auditEpochOrigin = (origin: string, epoch: number): string =>
  epoch === 0 ? origin : `${origin}/${epoch}`;

/** Returns the key of the metering log in an epoch. Throws VALIDATION_ERROR. Cost: 20 µs, 60 beyond epoch 0. */
export const meteringKey = ({ origin, verifierKey }: PlaneIdentity, epoch: number): VerifierKey =>
  namedKey(verifierKey, epochOrigin(origin, epoch));

/** Returns the key of the audit log in an epoch, likewise. */
export const auditKey = ({ auditOrigin, auditVerifierKey }: PlaneIdentity, epoch: number): VerifierKey =>
  namedKey(auditVerifierKey, auditEpochOrigin(auditOrigin, epoch));

function namedKey(text: string, name: string): VerifierKey {
  const first = parseVerifierKey(text);
  return first.name === name ? first : parseVerifierKey(verifierKeyText(name, 'ed25519', first.publicKey));
}

/** The expected properties of a checkpoint in a message. */
export interface ExpectedHead {
  readonly origin: string;
  readonly key: VerifierKey;
  readonly size: number;
  readonly pointer: string;
}

/** Opens a checkpoint in a message, or returns the fault. Attacker controlled. Cost: one verification, 0.1 ms. */
export function openHead(note: string, { origin, key, size, pointer }: ExpectedHead): Checkpoint | Fault {
  let checkpoint: Checkpoint;
  try {
    ({ checkpoint } = openCheckpoint(note, [key], origin));
  } catch (error) {
    return openFault(error, pointer);
  }
  if (checkpoint.size === size) return checkpoint;
  const detail = `expected a checkpoint of ${size} leaves, as in the message, got one of ${checkpoint.size}`;
  return faultAt('checkpoint_signature_invalid', pointer, detail);
}

/** Converts the error of opening a note to a fault; rethrows any other error, a bug. */
export function openFault(error: unknown, pointer: string): Fault {
  if (!(error instanceof GovError)) throw error;
  const foreign = error instanceof NoteError && error.fault === 'wrong_origin';
  return faultAt(foreign ? 'origin_mismatch' : 'checkpoint_signature_invalid', pointer, error.message);
}

/** Returns the text of the note that proves possession of the key at enrolment. */
export const possessionText = (token: string, origin: string): string =>
  `gov.enrol/v1\n${sha256(token).toString('hex')}\n${origin}\n`;

/**
 * Checks the identity of a plane at its enrolment by its note: two Ed25519 keys, named after the origins (metering log: of
 * epoch 0), and a note by the first key over this token and origin. Pointers are into the body of the enrolment. All but
 * the token is attacker controlled.
 */
export const checkPossession = (
  note: string,
  claim: { readonly token: string } & PlaneIdentity,
): Fault | null => checkClaim(note, claim, possessionText(claim.token, claim.origin));

/** The same for a note over another expected text. */
export function checkClaim(note: string, claim: PlaneIdentity, expected: string): Fault | null {
  const named = { '/verifierKey': epochOrigin(claim.origin, 0), '/auditVerifierKey': claim.auditOrigin };
  for (const [pointer, name] of Object.entries(named)) {
    const text = pointer === '/verifierKey' ? claim.verifierKey : claim.auditVerifierKey;
    const fault = checkKey(text, name, pointer);
    if (fault !== null) return fault;
  }
  const pointer = '/possession';
  try {
    const { text } = openNote(note, [parseVerifierKey(claim.verifierKey)]);
    if (text === expected) return null;
  } catch (error) {
    return openFault(error, pointer);
  }
  const detail = 'expected a note over this token and these members, got one over another text';
  return faultAt('origin_mismatch', pointer, detail);
}

function checkKey(text: string, name: string, pointer: string): Fault | null {
  let key: VerifierKey;
  try {
    key = parseVerifierKey(text);
  } catch (error) {
    return openFault(error, pointer);
  }
  if (key.algorithm !== 'ed25519')
    return faultAt('checkpoint_signature_invalid', pointer, `expected an Ed25519 key, got ${key.algorithm}`);
  if (key.name === name) return null;
  const got = JSON.stringify(key.name.slice(0, 64));
  return faultAt('origin_mismatch', pointer, `expected a key named ${JSON.stringify(name)}, got ${got}`);
}
