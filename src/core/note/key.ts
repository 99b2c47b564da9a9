/**
 * Keys of C2SP signed-note: signers, and verifier keys as text (`<name>+<key id>+<base64 of type and public key>`).
 * The key type defines the signed message: the note text (0x01), or the message of C2SP tlog-cosignature (0x04, 0x06).
 * Proven by `test/core/note/signed.test.ts`.
 */
import type { KeyObject } from 'node:crypto';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { cosignatureMessage, cosignedMessage, splitTimestamp, withTimestamp } from './cosignature.ts';
import { sha256 } from '../hash.ts';
import {
  hasMlDsa44,
  importPublicKey,
  rawPublicKey,
  type SignatureAlgorithm,
  signatureSizes,
  signBytes,
  verifyBytes,
} from './signature.ts';
import { malformedAs } from './malformed.ts';

const malformed = malformedAs('verifier key');

/** `ed25519` signs the text of any note; the others sign checkpoints with a time, for logs and witnesses. */
export type KeyAlgorithm = 'ed25519' | 'ed25519-cosignature' | 'ml-dsa-44';

export interface VerifierKey {
  readonly name: string;
  /** The first four bytes of SHA-256(name "\n" type public key), as an unsigned integer. */
  readonly keyId: number;
  readonly algorithm: KeyAlgorithm;
  /** The raw public key; two verifier keys with the same public key are the same key. */
  readonly publicKey: Buffer;
  /** The verifier key text (vkey). */
  readonly text: string;
  /** Returns whether `signature` is by this key over the note text. Attacker controlled; never throws. */
  verify(noteText: Uint8Array, signature: Uint8Array): boolean;
  /** Returns whether `signature` is by this key over exactly these bytes. Attacker controlled; never throws. */
  verifyMessage(message: Uint8Array, signature: Uint8Array): boolean;
}

export interface NoteSigner {
  readonly name: string;
  readonly keyId: number;
  readonly algorithm: KeyAlgorithm;
  /** The verifier key text (vkey). */
  readonly verifierKey: string;
  /**
   * Returns the signature over a note text. Cosignatures contain `timestampSeconds`; `ed25519` ignores it. 0, which only
   * `ml-dsa-44` accepts, does not claim that the tree is the largest seen.
   */
  sign(noteText: Uint8Array, timestampSeconds?: number): Uint8Array;
  /**
   * Returns the signature over exactly these bytes. The format of the message must not be read as a note or as a
   * cosignature: DSSE begins with `DSSEv1 `, contains no empty line before its payload, and is no checkpoint. A receipt
   * begins with 0x84, which begins no UTF-8.
   */
  signMessage(message: Uint8Array): Uint8Array;
}

interface Algorithm {
  readonly type: number;
  readonly signature: SignatureAlgorithm;
  /** The signed message; default: the note text. */
  readonly message?: (noteText: Uint8Array, name: string, timestampSeconds: number) => Buffer;
}

const algorithms: Readonly<Record<KeyAlgorithm, Algorithm>> = {
  ed25519: { type: 0x01, signature: 'ed25519' },
  'ed25519-cosignature': {
    type: 0x04,
    signature: 'ed25519',
    message: (noteText, _name, timestampSeconds) => cosignatureMessage(noteText, timestampSeconds),
  },
  'ml-dsa-44': { type: 0x06, signature: 'ml-dsa-44', message: cosignedMessage },
};

const algorithmOfType = (type: number | undefined): KeyAlgorithm | undefined =>
  (Object.keys(algorithms) as KeyAlgorithm[]).find((name) => algorithms[name].type === type);

/** A key name is one word without plus signs. */
export const isKeyName = (name: string): boolean =>
  name !== '' && name.isWellFormed() && !/[\p{White_Space}+]/u.test(name);

/** Returns the key id as in a verifier key text: 8 lower-case hex digits. */
export const keyIdText = (keyId: number): string => keyId.toString(16).padStart(8, '0');

/** Returns the verifier key text of a raw public key. Throws RangeError for an invalid name or length. */
export function verifierKeyText(name: string, algorithm: KeyAlgorithm, publicKey: Uint8Array): string {
  const { type, signature } = algorithms[algorithm];
  const { publicKeyBytes } = signatureSizes[signature];
  if (!isKeyName(name))
    throw new RangeError(`expected a key name without spaces and plus signs, got ${name}`);
  if (publicKey.length !== publicKeyBytes) {
    throw new RangeError(`expected a public key of ${publicKeyBytes} bytes, got ${publicKey.length}`);
  }
  const key = Buffer.concat([Buffer.from([type]), publicKey]);
  return `${name}+${keyIdText(keyIdOf(name, key))}+${encodeBase64(key)}`;
}

