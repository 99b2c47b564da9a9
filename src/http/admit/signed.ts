/**
 * The two signature headers of messages from data planes (contract B10-B12), checked after strict parsing and
 * before the schema. The signature covers the body in RFC 8785 form: a sender may format the body freely, and
 * equal bodies have equal signatures. Proven by `test/http/admit/signed.test.ts`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { telemetryHeaders } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { checkTelemetryTime, verifyTelemetry } from '../../core/planes/signature.ts';
import type { Caller } from '../../service/call/caller.ts';
import { DenialError } from '../../service/credentials/shown.ts';

/** A message as received. An attacker controls all of it until its signature is verified. */
interface Message {
  readonly headers: IncomingHttpHeaders;
  /** The result of strict parsing. */
  readonly body: unknown;
  readonly nowMs: number;
}

/**
 * The canonical text of the body that the caller signed. INVALID_SIGNATURE, or TIMESTAMP_OUT_OF_RANGE with
 * the server's time; both are reported to the plane's project. Cost: RFC 8785 of the body, and one HMAC for
 * each valid secret.
 */
export function requireSigned(caller: Caller, message: Message): string {
  try {
    return verified(caller, message);
  } catch (error) {
    throw error instanceof GovError && error.status === 401 ? new DenialError(caller, error) : error;
  }
}

function verified({ plane }: Caller, { headers, body, nowMs }: Message): string {
  if (plane === undefined) throw new Error('expected a data plane, got another caller of a signed operation');
  const signature = header(headers, telemetryHeaders.signature, signatureForm);
  const timestamp = header(headers, telemetryHeaders.timestamp, timestampForm);
  checkTelemetryTime(timestamp, nowMs);
  // strict parsing returns only JSON values
  const canonical = body === undefined ? '' : canonicalize(body as Json);
  const secrets = plane.secrets(nowMs);
  if (verifyTelemetry({ secrets, timestamp, signature, canonical })) return canonical;
  const detail =
    `${telemetryHeaders.signature}: expected HMAC-SHA-256 over <timestamp>.<body>, the body as RFC 8785 writes it, ` +
    'under the signing secret of the data plane, got another one; check the secret and the signed text';
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
