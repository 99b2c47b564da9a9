/**
 * OpenSSH public keys (RFC 4253 §6.6, RFC 5656, RFC 8709, PROTOCOL.u2f) and signatures of `ssh-keygen -Y sign`
 * (PROTOCOL.sshsig). Every form is exact: one encoding, no trailing bytes, SHA-256 or SHA-512, no SHA-1. A security key
 * (`sk-…`) must have seen its user's touch. Attacker controlled; nothing here throws.
 * Proven by `test/core/approvals/ssh.test.ts`, with ssh-keygen as the oracle.
 */
import { createPublicKey, hash, verify, type JsonWebKey, type KeyObject } from 'node:crypto';

const leastRsaBits = 2048;
const touched = 0x01;

/** Curve of a key type, the name that repeats in the key, the hash of its signatures, and the bytes of a coordinate. */
const curves = {
  'ecdsa-sha2-nistp256': { crv: 'P-256', name: 'nistp256', digest: 'sha256', bytes: 32 },
  'ecdsa-sha2-nistp384': { crv: 'P-384', name: 'nistp384', digest: 'sha384', bytes: 48 },
  'ecdsa-sha2-nistp521': { crv: 'P-521', name: 'nistp521', digest: 'sha512', bytes: 66 },
  'sk-ecdsa-sha2-nistp256@openssh.com': { crv: 'P-256', name: 'nistp256', digest: 'sha256', bytes: 32 },
} as const;
type Curve = (typeof curves)[keyof typeof curves];

interface SshKey {
  readonly type: string;
  readonly blob: Buffer;
  readonly key: KeyObject;
  readonly curve: Curve | null;
  /** Of a security key. */
  readonly application: Buffer | null;
}

/** Why a key or a signature is refused: `expected …, got …`. */
export interface SshFault {
  readonly fault: string;
}

/** Reads one line of a `.pub` file. Returns `type base64` without the comment, and the fingerprint. */
export function readPublicKey(line: string): { publicKey: string; fingerprint: string } | SshFault {
  const [type = '', base64 = ''] = line.trim().split(/[ \t]+/);
  const blob = Buffer.from(base64, 'base64');
  const key = /[\r\n]/.test(line.trim()) || blob.toString('base64') !== base64 ? null : keyOf(blob);
  if (key === null || key.type !== type) {
    return {
      fault: `expected one line such as "ssh-ed25519 AAAA…" of type ${keyTypes}, got ${type.slice(0, 64) || 'none'}`,
    };
  }
  if (type === 'ssh-rsa') {
    const bits = key.key.asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < leastRsaBits)
      return { fault: `expected an RSA key of ${leastRsaBits} bits or more, got ${bits}` };
  }
  return { publicKey: `${type} ${base64}`, fingerprint: fingerprintOf(blob) };
}

const keyTypes = `ssh-ed25519, ssh-rsa, sk-ssh-ed25519@openssh.com, ${Object.keys(curves).join(', ')}`;

/** As `ssh-keygen -l` prints it. */
export const fingerprintOf = (blob: Uint8Array): string =>
  `SHA256:${hash('sha256', blob, 'base64').replace(/=+$/, '')}`;

/** Returns null if `armored` signs `message` with this key in this namespace, else the fault. */
export function sshSignatureFault(
  armored: string,
  { publicKey, namespace, message }: { publicKey: string; namespace: string; message: string },
): string | null {
  const signed = readSignature(armored);
  if (signed === null) return 'expected the text that ssh-keygen -Y sign writes, got another one';
  const key = keyOf(signed.keyBlob);
  if (key === null || `${key.type} ${key.blob.toString('base64')}` !== publicKey)
    return `expected a signature by ${publicKey.slice(0, 80)}, got one by ${fingerprintOf(signed.keyBlob)}`;
  if (signed.namespace !== namespace)
    return `expected namespace ${namespace}, got ${signed.namespace.slice(0, 64)}; sign with -n ${namespace}`;
  if (signed.digest !== 'sha256' && signed.digest !== 'sha512')
    return `expected hash sha256 or sha512, got ${signed.digest.slice(0, 16)}`;
  const digest = hash(signed.digest, message, 'buffer');
  const data = Buffer.concat([
    Buffer.from('SSHSIG'),
    ...[signed.namespace, '', signed.digest].map(sshString),
    sshString(digest),
  ]);
  return verifies(key, signed.signature, data)
    ? null
    : 'expected a valid signature of this statement, got an invalid one';
}

interface SshSignature {
  readonly keyBlob: Buffer;
  readonly namespace: string;
  readonly digest: string;
  readonly signature: Buffer;
}

const armor = /^-----BEGIN SSH SIGNATURE-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END SSH SIGNATURE-----\s*$/;

