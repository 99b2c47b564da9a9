/**
 * Signatures of telemetry messages (contract B10-B12): HMAC-SHA-256 (RFC 2104) over `<timestamp>.<JCS of the body>`,
 * where the timestamp is POSIX seconds in ten digits, as lower-case hex. Secrets have the form of Standard Webhooks.
 * Proven by `test/core/plane/signature.test.ts`.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';

const secretBytes = 32;
const secretPrefix = 'whsec_';

/** A signing secret as it is shown once: `whsec_` and 32 bytes in base64. Other lengths are a bug and throw. */
export function newSigningSecret(random32: Uint8Array): string {
  if (random32.length !== secretBytes) throw new Error(`expected 32 random bytes, got ${random32.length}`);
  return secretPrefix + encodeBase64(random32);
}

/** The 32 bytes that are the key of the HMAC. VALIDATION_ERROR, which tells nothing of what came. */
export function parseSigningSecret(text: string): Buffer {
  const bytes = text.startsWith(secretPrefix) ? decodeBase64(text.slice(secretPrefix.length)) : null;
  if (bytes?.length === secretBytes) return bytes;
  const detail =
    'signing secret: expected whsec_ and 32 bytes in base64, got another text; copy it as it was shown';
  throw new GovError('VALIDATION_ERROR', detail);
}

const timestampForm = /^[0-9]{10}$/;

/** 64 lower-case hex digits. `secret` are decoded bytes; `canonical` is the JCS of the body, '' for an empty one. */
export function signTelemetry(secret: Uint8Array, timestamp: string, canonical: string): string {
  if (!timestampForm.test(timestamp)) throw new Error(`expected seconds in ten digits, got ${timestamp}`);
  return macOf(secret, timestamp, canonical).toString('hex');
}

export interface TelemetryMessage {
  /** Decoded; the current one, and the one before while it is valid. */
  readonly secrets: readonly Uint8Array[];
  /** Of the header, as it came. */
  readonly timestamp: string;
  /** Of the header, as it came: one to three values, `v1=` and hex or plain hex, between commas or spaces. */
  readonly signature: string;
  readonly canonical: string;
}

/**
 * Whether one of the values is the signature by one of the secrets; values of another form are passed over. More values
 * than three, or a timestamp of another form, give false. An attacker may control all but the secrets; never throws.
 * Takes the same time wherever values differ. Cost: one HMAC for each secret.
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
 * Refuses a header time further than `limits.telemetrySkewSeconds` from now, either way, with TIMESTAMP_OUT_OF_RANGE;
 * the extensions `serverTime` (POSIX seconds) and `toleranceSeconds` let a sender with a wrong clock help itself. Another
 * form than ten digits, such as milliseconds, is refused alike.
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
