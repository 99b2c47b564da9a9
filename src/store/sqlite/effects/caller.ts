/**
 * Looks credentials up for `src/store/port/caller.ts`, which judges them.
 * Proven by `test/store/suite/tenancy/callers.ts`.
 */
import {
  callerKeyOf,
  callerSessionOf,
  type CallerKeyRow,
  type CallerSessionRow,
  type CallerState,
  type Credential,
} from '../../port/caller.ts';
import type { Prepare } from '../../file/statement.ts';

/** Returns the caller's state, or null for an unknown credential. */
export function callerReader(prepare: Prepare): (credential: Credential) => CallerState | null {
  const key = prepare<CallerKeyRow>(
    'find key of caller',
    `SELECT k.key_id, k.scopes, k.updated_ms, k.expires_ms, k.revoked_ms, f.deleted_ms
     FROM api_key k LEFT JOIN project_profile f USING (project) WHERE k.digest = ?`,
  );
  const session = prepare<CallerSessionRow>(
    'find session of caller',
    'SELECT expires_ms, ended_ms FROM session WHERE digest = ?',
  );
  return ({ kind, digest }) => {
    if (kind === 'key') {
      const row = key.get(digest);
      return row === undefined ? null : callerKeyOf(row);
    }
    const row = session.get(digest);
    return row === undefined ? null : callerSessionOf(row);
  };
}
