/**
 * The validity of a credential: revocation and scopes (contract B5, B8, M6). The service checks it when a request arrives,
 * with data cached for seconds, and again in the transaction of a write that must not outlive it.
 * Proven by `test/http/admit/credentials.test.ts`, `test/store/suite/tenancy/callers.ts` and
 * `test/service/access/callers.test.ts`.
 */
import { GovError } from '../contract/problems.ts';

export interface KeyLife {
  /** When the key was last changed, including its revocation. */
  readonly updatedMs: number;
  /** May be in the future: a rotated key works until then. */
  readonly revokedMs: number | null;
}

/**
 * Returns whether a key is revoked at a time of the local clock. A key that was revoked immediately counts as revoked
 * whatever this clock shows, because the clock of the revoking process may be ahead.
 */
export const isRevoked = ({ revokedMs, updatedMs }: KeyLife, atMs: number): boolean =>
  revokedMs !== null && (revokedMs <= atMs || revokedMs <= updatedMs);

/** Returns the refusal of a credential; it reveals nothing about the reason. */
export const refusedCredential = (): GovError => new GovError('INVALID_CREDENTIAL', refusedDetail);
const refusedDetail = 'expected a valid credential, got one that is unknown, revoked or expired';

/** Returns whether these scopes contain another one. */
export const holds = (scopes: readonly string[], scope: string): boolean =>
  scopes.includes(scope) || scopes.includes('*');

/** Throws INSUFFICIENT_SCOPE with the missing scopes. */
export function requireScopes(held: readonly string[], wanted: readonly string[]): void {
  const missing = [...new Set(wanted)].filter((scope) => !holds(held, scope));
  const [first] = missing;
  if (first === undefined) return;
  const detail =
    `expected at most the scopes of the calling credential, which lacks ${missing.join(', ')}; ` +
    'omit them, or call with a credential that has them';
  throw new GovError('INSUFFICIENT_SCOPE', detail, {
    extensions: { requiredScope: first, missingScopes: missing },
  });
}
