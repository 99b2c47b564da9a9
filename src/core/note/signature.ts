/**
 * Ed25519 (RFC 8032) and ML-DSA-44 (FIPS 204, pure, empty context) with raw public keys.
 * Proven by `test/core/note/signature.test.ts` (Wycheproof vectors, @noble as oracle).
 */
import { createPublicKey, type KeyObject, sign as signWith, verify as verifyWith } from 'node:crypto';

export type SignatureAlgorithm = 'ed25519' | 'ml-dsa-44';

interface Sizes {
  readonly publicKeyBytes: number;
  readonly signatureBytes: number;
  /** Bytes before the raw key in a SubjectPublicKeyInfo (RFC 8410 §4, RFC 9881 §4). */
  readonly spkiPrefix: Buffer;
}

export const signatureSizes: Readonly<Record<SignatureAlgorithm, Sizes>> = {
  ed25519: {
    publicKeyBytes: 32,
    signatureBytes: 64,
    spkiPrefix: Buffer.from('302a300506032b6570032100', 'hex'),
  },
  'ml-dsa-44': {
    publicKeyBytes: 1312,
    signatureBytes: 2420,
    spkiPrefix: Buffer.from('30820532300b06096086480165030403110382052100', 'hex'),
  },
};

let mlDsa44: boolean | undefined;

/** Returns whether node:crypto of this runtime has ML-DSA-44 (OpenSSL 3.5). */
export function hasMlDsa44(): boolean {
  mlDsa44 ??= importKey('ml-dsa-44', Buffer.alloc(signatureSizes['ml-dsa-44'].publicKeyBytes)) !== null;
  return mlDsa44;
}

/**
 * Returns a key object of a raw public key; null for a wrong length (the DER parser would accept surplus bytes), an
 * invalid key, or an algorithm that the runtime lacks.
 */
export function importPublicKey(algorithm: SignatureAlgorithm, raw: Uint8Array): KeyObject | null {
  return raw.length === signatureSizes[algorithm].publicKeyBytes ? importKey(algorithm, raw) : null;
}

/** Returns the raw public key of a public or private key object; null for a key of another algorithm. */
export function rawPublicKey(algorithm: SignatureAlgorithm, key: KeyObject): Buffer | null {
  if (key.asymmetricKeyType !== algorithm) return null;
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey
    .export({ format: 'der', type: 'spki' })
    .subarray(signatureSizes[algorithm].spkiPrefix.length);
}

/** Signs a message. Cost: 40 µs for Ed25519, 0.5 ms for ML-DSA-44. */
export const signBytes = (key: KeyObject, message: Uint8Array): Buffer => signWith(null, message, key);

/** Verifies a signature. Message and signature are attacker controlled; never throws. Cost: about 0.1 ms. */
export function verifyBytes(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  const algorithm = key.asymmetricKeyType === 'ed25519' ? 'ed25519' : 'ml-dsa-44';
  if (signature.length !== signatureSizes[algorithm].signatureBytes) return false;
  try {
    return verifyWith(null, message, key, signature);
  } catch {
    return false;
  }
}

function importKey(algorithm: SignatureAlgorithm, raw: Uint8Array): KeyObject | null {
  try {
    const key = Buffer.concat([signatureSizes[algorithm].spkiPrefix, raw]);
    return createPublicKey({ key, format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}
