/**
 * Run tokens: a credential that is good for one run. `gov run` makes one from its API key; a server checks it with a key
 * that it derived from that API key, and keeps no state of the token.
 *
 *   gov_run_KEYID.CLAIMS.MAC
 *   CLAIMS  base64url of {"r": run, "p": project, "e": Unix ms of its end, "s": scopes}
 *   MAC     base64url of HMAC-SHA-256 (RFC 2104) under the run key, over "gov.runtoken/1\n" KEYID "\n" CLAIMS
 *   run key HMAC-SHA-256 under the API key, over "gov.runkey/1": it follows from the API key, and not from its hash
 *
 * Proven by `test/core/run-token.test.ts`.
 */
import { createHmac } from 'node:crypto';
import { isReservedRun } from '../contract/system-runs.ts';
import { clientIdPattern } from '../contract/text-patterns.ts';
import { equalHash } from './hash.ts';
import { isObject } from './json/object.ts';
import { canonicalize, parseJson, type Json } from './json/parse.ts';

/** A run token has no other scopes, whatever its key has. */
export const runScopes = ['tools:evaluate', 'events:write'] as const;

export interface RunClaims {
  readonly runId: string;
  /** The project of the key, which a server needs to look the key up. */
  readonly projectId: string;
  /** Unix milliseconds. */
  readonly expiresMs: number;
  readonly scopes: readonly string[];
}

export interface RunToken extends RunClaims {
  readonly keyId: string;
  /** Whether the API key with this run key (32 bytes) made the token. Nothing else here is known to be true before. */
  isOf(runKey: Uint8Array): boolean;
}

const runIdPattern = new RegExp(clientIdPattern);
const pattern = /^gov_run_(key_[0-7][0-9a-hjkmnp-tv-z]{25})\.([A-Za-z0-9_-]{1,2048})\.([A-Za-z0-9_-]{43})$/;

export const isRunToken = (token: string): boolean => token.startsWith('gov_run_');

/** The run key of an API key, 32 bytes. */
export const runKeyOf = (key: string): Buffer => createHmac('sha256', key).update('gov.runkey/1').digest();

/** Makes a token with an API key. */
export function createRunToken(
  { keyId, key }: { readonly keyId: string; readonly key: string },
  { runId, projectId, expiresMs, scopes }: RunClaims,
): string {
  const text = canonicalize({ r: runId, p: projectId, e: expiresMs, s: [...scopes] });
  const claims = Buffer.from(text).toString('base64url');
  return `gov_run_${keyId}.${claims}.${macOf(runKeyOf(key), keyId, claims).toString('base64url')}`;
}

/** Returns the token with its claims, or null for any other text. Attacker controlled. Cost: 10 µs. */
export function readRunToken(token: string): RunToken | null {
  const [, keyId, encoded, mac] = pattern.exec(token) ?? [];
  if (keyId === undefined || encoded === undefined || mac === undefined) return null;
  const claims = readClaims(encoded);
  if (claims === null) return null;
  const isOf = (runKey: Uint8Array): boolean =>
    equalHash(macOf(runKey, keyId, encoded), Buffer.from(mac, 'base64url'));
  return { ...claims, keyId, isOf };
}

const macOf = (runKey: Uint8Array, keyId: string, claims: string): Buffer =>
  createHmac('sha256', runKey).update(`gov.runtoken/1\n${keyId}\n${claims}`).digest();

function readClaims(encoded: string): RunClaims | null {
  let claims: Json;
  try {
    claims = parseJson(Buffer.from(encoded, 'base64url'));
  } catch {
    return null;
  }
  if (!isObject(claims)) return null;
  const { r: runId, p: projectId, e: expiresMs, s: scopes } = claims;
  if (typeof runId !== 'string' || typeof projectId !== 'string') return null;
  // no schema checks a run that a request does not name
  if (!runIdPattern.test(runId) || isReservedRun(runId)) return null;
  if (!Number.isSafeInteger(expiresMs) || typeof expiresMs !== 'number' || !Array.isArray(scopes))
    return null;
  const known = runScopes.filter((scope) => scopes.includes(scope));
  return { runId, projectId, expiresMs, scopes: known };
}
