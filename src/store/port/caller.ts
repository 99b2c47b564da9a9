/**
 * Who asks for a change that must not outlive the credential it is asked with: what makes, changes or ends credentials,
 * changes projects, decides approvals. A process believes a credential for some seconds after it was looked up, so it is
 * judged once more in the transaction of the change, by its row as it stands there. Whoever ends or narrows the
 * credential meanwhile is either before that, and the change is refused, or after it.
 * Proven by `test/store/suite/tenancy/callers.ts` and `test/store/postgres/callers.test.ts`.
 */
import { isRevoked, refusedCredential, requireScopes, type KeyLife } from '../../core/credential.ts';

/** As the store knows it: SHA-256 of a key, or of the token of a session. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly digest: Uint8Array;
}

/**
 * Refused with INVALID_CREDENTIAL where the credential is unknown, revoked, ended, expired at `atMs`, or of a project that
 * is deleted; INSUFFICIENT_SCOPE where it lacks one of these scopes. It stands before the effects that it is asked for.
 */
export interface RequiredCaller {
  readonly kind: 'requireCaller';
  readonly credential: Credential;
  /** All that the change relies on: of the operation, and what it gives to others. */
  readonly scopes: readonly string[];
  readonly atMs: number;
}

/** What of a credential decides, of the moment of the transaction. */
export type CallerState =
  | (KeyLife & {
      readonly kind: 'key';
      readonly scopes: readonly string[];
      readonly expiresMs: number | null;
      /** Of its project. */
      readonly deletedMs: number | null;
    })
  /** A person has every scope. */
  | { readonly kind: 'session'; readonly expiresMs: number; readonly endedMs: number | null };

/** `state`: null where the credential is unknown. */
export function judgeCaller(state: CallerState | null, { scopes, atMs }: RequiredCaller): void {
  if (state === null || hasEnded(state, atMs)) throw refusedCredential();
  if (state.kind === 'key') requireScopes(state.scopes, scopes);
}

function hasEnded(state: CallerState, atMs: number): boolean {
  if (state.expiresMs !== null && state.expiresMs <= atMs) return true;
  if (state.kind === 'session') return state.endedMs !== null;
  return state.deletedMs !== null || isRevoked(state, atMs);
}

/** Of a row of `api_key` with the profile of its project, if it has one. */
export interface CallerKeyRow {
  key_id: string;
  scopes: string;
  updated_ms: number;
  expires_ms: number | null;
  revoked_ms: number | null;
  deleted_ms: number | null;
}

export const callerKeyOf = (row: CallerKeyRow): Extract<CallerState, { kind: 'key' }> => ({
  kind: 'key',
  scopes: JSON.parse(row.scopes) as string[],
  updatedMs: row.updated_ms,
  expiresMs: row.expires_ms,
  revokedMs: row.revoked_ms,
  deletedMs: row.deleted_ms,
});

/** Of a row of `session`. */
export interface CallerSessionRow {
  expires_ms: number;
  ended_ms: number | null;
}

export const callerSessionOf = (row: CallerSessionRow): CallerState => ({
  kind: 'session',
  expiresMs: row.expires_ms,
  endedMs: row.ended_ms,
});
