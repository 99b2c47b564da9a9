/**
 * When a credential is good for what it is shown for (contract B5, B8, M6): judged where a request comes in, by what is
 * remembered for some seconds, and again in the transaction of what must not outlive it.
 * Proven by `test/http/admit/credentials.test.ts`, `test/store/suite/tenancy/callers.ts` and `test/service/access/callers.test.ts`.
 */
import { GovError } from '../contract/problems.ts';

export interface KeyLife {
  /** When it was changed last, its revocation included. */
  readonly updatedMs: number;
  /** May lie ahead: a rotated key works until then. */
  readonly revokedMs: number | null;
}

/**
 * Whether a key is revoked at a time of this machine's clock. One that was revoked at once, and not for a later time, is
 * so whatever that clock says: another process may have done it by a clock that is ahead.
 */
export const isRevoked = ({ revokedMs, updatedMs }: KeyLife, atMs: number): boolean =>
  revokedMs !== null && (revokedMs <= atMs || revokedMs <= updatedMs);

/** Tells nothing of what came. */
export const refusedCredential = (): GovError => new GovError('INVALID_CREDENTIAL', refusedDetail);
const refusedDetail = 'expected a valid credential, got one that is unknown, revoked or expired';

/** Whether these scopes hold another one. */
export const holds = (scopes: readonly string[], scope: string): boolean =>
  scopes.includes(scope) || scopes.includes('*');

/** INSUFFICIENT_SCOPE, naming what is wanted and not held. */
export function requireScopes(held: readonly string[], wanted: readonly string[]): void {
  const missing = [...new Set(wanted)].filter((scope) => !holds(held, scope));
  const [first] = missing;
  if (first === undefined) return;
  const detail =
    `expected at most the scopes of the credential that asks, which lacks ${missing.join(', ')}; ` +
    'leave them out, or ask with a credential that has them';
  throw new GovError('INSUFFICIENT_SCOPE', detail, {
    extensions: { requiredScope: first, missingScopes: missing },
  });
}
