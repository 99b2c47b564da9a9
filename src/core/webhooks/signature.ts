/**
 * Signatures of webhooks (Standard Webhooks 1.0.0) over `<id>.<timestamp>.<body>`, in base64: HMAC-SHA-256 after `v1,`,
 * Ed25519 after `v1a,`. Proven by `test/core/webhooks/signature.test.ts` with vectors of Standard Webhooks and Svix.
 */
import { createHmac, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';

const prefix = 'whsec_';
/** Bytes of a secret, by the specification. */
const [least, most] = [24, 64];
/** Bytes of a secret that we make. */
const ownBytes = 32;

export const newWebhookSecret = (randomBytes: (size: number) => Buffer): string =>
  prefix + randomBytes(ownBytes).toString('base64');

/** The key in a secret, `whsec_` and 24 to 64 bytes in base64; null for another text. */
export function webhookKey(secret: string): Uint8Array | null {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  const key = Buffer.from(text, 'base64');
  // Buffer.from skips what is no base64
  const isExact = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return isExact && key.length >= least && key.length <= most ? key : null;
}

const [privatePrefix, publicPrefix] = ['whsk_', 'whpk_'];
const seedBytes = 32;
/** A PKCS #8 key of Ed25519 without its seed (RFC 8410). */
const seedDer = Buffer.from('302e020100300506032b657004220420', 'hex');
/** The bytes of SubjectPublicKeyInfo before the key. */
const publicDerBytes = 12;

const keyOfSeed = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([seedDer, seed]), format: 'der', type: 'pkcs8' });

/** A key pair for `v1a`: `secret` is `whsk_` and seed, then public key; `publicKey` is `whpk_` and the public key. */
export function newWebhookKeyPair(randomBytes: (size: number) => Buffer): {
  readonly secret: string;
  readonly publicKey: string;
} {
  const seed = randomBytes(seedBytes);
  const der = createPublicKey(keyOfSeed(seed)).export({ format: 'der', type: 'spki' });
  const own = der.subarray(publicDerBytes);
  return {
    secret: privatePrefix + Buffer.concat([seed, own]).toString('base64'),
    publicKey: publicPrefix + own.toString('base64'),
  };
}

/** What signs a message: the key of a `whsec_` or of a `whsk_`; null for another text. */
export function webhookSigner(secret: string): Uint8Array | KeyObject | null {
  if (!secret.startsWith(privatePrefix)) return webhookKey(secret);
  const pair = Buffer.from(secret.slice(privatePrefix.length), 'base64');
  return pair.length === 2 * seedBytes ? keyOfSeed(pair.subarray(0, seedBytes)) : null;
}

/**
 * The headers of a message, with a signature for each key. `id` is the same on each attempt, the time is that of the
 * attempt.
 */
export function webhookHeaders(
  { id, body, nowMs }: { readonly id: string; readonly body: Uint8Array; readonly nowMs: number },
  keys: readonly (Uint8Array | KeyObject)[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = keys.map((key) =>
    key instanceof Uint8Array
      ? `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
      : `v1a,${sign(null, signed, key).toString('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
