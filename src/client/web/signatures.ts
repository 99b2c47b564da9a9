/**
 * Verifies signatures in runtimes without Node, with the answers of node:crypto (`crypto.ts`). A module of its own, so that
 * a program that verifies nothing does not load curves. Tested by `test/client/web/crypto.test.ts`.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import { Buffer } from './buffer.ts';

interface PublicKey {
  readonly type: 'public';
  readonly asymmetricKeyType: 'ed25519' | 'ml-dsa-44';
  readonly raw: Uint8Array;
}

/** Bytes before the raw key in a SubjectPublicKeyInfo, as in `src/core/note/signature.ts`. */
const prefixes = [
  { asymmetricKeyType: 'ed25519', prefix: '302a300506032b6570032100', rawBytes: 32 },
  { asymmetricKeyType: 'ml-dsa-44', prefix: '30820532300b06096086480165030403110382052100', rawBytes: 1312 },
] as const;

/** Returns the key in a SubjectPublicKeyInfo in DER. Throws for another algorithm or length. */
export function createPublicKey({ key }: { readonly key: Uint8Array }): PublicKey {
  const hex = Buffer.from(key).toString('hex');
  const found = prefixes.find(
    ({ prefix, rawBytes }) => hex.startsWith(prefix) && hex.length === prefix.length + 2 * rawBytes,
  );
  if (found === undefined) throw new TypeError('expected a public key for Ed25519 or ML-DSA-44');
  const { asymmetricKeyType, prefix } = found;
  return { type: 'public', asymmetricKeyType, raw: Uint8Array.from(key.subarray(prefix.length / 2)) };
}

export function verify(
  _algorithm: null,
  message: Uint8Array,
  { asymmetricKeyType, raw }: PublicKey,
  signature: Uint8Array,
): boolean {
  // plain arrays: @noble refuses subclasses of some sizes, and copies others
  const [text, signed] = [Uint8Array.from(message), Uint8Array.from(signature)];
  return asymmetricKeyType === 'ed25519'
    ? verifyEd25519(raw, text, signed)
    : ml_dsa44.verify(signed, text, raw);
}

/**
 * RFC 8032 section 5.1.7 without the cofactor, which is how OpenSSL verifies: `R` must be the encoding of `[s]B - [k]A`, and
 * neither `A` nor `R` may be of small order.
 * The verifiers of @noble multiply by the cofactor, and would accept signatures that Node refuses.
 */
export function verifyEd25519(raw: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const { Point } = ed25519;
  const order = Point.Fn.ORDER;
  const [r, s] = [signature.subarray(0, 32), littleEndian(signature.subarray(32))];
  if (signature.length !== 64 || s >= order) return false;
  try {
    const key = Point.fromBytes(raw, true);
    if (key.isSmallOrder()) return false;
    const k = littleEndian(sha512(Uint8Array.from([...r, ...raw, ...message]))) % order;
    const minus = k === 0n ? Point.ZERO : key.negate().multiplyUnsafe(k);
    const base = s === 0n ? Point.ZERO : Point.BASE.multiplyUnsafe(s);
    const computed = base.add(minus);
    return !computed.isSmallOrder() && computed.toBytes().every((byte, at) => byte === r[at]);
  } catch {
    return false; // the key is not a point of the curve
  }
}

const littleEndian = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);

/** The verifier has no private key. */
export function sign(): never {
  throw new TypeError('expected Node for signing');
}
