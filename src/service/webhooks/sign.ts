/**
 * Signatures of Standard Webhooks 1.0.0: HMAC-SHA-256 over `<id>.<seconds>.<body>`, base64 after `v1,`. A message has
 * one signature for each valid secret. Proven by `test/service/webhooks/sign.test.ts` against the reference library.
 */
import { createHmac } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

export const newSecret = (randomBytes: (size: number) => Buffer): string =>
  prefix + randomBytes(secretBytes).toString('base64');

export interface Message {
  readonly id: string;
  readonly seconds: number;
  readonly body: string;
}

/** The three headers. `secrets`: `whsec_` and base64. */
export function signatureHeaders(
  { id, seconds, body }: Message,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signed = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signed.join(' '),
  };
}
