/**
 * The part of node:crypto that verifies signed approvals (`src/core/approvals/`), for runtimes without Node: ECDSA on the
 * NIST curves (FIPS 186-5), Ed25519, RSASSA-PKCS1-v1_5 (RFC 8017 §8.2.2), with the answers of Node. It has only the forms
 * of keys that approvals use. WebCrypto would do the same, but asynchronously, and the verifier is synchronous.
 * Attacker controlled. Proven by `test/client/web/approval-crypto.test.ts` against node:crypto.
 */
import { weierstrass } from '@noble/curves/abstract/weierstrass.js';
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js';
import { Buffer } from './buffer.ts';
import { verifyEd25519 } from './signatures.ts';

const digests = {
  sha256: { of: sha256, info: '3031300d060960864801650304020105000420' },
  sha384: { of: sha384, info: '3041300d060960864801650304020205000430' },
  sha512: { of: sha512, info: '3051300d060960864801650304020305000440' },
} as const;
type Digest = keyof typeof digests;

/** SP 800-186 §3.2.1, in hex. `p256` of @noble would bring all that signs, too. */
const curves = {
  'P-256': {
    p: 'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff',
    n: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
    b: '5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b',
    x: '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296',
    y: '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
  },
  'P-384': {
    p: 'fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff',
    n: 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
    b: 'b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef',
    x: 'aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7',
    y: '3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f',
  },
  'P-521': {
    p: `1ff${'ff'.repeat(64)}`,
    n: `1${'ff'.repeat(32)}fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409`,
    b: '51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00',
    x: 'c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66',
    y: '11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650',
  },
} as const;
type Curve = keyof typeof curves;

const points = new Map<Curve, ReturnType<typeof weierstrass<bigint>>>();

function pointsOf(curve: Curve): ReturnType<typeof weierstrass<bigint>> {
  const known = points.get(curve);
  if (known !== undefined) return known;
  const number = (name: keyof (typeof curves)[Curve]): bigint => BigInt(`0x${curves[curve][name]}`);
  const p = number('p');
  const made = weierstrass({
    p,
    n: number('n'),
    h: 1n,
    a: p - 3n,
    b: number('b'),
    Gx: number('x'),
    Gy: number('y'),
  });
  points.set(curve, made);
  return made;
}

interface Jwk {
  readonly kty: string;
  readonly crv?: string;
  readonly [member: string]: string | undefined;
}

interface KeyObject {
  readonly asymmetricKeyType: 'ec' | 'rsa' | 'ed25519';
  readonly asymmetricKeyDetails: { readonly namedCurve?: string; readonly modulusLength?: number };
  /** The SubjectPublicKeyInfo; empty for a key that was read from a JWK. */
  export(): Buffer;
  verify(digest: Digest | null, message: Uint8Array, signature: Uint8Array, isDer: boolean): boolean;
}

export function hash(
  name: Digest,
  data: string | Uint8Array,
  encoding: 'buffer' | 'base64',
): Buffer | string {
  const bytes = Buffer.from(digests[name].of(typeof data === 'string' ? Buffer.from(data) : data));
  return encoding === 'buffer' ? bytes : bytes.toString(encoding);
}

type PublicKeyInput =
  | { readonly key: Uint8Array; readonly format: 'der' }
  | { readonly key: Jwk; readonly format: 'jwk' };

/** Reads a public key. Throws for another form, and for a point that is not on its curve. */
export const createPublicKey = (given: PublicKeyInput): KeyObject =>
  given.format === 'der' ? keyOfSpki(Buffer.from(given.key)) : keyOfJwk(given.key);

type VerifyKey = KeyObject | { readonly key: KeyObject; readonly dsaEncoding: 'der' | 'ieee-p1363' };

export function verify(
  digest: Digest | null,
  message: Uint8Array,
  by: VerifyKey,
  signature: Uint8Array,
): boolean {
  const { key, dsaEncoding } = 'key' in by ? by : { key: by, dsaEncoding: 'der' };
  return key.verify(digest, message, signature, dsaEncoding === 'der');
}

const spkiPrefixes = {
  ec: '3059301306072a8648ce3d020106082a8648ce3d030107034200',
  ed25519: '302a300506032b6570032100',
};
const rsaAlgorithm = '300d06092a864886f70d0101010500';

function keyOfSpki(der: Buffer): KeyObject {
  const hex = der.toString('hex');
  const isOf = (prefix: string, bytes: number): boolean =>
    hex.startsWith(prefix) && der.length === prefix.length / 2 + bytes;
  if (isOf(spkiPrefixes.ec, 65)) return ecKey('P-256', der.subarray(-65), der);
  if (isOf(spkiPrefixes.ed25519, 32)) return edKey(der.subarray(-32), der);
  const [whole] = elements(der, 0x30);
  const [algorithm, bits] = elements(whole, 0x30, 0x03);
  const [n, e] = elements(elements(bits.subarray(1), 0x30)[0], 0x02, 0x02);
  const written = sequence(
    element(0x30, algorithm),
    element(0x03, Buffer.concat([Buffer.of(0), sequence(integer(numberOf(n)), integer(numberOf(e)))])),
  );
  if (element(0x30, algorithm).toString('hex') !== rsaAlgorithm || !written.equals(der))
    throw new TypeError('expected a public key for P-256, Ed25519 or RSA in DER');
  return rsaKey(numberOf(n), numberOf(e), der);
}

