/**
 * Who a data plane is: the origins of its two logs and the Ed25519 keys that sign them, fixed when it enrols. The key of
 * the metering log is named after the origin of epoch 0; a later epoch has the same key under its own name.
 * Proven by `test/core/plane/identity.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { TelemetryFault } from '../../contract/telemetry.ts';
import { type Checkpoint, openCheckpoint } from '../note/checkpoint.ts';
import { sha256 } from '../hash.ts';
import { NoteError, openNote, parseVerifierKey, type VerifierKey, verifierKeyText } from '../note/signed.ts';

export interface PlaneIdentity {
  /** Of its metering log, without the epoch. */
  readonly origin: string;
  /** Of its audit log in epoch 0. */
  readonly auditOrigin: string;
  /** C2SP vkeys, Ed25519: of the metering log and of the audit log, both at epoch 0. */
  readonly verifierKey: string;
  readonly auditVerifierKey: string;
}

/** The keys of a plane before it enrolled with others, of the same origins. */
export interface FormerKeys extends Pick<PlaneIdentity, 'verifierKey' | 'auditVerifierKey'> {
  /** When it enrolled with others. */
  readonly untilMs: number;
}

/** What does not hold of a message: the word, where in its body (JSON pointer), and what was expected and came. */
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

/** The origin of the metering log in an epoch. */
export const epochOrigin = (origin: string, epoch: number): string => `${origin}/${epoch}`;

/** The origin of the audit log in an epoch: a log that is begun anew is named after it (`gov log recover`). */
export const auditEpochOrigin = (origin: string, epoch: number): string =>
  epoch === 0 ? origin : `${origin}/${epoch}`;

/** The key of the metering log in an epoch; VALIDATION_ERROR where the identity has none. Cost: 20 µs, 60 beyond epoch 0. */
export const meteringKey = ({ origin, verifierKey }: PlaneIdentity, epoch: number): VerifierKey =>
  namedKey(verifierKey, epochOrigin(origin, epoch));

/** The key of the audit log in an epoch, likewise. */
export const auditKey = ({ auditOrigin, auditVerifierKey }: PlaneIdentity, epoch: number): VerifierKey =>
  namedKey(auditVerifierKey, auditEpochOrigin(auditOrigin, epoch));

function namedKey(text: string, name: string): VerifierKey {
  const first = parseVerifierKey(text);
  return first.name === name ? first : parseVerifierKey(verifierKeyText(name, 'ed25519', first.publicKey));
}

/** What a checkpoint in a message must be. */
export interface ExpectedHead {
  readonly origin: string;
  readonly key: VerifierKey;
  readonly size: number;
  readonly pointer: string;
}

/** The signed head in a message, or why it is none. An attacker controls the note. Cost: one verification, 0.1 ms. */
export function openHead(note: string, { origin, key, size, pointer }: ExpectedHead): Checkpoint | Fault {
  let checkpoint: Checkpoint;
  try {
    ({ checkpoint } = openCheckpoint(note, [key], origin));
  } catch (error) {
    return openFault(error, pointer);
  }
  if (checkpoint.size === size) return checkpoint;
  const detail = `expected a checkpoint of ${size} leaves as the message says, got one of ${checkpoint.size}`;
  return faultAt('checkpoint_signature_invalid', pointer, detail);
}

/** Why a note was not opened, as a fault; what is no problem of a note is a bug and thrown. */
export function openFault(error: unknown, pointer: string): Fault {
  if (!(error instanceof GovError)) throw error;
  const foreign = error instanceof NoteError && error.fault === 'wrong_origin';
  return faultAt(foreign ? 'origin_mismatch' : 'checkpoint_signature_invalid', pointer, error.message);
}

/** The text of the note by which a plane shows at its enrolment that it holds the key it names. */
export const possessionText = (token: string, origin: string): string =>
  `gov.enrol/v1\n${sha256(token).toString('hex')}\n${origin}\n`;

/**
 * Holds what a plane says of itself at its enrolment against its note: two Ed25519 keys, named after the origins (of the
 * metering log: of epoch 0), and the note signed by the first, over this token and origin. Pointers are into the body of
 * the enrolment. An attacker controls everything but the token.
 */
export const checkPossession = (
  note: string,
  claim: { readonly token: string } & PlaneIdentity,
): Fault | null => checkClaim(note, claim, possessionText(claim.token, claim.origin));

/** The same of a note over whatever text the holder of the token makes. */
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
  const detail = 'expected a note over this token and what is said here, got one over another text';
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
