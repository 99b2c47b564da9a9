/**
 * The check of the caller's credential inside the transaction of a change.
 * A process trusts a credential for some seconds after it looked the credential up. Some changes must not
 * outlive the credential of their caller: those that create, change or end credentials, change projects, or
 * decide approvals. For these the store reads the credential's row again in the transaction and judges it. If
 * another process ends or narrows the credential first, the store refuses the change; otherwise the change
 * comes first.
 * Proven by `test/store/suite/tenancy/callers.ts` and `test/store/postgres/callers.test.ts`.
 */
import { isRevoked, refusedCredential, requireScopes, type KeyLife } from '../../core/credential.ts';

/** The credential as the store knows it: the SHA-256 of a key, or of the token of a session. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly digest: Uint8Array;
}

/**
 * Refuses with INVALID_CREDENTIAL if the credential is unknown, revoked, ended or expired at `atMs`, or if
 * its project is deleted. Refuses with INSUFFICIENT_SCOPE if it lacks one of these scopes. This effect comes
 * before the effects that need it.
 */
export interface RequiredCaller {
  readonly kind: 'requireCaller';
  readonly credential: Credential;
  /** All scopes that the change needs: those of the operation, and those that it grants to others. */
  readonly scopes: readonly string[];
  readonly atMs: number;
}

/** The parts of a credential that decide, read in the transaction. */
export type CallerState =
  | (KeyLife & {
      readonly kind: 'key';
      readonly scopes: readonly string[];
      readonly expiresMs: number | null;
      /** When its project was deleted. */
      readonly deletedMs: number | null;
    })
  /** A person has every scope. */
  | { readonly kind: 'session'; readonly expiresMs: number; readonly endedMs: number | null };

/** `state`: null if the credential is unknown. Throws INVALID_CREDENTIAL and INSUFFICIENT_SCOPE. */
export function judgeCaller(state: CallerState | null, { scopes, atMs }: RequiredCaller): void {
  if (state === null || hasEnded(state, atMs)) throw refusedCredential();
  if (state.kind === 'key') requireScopes(state.scopes, scopes);
}

function hasEnded(state: CallerState, atMs: number): boolean {
  if (state.expiresMs !== null && state.expiresMs <= atMs) return true;
  if (state.kind === 'session') return state.endedMs !== null;
  return state.deletedMs !== null || isRevoked(state, atMs);
}

/** A row of `api_key`, joined with the profile of its project if there is one. */
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

/** A row of `session`. */
export interface CallerSessionRow {
  expires_ms: number;
  ended_ms: number | null;
}

export const callerSessionOf = (row: CallerSessionRow): CallerState => ({
  kind: 'session',
  expiresMs: row.expires_ms,
  endedMs: row.ended_ms,
});
