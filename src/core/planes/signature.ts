/**
 * Signatures of messages from data planes (contract B10-B12): HMAC-SHA-256 (RFC 2104) over `<timestamp>.<JCS of the body>`
 * as lower-case hex, with POSIX seconds in ten digits. Secrets have the form of Standard Webhooks.
 * Proven by `test/core/planes/signature.test.ts`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';

const secretBytes = 32;
const secretPrefix = 'whsec_';

/** Returns a signing secret for display: `whsec_` and 32 bytes in base64. Throws for another length: a bug. */
export function newSigningSecret(random32: Uint8Array): string {
  if (random32.length !== secretBytes) throw new Error(`expected 32 random bytes, got ${random32.length}`);
  return secretPrefix + encodeBase64(random32);
}

/** Returns the 32 bytes of the HMAC key. Throws VALIDATION_ERROR without the text, which is a secret. */
export function parseSigningSecret(text: string): Buffer {
  const bytes = text.startsWith(secretPrefix) ? decodeBase64(text.slice(secretPrefix.length)) : null;
  if (bytes?.length === secretBytes) return bytes;
  const detail =
    'signing secret: expected whsec_ and 32 bytes in base64, got another text; copy it unchanged';
  throw new GovError('VALIDATION_ERROR', detail);
}

const timestampForm = /^[0-9]{10}$/;

/** Returns 64 lower-case hex digits. `secret`: decoded bytes; `canonical`: JCS of the body, '' for an empty one. */
export function signTelemetry(secret: Uint8Array, timestamp: string, canonical: string): string {
  if (!timestampForm.test(timestamp)) throw new Error(`expected seconds in ten digits, got ${timestamp}`);
  return macOf(secret, timestamp, canonical).toString('hex');
}

export interface TelemetryMessage {
  /** Decoded; the current secret, and the previous one while it is valid. */
  readonly secrets: readonly Uint8Array[];
  /** Header value, unchanged. */
  readonly timestamp: string;
  /** Header value, unchanged: one to three values, `v1=` and hex or plain hex, separated by commas or spaces. */
  readonly signature: string;
  readonly canonical: string;
}

/**
 * Returns whether one of the values is a signature by one of the secrets; malformed values are skipped. More than three
 * values, or a malformed timestamp, give false. Attacker controlled except the secrets; never throws. Constant time in
 * the values. Cost: one HMAC for each secret.
 */
export function verifyTelemetry({ secrets, timestamp, signature, canonical }: TelemetryMessage): boolean {
  if (!timestampForm.test(timestamp) || signature.length > limits.signatureHeaderChars) return false;
  const values = signature.split(/[, ]+/).filter((value) => value !== '');
  if (values.length > limits.signatureValues) return false;
  const sent = values.map(parseSignature).filter((mac) => mac !== null);
  let matches = false;
  for (const secret of secrets) {
    const expected = macOf(secret, timestamp, canonical);
    for (const mac of sent) matches = timingSafeEqual(mac, expected) || matches;
  }
  return matches;
}

const signatureForm = /^(?:v1=)?([0-9a-f]{64})$/;

function parseSignature(value: string): Buffer | null {
  const [, hex] = signatureForm.exec(value) ?? [];
  return hex === undefined ? null : Buffer.from(hex, 'hex');
}

const macOf = (secret: Uint8Array, timestamp: string, canonical: string): Buffer =>
  createHmac('sha256', secret).update(`${timestamp}.${canonical}`).digest();

/**
 * Throws TIMESTAMP_OUT_OF_RANGE for a header time further than `limits.telemetrySkewSeconds` from now, or for another form
 * than ten digits, such as milliseconds. The extensions `serverTime` (POSIX seconds) and `toleranceSeconds` help a sender
 * with a wrong clock.
 */
export function checkTelemetryTime(timestamp: string, nowMs: number): void {
  const serverTime = Math.floor(nowMs / 1000);
  const toleranceSeconds = limits.telemetrySkewSeconds;
  const seconds = timestampForm.test(timestamp) ? Number(timestamp) : NaN;
  if (Math.abs(seconds - serverTime) <= toleranceSeconds) return;
  const detail =
    `x-telemetry-timestamp: expected POSIX seconds in ten digits within ${toleranceSeconds} s of ${serverTime}, ` +
    `got ${JSON.stringify(timestamp.slice(0, limits.echoChars))}; set the clock of the sender`;
  throw new GovError('TIMESTAMP_OUT_OF_RANGE', detail, { extensions: { serverTime, toleranceSeconds } });
}