function keyOfJwk({ kty, crv, x = '', y = '', n = '', e = '' }: Jwk): KeyObject {
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
  if (kty === 'RSA') return rsaKey(numberOf(bytes(n)), numberOf(bytes(e)));
  if (kty === 'OKP') return edKey(bytes(x));
  return ecKey(crv as Curve, Buffer.concat([Buffer.of(4), bytes(x), bytes(y)]));
}

const exported =
  (der: Buffer | undefined): (() => Buffer) =>
  () =>
    der ?? Buffer.alloc(0);

function edKey(raw: Buffer, der?: Buffer): KeyObject {
  if (raw.length !== 32) throw new TypeError(`expected 32 bytes of a key, got ${raw.length}`);
  return {
    asymmetricKeyType: 'ed25519',
    asymmetricKeyDetails: {},
    export: exported(der),
    verify: (_digest, message, signature) =>
      verifyEd25519(Uint8Array.from(raw), Uint8Array.from(message), Uint8Array.from(signature)),
  };
}

/** FIPS 186-5 §6.4.2. Both halves of a signature are accepted, as in Node: none of these protocols requires a low `s`. */
function ecKey(name: Curve, point: Buffer, der?: Buffer): KeyObject {
  const Point = pointsOf(name);
  const { Fn } = Point;
  const key = Point.fromBytes(Uint8Array.from(point));
  return {
    asymmetricKeyType: 'ec',
    asymmetricKeyDetails: name === 'P-256' ? { namedCurve: 'prime256v1' } : {},
    export: exported(der),
    verify(digest, message, signature, isDer) {
      const [r, s] = (isDer ? derPair(signature) : fixedPair(signature, Fn.BYTES)) ?? [0n, 0n];
      if (digest === null || r === 0n || s === 0n || r >= Fn.ORDER || s >= Fn.ORDER) return false;
      const whole = digests[digest].of(message);
      const hashed = numberOf(whole) >> BigInt(Math.max(0, 8 * whole.length - Fn.BITS));
      const inverse = Fn.inv(s);
      const base = Point.BASE.multiplyUnsafe(Fn.mul(Fn.create(hashed), inverse));
      const sum = base.add(key.multiplyUnsafe(Fn.mul(r, inverse)));
      return !sum.is0() && Fn.create(sum.x) === r;
    },
  };
}

/** Bounds of OpenSSL, so that a key of a hostile size costs no more here than there. */
const rsaBits = { most: 16_384, small: 3072, exponentOfLarge: 64 };

function rsaKey(n: bigint, e: bigint, der?: Buffer): KeyObject {
  const bits = bitsOf(n);
  return {
    asymmetricKeyType: 'rsa',
    asymmetricKeyDetails: { modulusLength: bits },
    export: exported(der),
    verify(digest, message, signature) {
      const isLarge = bits > rsaBits.most || (bits > rsaBits.small && bitsOf(e) > rsaBits.exponentOfLarge);
      const size = Math.ceil(bits / 8);
      const s = numberOf(signature);
      if (digest === null || isLarge || n % 2n === 0n || e >= n || signature.length !== size || s >= n)
        return false;
      const { of, info } = digests[digest];
      const hashed = Buffer.concat([Buffer.from(info, 'hex'), of(message)]);
      const padding = size - hashed.length - 3;
      if (padding < 8) return false;
      const expected = Buffer.concat([Buffer.of(0, 1), Buffer.alloc(padding, 0xff), Buffer.of(0), hashed]);
      return power(s, e, n) === numberOf(expected);
    },
  };
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === '1') result = (result * base) % modulus;
  }
  return result;
}

const bitsOf = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length);

const numberOf = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

function fixedPair(signature: Uint8Array, bytes: number): [bigint, bigint] | null {
  if (signature.length !== 2 * bytes) return null;
  return [numberOf(signature.subarray(0, bytes)), numberOf(signature.subarray(bytes))];
}

/** Reads `SEQUENCE { r INTEGER, s INTEGER }`; null for another spelling than that of DER. */
function derPair(signature: Uint8Array): [bigint, bigint] | null {
  try {
    const [whole] = elements(Buffer.from(signature), 0x30);
    const [r, s] = elements(whole, 0x02, 0x02).map(numberOf) as [bigint, bigint];
    return sequence(integer(r), integer(s)).equals(signature) ? [r, s] : null;
  } catch {
    return null;
  }
}

/** The contents of consecutive elements of DER with these tags (X.690). Throws for other tags, and beyond the end. */
function elements<Tags extends readonly number[]>(
  bytes: Buffer,
  ...tags: Tags
): { [Each in keyof Tags]: Buffer } {
  let at = 0;
  const contents = tags.map((tag) => {
    const head = bytes[at + 1] ?? 0;
    const more = head < 0x80 ? 0 : head - 0x80;
    const from = at + 2 + more;
    const length = more === 0 ? head : Number(numberOf(bytes.subarray(at + 2, from)));
    if (bytes[at] !== tag || from + length > bytes.length)
      throw new TypeError('expected DER, got other bytes');
    at = from + length;
    return bytes.subarray(from, at);
  });
  return contents as { [Each in keyof Tags]: Buffer };
}

function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const more = length < 0x80 ? [] : length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, more.length === 0 ? length : 0x80 + more.length, ...more), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, Buffer.concat(parts));

function integer(value: bigint): Buffer {
  const hex = value.toString(16);
  const even = hex.length % 2 === 0 ? hex : `0${hex}`;
  return element(0x02, Buffer.from(Number.parseInt(even.slice(0, 2), 16) < 0x80 ? even : `00${even}`, 'hex'));
}