const verifierKeyForm = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/s;

/** Reads a verifier key text. Throws VALIDATION_ERROR with the reason. Attacker controlled. */
export function parseVerifierKey(text: string): VerifierKey {
  const [, name = '', idText = '', keyText = ''] = verifierKeyForm.exec(text) ?? [];
  if (!isKeyName(name)) throw malformed('<name>+<8 hex digits>+<base64>', text);
  const key = decodeBase64(keyText);
  if (key === null) throw malformed('a key in canonical base64', text);
  const keyId = keyIdOf(name, key);
  if (keyIdText(keyId) !== idText) throw malformed(`key id ${keyIdText(keyId)} for this name and key`, text);
  const algorithm = algorithmOfType(key[0]);
  if (algorithm === undefined) throw malformed('signature type 1 (Ed25519), 4 or 6 (cosignatures)', text);
  const publicKey = key.subarray(1);
  const keyObject = importPublicKey(algorithms[algorithm].signature, publicKey);
  if (keyObject === null) {
    const missing = algorithm === 'ml-dsa-44' && !hasMlDsa44();
    throw malformed(
      missing ? 'a runtime whose node:crypto has ML-DSA-44' : `a public key for ${algorithm}`,
      text,
    );
  }
  const verify = verifierOf(name, algorithm, keyObject);
  const verifyMessage = (bytes: Uint8Array, signature: Uint8Array): boolean =>
    verifyBytes(keyObject, bytes, signature);
  return { name, keyId, algorithm, publicKey, text, verify, verifyMessage };
}

/** Returns the time in a cosignature, in seconds; null for plain signatures. */
export function timestampOf(algorithm: KeyAlgorithm, signature: Uint8Array): number | null {
  return algorithms[algorithm].message === undefined
    ? null
    : (splitTimestamp(signature)?.timestampSeconds ?? null);
}

/** Returns a signer of notes with an Ed25519 private key (type 0x01). */
export const ed25519Signer = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, 'ed25519', privateKey);

/** Returns a cosigner of checkpoints (a witness) with an Ed25519 private key (type 0x04). */
export const ed25519Cosigner = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, 'ed25519-cosignature', privateKey);

/** Returns a signer of checkpoints with an ML-DSA-44 private key (type 0x06), for a log or witness. Needs `hasMlDsa44()`. */
export const mlDsa44Signer = (name: string, privateKey: KeyObject): NoteSigner =>
  signerOf(name, 'ml-dsa-44', privateKey);

function signerOf(name: string, algorithm: KeyAlgorithm, privateKey: KeyObject): NoteSigner {
  const { signature, message } = algorithms[algorithm];
  const publicKey = rawPublicKey(signature, privateKey);
  if (publicKey === null || privateKey.type !== 'private') {
    throw new TypeError(`expected a private key for ${signature}, got ${privateKey.asymmetricKeyType}`);
  }
  const verifierKey = verifierKeyText(name, algorithm, publicKey);
  const { keyId } = parseVerifierKey(verifierKey);
  const sign = (noteText: Uint8Array, timestampSeconds = 0): Uint8Array => {
    if (message === undefined) return signBytes(privateKey, noteText);
    const least = algorithm === 'ml-dsa-44' ? 0 : 1;
    if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < least) {
      throw new RangeError(`expected the POSIX time in whole seconds, got ${timestampSeconds}`);
    }
    return withTimestamp(timestampSeconds, signBytes(privateKey, message(noteText, name, timestampSeconds)));
  };
  const signMessage = (bytes: Uint8Array): Uint8Array => signBytes(privateKey, bytes);
  return { name, keyId, algorithm, verifierKey, sign, signMessage };
}

function verifierOf(name: string, algorithm: KeyAlgorithm, key: KeyObject): VerifierKey['verify'] {
  const { message } = algorithms[algorithm];
  if (message === undefined) return (noteText, signature) => verifyBytes(key, noteText, signature);
  return (noteText, bytes) => {
    const split = splitTimestamp(bytes);
    if (split === null) return false;
    try {
      return verifyBytes(key, message(noteText, name, split.timestampSeconds), split.signature);
    } catch {
      return false; // the text is not a checkpoint, so there is no message
    }
  };
}

function keyIdOf(name: string, key: Uint8Array): number {
  return sha256(Buffer.concat([Buffer.from(`${name}\n`), key])).readUInt32BE();
}
