/**
 * Signatures of webhooks (Standard Webhooks 1.0.0): HMAC-SHA-256 over `<id>.<timestamp>.<body>`, in base64 after `v1,`.
 * Proven by `test/core/webhook/signature.test.ts` with the example of the specification.
 */
import { createHmac } from 'node:crypto';

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

/**
 * The headers of a message, with a signature for each key. `id` is the same on each attempt, the time is that of the
 * attempt.
 */
export function webhookHeaders(
  { id, body, nowMs }: { readonly id: string; readonly body: Uint8Array; readonly nowMs: number },
  keys: readonly Uint8Array[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = keys.map((key) => {
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${signature.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
