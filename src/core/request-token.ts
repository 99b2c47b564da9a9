/**
 * Request tokens: a credential that is good for one request. It proves an API key without sending it, and the answer
 * proves the plane, so that another program at the address of a plane learns no key and forges no answer.
 *
 *   gov_req_KEYID.CLAIMS.MAC
 *   CLAIMS  base64url of {"e": Unix ms of its end, "n": 16 random bytes, "p": project, "q": SHA-256 of the request}, base64url
 *   MAC     base64url of HMAC-SHA-256 (RFC 2104) under the run key (`run-token.ts`), over "gov.requesttoken/1\n" KEYID "\n" CLAIMS
 *   request "gov.request/1\n" METHOD "\n" TARGET "\n" IDEMPOTENCY-KEY "\n" SHA-256(body) in hex
 *   answer  "gov.answer/1\n" SHA-256(token) "\n" STATUS "\n" SHA-256(body), both in hex; signed with Ed25519 (RFC 8032) by
 *           each key of the log, base64url in the header Gov-Answer-Signature, separated by commas
 *
 * Proven by `test/core/request-token.test.ts`.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { equalHash, sha256 } from './hash.ts';
import { isObject } from './json/object.ts';
import { canonicalize, parseJson, type Json } from './json/parse.ts';
import { runKeyOf } from './run-token.ts';

/** A request as it is on the wire. */
export interface BoundRequest {
  readonly method: string;
  /** Path and query of the request line. */
  readonly target: string;
  readonly idempotencyKey: string | undefined;
  readonly body: Uint8Array;
}

interface RequestClaims {
  readonly projectId: string;
  readonly expiresMs: number;
}

export interface RequestToken extends RequestClaims {
  readonly keyId: string;
  readonly requestHash: Buffer;
  /** Whether the API key with this run key (32 bytes) made the token. Nothing else here is known to be true before. */
  isOf(runKey: Uint8Array): boolean;
}

export const answerHeader = 'gov-answer-signature';

const pattern = /^gov_req_(key_[0-7][0-9a-hjkmnp-tv-z]{25})\.([A-Za-z0-9_-]{1,1024})\.([A-Za-z0-9_-]{43})$/;

/** Makes a token with an API key. */
export function createRequestToken(
  { keyId, key }: { readonly keyId: string; readonly key: string },
  request: BoundRequest,
  { projectId, expiresMs }: RequestClaims,
): string {
  const [nonce, hash] = [randomBytes(16), hashOf(request)].map((bytes) => bytes.toString('base64url'));
  const text = canonicalize({ e: expiresMs, n: nonce ?? '', p: projectId, q: hash ?? '' });
  const claims = Buffer.from(text).toString('base64url');
  return `gov_req_${keyId}.${claims}.${macOf(runKeyOf(key), keyId, claims).toString('base64url')}`;
}

/** Returns the token with its claims, or null for any other text. Attacker controlled. Cost: 10 µs. */
export function readRequestToken(token: string): RequestToken | null {
  const [, keyId, encoded, mac] = pattern.exec(token) ?? [];
  if (keyId === undefined || encoded === undefined || mac === undefined) return null;
  const claims = readClaims(encoded);
  if (claims === null) return null;
  const isOf = (runKey: Uint8Array): boolean =>
    equalHash(macOf(runKey, keyId, encoded), Buffer.from(mac, 'base64url'));
  return { ...claims, keyId, isOf };
}

/** Whether a token is for this request. Attacker controlled. */
export const isBoundTo = (
  { requestHash }: Pick<RequestToken, 'requestHash'>,
  request: BoundRequest,
): boolean => equalHash(hashOf(request), requestHash);

/** The text that the log signs for an answer. It begins no note and no checkpoint, which have a name of the log first. */
export const answerText = (token: string, status: number, body: Uint8Array | string): Buffer =>
  Buffer.from(`gov.answer/1\n${sha256(token).toString('hex')}\n${status}\n${sha256(body).toString('hex')}`);

const macOf = (runKey: Uint8Array, keyId: string, claims: string): Buffer =>
  createHmac('sha256', runKey).update(`gov.requesttoken/1\n${keyId}\n${claims}`).digest();

function hashOf({ method, target, idempotencyKey = '', body }: BoundRequest): Buffer {
  return sha256(`gov.request/1\n${method}\n${target}\n${idempotencyKey}\n${sha256(body).toString('hex')}`);
}

function readClaims(encoded: string): Pick<RequestToken, 'projectId' | 'expiresMs' | 'requestHash'> | null {
  let claims: Json;
  try {
    claims = parseJson(Buffer.from(encoded, 'base64url'));
  } catch {
    return null;
  }
  if (!isObject(claims)) return null;
  const { p: projectId, e: expiresMs, q } = claims;
  if (typeof projectId !== 'string' || typeof expiresMs !== 'number' || typeof q !== 'string') return null;
  const requestHash = Buffer.from(q, 'base64url');
  return Number.isSafeInteger(expiresMs) && requestHash.length === 32
    ? { projectId, expiresMs, requestHash }
    : null;
}
