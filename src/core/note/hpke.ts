/**
 * Hybrid public key encryption with a shared secret that authenticates the sender: HPKE (RFC 9180), mode_psk, one message
 * for each encapsulated key, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. What is sealed can be opened by the
 * holder of the private key alone, and was sealed by somebody who has the shared secret.
 * Node has no HPKE. The package `@hpke/core` is asynchronous throughout, which all of enrolment would have to become.
 * Proven by `test/core/note/hpke.test.ts` (RFC 9180 A.1.2).
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
} from 'node:crypto';

/** Of both halves of a key pair, and of the encapsulated key. */
const hpkeKeyBytes = 32;
const hashBytes = 32;
const keyBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
/** Of the shared secret, at least (RFC 9180 §9.5). */
const pskBytes = 32;

const kem = Buffer.from('KEM\x00\x20', 'latin1');
const suite = Buffer.from('HPKE\x00\x20\x00\x01\x00\x01', 'latin1');
const modePsk = Buffer.of(1);

/** What both sides know. */
export interface HpkeContext {
  /** What it is for. */
  readonly info: string;
  /** 32 bytes or more that nobody else knows. */
  readonly psk: Uint8Array;
  /** Which one it is. */
  readonly pskId: string;
  /** What is authenticated beside the message. */
  readonly aad: string;
}

export interface HpkeMessage {
  /** The encapsulated key. */
  readonly enc: Buffer;
  /** The message and 16 bytes of tag. */
  readonly ciphertext: Buffer;
}

/** The public half of an X25519 key, 32 bytes each. */
export const hpkePublicKey = (privateKey: Uint8Array): Buffer =>
  rawPublic(createPublicKey(secretKey(privateKey)));

/**
 * Seals to a public key, which an attacker may have chosen; throws where it is no point of use. `ephemeral`: 32 random
 * bytes, of use once. Cost: about 0.1 ms.
 */
export function hpkeSeal(
  message: string,
  {
    publicKey,
    ephemeral,
    ...context
  }: HpkeContext & { readonly publicKey: Uint8Array; readonly ephemeral: Uint8Array },
): HpkeMessage {
  const enc = hpkePublicKey(ephemeral);
  const shared = sharedSecret({ own: ephemeral, other: publicKey, enc, recipient: publicKey });
  const { key, nonce } = schedule(shared, context);
  const cipher = createCipheriv('aes-128-gcm', key, nonce).setAAD(Buffer.from(context.aad));
  const ciphertext = Buffer.concat([cipher.update(message, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { enc, ciphertext };
}

/** The message, or null where any part of it is another than was sealed. An attacker controls what is opened. */
export function hpkeOpen(
  { enc, ciphertext }: { readonly enc: Uint8Array; readonly ciphertext: Uint8Array },
  { privateKey, ...context }: HpkeContext & { readonly privateKey: Uint8Array },
): string | null {
  if (enc.length !== hpkeKeyBytes || ciphertext.length < tagBytes) return null;
  const at = ciphertext.length - tagBytes;
  try {
    const recipient = hpkePublicKey(privateKey);
    const { key, nonce } = schedule(sharedSecret({ own: privateKey, other: enc, enc, recipient }), context);
    const opened = createDecipheriv('aes-128-gcm', key, nonce)
      .setAAD(Buffer.from(context.aad))
      .setAuthTag(ciphertext.subarray(at));
    return Buffer.concat([opened.update(ciphertext.subarray(0, at)), opened.final()]).toString('utf8');
  } catch {
    return null;
  }
}

interface Agreement {
  readonly own: Uint8Array;
  readonly other: Uint8Array;
  readonly enc: Uint8Array;
  readonly recipient: Uint8Array;
}

/** Encap and Decap (§4.1); OpenSSL refuses what agrees on zero. */
function sharedSecret({ own, other, enc, recipient }: Agreement): Buffer {
  const dh = diffieHellman({ privateKey: secretKey(own), publicKey: publicKeyOf(other) });
  const extracted = labeledExtract(kem, { salt: Buffer.alloc(0), label: 'eae_prk', ikm: dh });
  const info = Buffer.concat([enc, recipient]);
  return labeledExpand(kem, { prk: extracted, label: 'shared_secret', info, length: hashBytes });
}

/** KeySchedule (§5.1) as far as one message needs it. */
function schedule(shared: Buffer, { info, psk, pskId }: HpkeContext): { key: Buffer; nonce: Buffer } {
  if (psk.length < pskBytes || pskId === '')
    throw new Error(`expected a secret of ${pskBytes} bytes with an id`);
  const none = Buffer.alloc(0);
  const idHash = labeledExtract(suite, { salt: none, label: 'psk_id_hash', ikm: Buffer.from(pskId) });
  const infoHash = labeledExtract(suite, { salt: none, label: 'info_hash', ikm: Buffer.from(info) });
  const context = Buffer.concat([modePsk, idHash, infoHash]);
  const prk = labeledExtract(suite, { salt: shared, label: 'secret', ikm: psk });
  const expanded = (label: string, length: number): Buffer =>
    labeledExpand(suite, { prk, label, info: context, length });
  return { key: expanded('key', keyBytes), nonce: expanded('base_nonce', nonceBytes) };
}

const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
};

/** §4: HKDF-Extract (RFC 5869) with a label. */
const labeledExtract = (
  suiteId: Buffer,
  { salt, label, ikm }: { readonly salt: Buffer; readonly label: string; readonly ikm: Uint8Array },
): Buffer => hmac(salt, Buffer.from('HPKE-v1'), suiteId, Buffer.from(label), ikm);

/** §4: HKDF-Expand with a label, of at most one hash. */
const labeledExpand = (
  suiteId: Buffer,
  {
    prk,
    label,
    info,
    length,
  }: { readonly prk: Buffer; readonly label: string; readonly info: Buffer; readonly length: number },
): Buffer =>
  hmac(
    prk,
    Buffer.of(0, length),
    Buffer.from('HPKE-v1'),
    suiteId,
    Buffer.from(label),
    info,
    Buffer.of(1),
  ).subarray(0, length);

/** The fixed beginnings of X25519 keys in DER (RFC 8410). */
const secretDer = Buffer.from('302e020100300506032b656e04220420', 'hex');
const publicDer = Buffer.from('302a300506032b656e032100', 'hex');

const secretKey = (raw: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([secretDer, sized(raw)]), format: 'der', type: 'pkcs8' });
const publicKeyOf = (raw: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicDer, sized(raw)]), format: 'der', type: 'spki' });
const rawPublic = (key: KeyObject): Buffer =>
  key.export({ format: 'der', type: 'spki' }).subarray(publicDer.length);

function sized(raw: Uint8Array): Uint8Array {
  if (raw.length === hpkeKeyBytes) return raw;
  throw new Error(`expected a key of ${hpkeKeyBytes} bytes, got ${raw.length}`);
}