function readSignature(armored: string): SshSignature | null {
  const base64 = (armor.exec(armored)?.[1] ?? '').replace(/[\r\n]/g, '');
  const bytes = Buffer.from(base64, 'base64');
  if (base64 === '' || bytes.toString('base64') !== base64) return null;
  const reader = new SshReader(bytes);
  const isOurs = reader.bytes(6).toString() === 'SSHSIG' && reader.uint32() === 1;
  const [keyBlob, namespace, reserved, digest, signature] = [0, 1, 2, 3, 4].map(() => reader.string());
  if (!isOurs || !reader.ended || !keyBlob || !namespace || !digest || !signature) return null;
  if (reserved?.length !== 0) return null;
  return { keyBlob, namespace: namespace.toString('latin1'), digest: digest.toString('latin1'), signature };
}

/** Reads a key blob; null for another type or encoding. */
function keyOf(blob: Buffer): SshKey | null {
  const reader = new SshReader(blob);
  const type = reader.string().toString('latin1');
  const curve = Object.hasOwn(curves, type) ? curves[type as keyof typeof curves] : null;
  let jwk: JsonWebKey | null = null;
  if (type === 'ssh-ed25519' || type === 'sk-ssh-ed25519@openssh.com') {
    jwk = { kty: 'OKP', crv: 'Ed25519', x: reader.string().toString('base64url') };
  } else if (type === 'ssh-rsa') {
    const [e, n] = [reader.mpint(), reader.mpint()];
    jwk = { kty: 'RSA', e: e?.toString('base64url') ?? '', n: n?.toString('base64url') ?? '' };
  } else if (curve !== null) {
    const named = reader.string().toString('latin1') === curve.name;
    const point = reader.string();
    if (!named || point.length !== 1 + 2 * curve.bytes || point[0] !== 4) return null;
    const [x, y] = [point.subarray(1, 1 + curve.bytes), point.subarray(1 + curve.bytes)];
    jwk = { kty: 'EC', crv: curve.crv, x: x.toString('base64url'), y: y.toString('base64url') };
  }
  const application = type.startsWith('sk-') ? reader.string() : null;
  if (jwk === null || !reader.ended) return null;
  try {
    return { type, blob, key: createPublicKey({ key: jwk, format: 'jwk' }), curve, application };
  } catch {
    return null;
  }
}

function verifies({ type, key, curve, application }: SshKey, blob: Buffer, data: Buffer): boolean {
  const reader = new SshReader(blob);
  const algorithm = reader.string().toString('latin1');
  const signature = reader.string();
  const rest = application === null ? null : { flags: reader.bytes(1), counter: reader.bytes(4) };
  if (!reader.ended || signature.length === 0) return false;
  let signed = data;
  if (application !== null && rest !== null) {
    if (((rest.flags[0] ?? 0) & touched) === 0) return false;
    const parts = [hash('sha256', application, 'buffer'), rest.flags, rest.counter];
    signed = Buffer.concat([...parts, hash('sha256', data, 'buffer')]);
  }
  if (type === 'ssh-rsa') {
    const digest = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' }[algorithm];
    return digest !== undefined && verify(digest, signed, key, signature);
  }
  if (algorithm !== type) return false;
  if (curve === null) return signature.length === 64 && verify(null, signed, key, signature);
  const pair = new SshReader(signature);
  const [r, s] = [pair.mpint(), pair.mpint()];
  if (!pair.ended || r === null || s === null || r.length > curve.bytes || s.length > curve.bytes)
    return false;
  const fixed = Buffer.alloc(2 * curve.bytes);
  r.copy(fixed, curve.bytes - r.length);
  s.copy(fixed, 2 * curve.bytes - s.length);
  return verify(curve.digest, signed, { key, dsaEncoding: 'ieee-p1363' }, fixed);
}

/** `uint32 length, bytes` (RFC 4251 §5). */
export function sshString(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads SSH wire types. After a length beyond the end every read is empty, and `ended` is false. */
class SshReader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Buffer) {
    this.#data = data;
  }

  bytes(length: number): Buffer {
    const end = this.#at + length;
    const found = end > this.#data.length ? Buffer.alloc(0) : this.#data.subarray(this.#at, end);
    this.#at = end > this.#data.length ? Infinity : end;
    return found;
  }

  uint32(): number {
    const bytes = this.bytes(4);
    return bytes.length === 4 ? bytes.readUInt32BE() : 0;
  }

  string(): Buffer {
    return this.bytes(this.uint32());
  }

  /** A positive integer in its shortest form, without the sign byte; null for another one. */
  mpint(): Buffer | null {
    const bytes = this.string();
    const [first = 0, second = 0] = bytes;
    if (bytes.length === 0 || first >= 0x80) return null;
    if (first !== 0) return bytes;
    return bytes.length > 1 && second >= 0x80 ? bytes.subarray(1) : null;
  }

  get ended(): boolean {
    return this.#at === this.#data.length;
  }
}
