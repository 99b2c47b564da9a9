/**
 * The two headers of messages of data planes (contract B10-B12): looked at once a body is strict JSON, and before its
 * schema is. The signature is over the body as RFC 8785 writes it, so that a sender may spell it as it likes, and no two
 * bodies that are read alike differ in what was signed. Proven by `test/http/admit/signed.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { telemetryHeaders } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { checkTelemetryTime, verifyTelemetry } from '../../core/plane/signature.ts';
import type { Caller } from '../../service/call/handler.ts';
import { Denied } from '../../service/access/shown.ts';

/** A message as it came; all of it is an attacker's until it is verified. */
interface Message {
  readonly headers: IncomingHttpHeaders;
  /** Strict JSON. */
  readonly body: unknown;
  readonly nowMs: number;
}

/**
 * The canonical text of a body that the caller signed. INVALID_SIGNATURE, TIMESTAMP_OUT_OF_RANGE with the server's time;
 * the project of the data plane may be told. Cost: RFC 8785 of the body, and one HMAC for each secret that works.
 */
export function requireSigned(caller: Caller, message: Message): string {
  try {
    return verified(caller, message);
  } catch (error) {
    throw error instanceof GovError && error.status === 401 ? new Denied(caller, error) : error;
  }
}

function verified({ plane }: Caller, { headers, body, nowMs }: Message): string {
  if (plane === undefined) throw new Error('only data planes sign what they send');
  const signature = header(headers, telemetryHeaders.signature, signatureForm);
  const timestamp = header(headers, telemetryHeaders.timestamp, timestampForm);
  checkTelemetryTime(timestamp, nowMs);
  // strict parsing answers nothing else
  const canonical = body === undefined ? '' : canonicalize(body as Json);
  const secrets = plane.secrets(nowMs);
  if (verifyTelemetry({ secrets, timestamp, signature, canonical })) return canonical;
  const detail =
    `${telemetryHeaders.signature}: expected HMAC-SHA-256 over <timestamp>.<body>, the body as RFC 8785 writes it, ` +
    'under the signing secret of the data plane, got another one; check the secret, and what is signed';
  throw new GovError('INVALID_SIGNATURE', detail);
}

interface Form {
  readonly pattern: RegExp;
  readonly expected: string;
}

const value = '(?:v1=)?[0-9a-f]{64}';
const signatureForm: Form = {
  pattern: new RegExp(`^ *${value}(?:[, ]+${value}){0,${limits.signatureValues - 1}}[, ]*$`),
  expected: `1 to ${limits.signatureValues} signatures, each 64 lower-case hex digits, apart by commas`,
};
const timestampForm: Form = { pattern: /^[0-9]{10}$/, expected: 'Unix seconds in ten digits' };

function header(headers: IncomingHttpHeaders, name: string, { pattern, expected }: Form): string {
  const sent = headers[name];
  const text = sent === undefined ? '' : String(sent);
  if (text.length <= limits.signatureHeaderChars && pattern.test(text)) return text;
  const came = sent === undefined ? 'none' : `${text.length} other characters`;
  throw new GovError('INVALID_SIGNATURE', `${name}: expected ${expected}, got ${came}`);
}
