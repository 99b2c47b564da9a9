/**
 * Sorts errors of PostgreSQL and of the connection by the reaction that they need. Also defines the hook
 * through which tests inject errors at every step of a write.
 * Source: PostgreSQL 18, appendix A (error codes).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';

/** Only tests inject these. */
export interface Faults {
  /** Called before each round trip of a write, with its name and the process id of the backend. */
  before(step: 'read' | 'write', backend: number): Promise<void>;
}

/**
 * - `again`: nothing was stored, and a retry helps.
 * - `lost`: the connection ended, or the server is read-only; a commit under way may have been stored.
 * - `full`: the server's disk is full.
 * - `busy`: a limit or a timeout.
 * - `fault`: the server's storage failed.
 * - `bug`: the error does not come from storage.
 */
export type DatabaseFaultKind = 'again' | 'lost' | 'full' | 'busy' | 'fault' | 'bug';

const sorted: readonly (readonly [pattern: RegExp, trouble: DatabaseFaultKind])[] = [
  [/^(?:40001|40P01)$/, 'again'],
  [/^(?:08...|57P0[1-5]|25P0[34]|25006|25P02)$/, 'lost'],
  [/^53100$/, 'full'],
  [/^(?:53...|55P03|57014)$/, 'busy'],
  [/^(?:58...|XX...|F0000)$/, 'fault'],
  [/^(?:E[A-Z]+)$/, 'lost'], // errors of the socket
];

/**
 * Values that are unique over all tenants. Another tenant took one between look-up and commit; a new look-up
 * sees it.
 */
const isTaken = (error: Error): boolean =>
  'constraint' in error &&
  /^telemetry_plane_(?:origin|audit_origin|verifier_key)_key$/.test(String(error.constraint));

export function troubleOf(error: unknown): DatabaseFaultKind {
  if (error instanceof GovError || !(error instanceof Error)) return 'bug';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  if (isTaken(error)) return 'again';
  if (code !== null) return sorted.find(([pattern]) => pattern.test(code))?.[1] ?? 'bug';
  return /connection|timeout/i.test(error.message) ? 'lost' : 'bug';
}

/** Returns the SQLSTATE of an error; null if the server sent none. */
export const stateOf = (error: unknown): string | null =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : null;

/** Returns the problem for the caller. Only of a write it says whether something was stored. */
export function problemOf(error: unknown, work: 'read' | 'write' = 'write'): GovError {
  if (error instanceof GovError) return error;
  const found = troubleOf(error);
  const isWrite = work === 'write';
  switch (found) {
    case 'full':
      return new GovError(
        'STORAGE_FULL',
        `the disk of the database is full${isWrite ? '; nothing was stored' : ''}; writing continues once it has space`,
        {
          cause: error,
          retryAfterSeconds: 5,
        },
      );
    case 'busy':
      return new GovError(
        'OVERLOADED',
        `the database is overloaded${isWrite ? '; nothing was stored' : ''}`,
        {
          cause: error,
          retryAfterSeconds: 1,
        },
      );
    case 'again':
      return new GovError(
        'OVERLOADED',
        `other requests wrote the same rows during every try${isWrite ? '; nothing was stored' : ''}`,
        {
          cause: error,
          retryAfterSeconds: 1,
        },
      );
    case 'lost':
      return new GovError(
        'STORAGE_FAULT',
        isWrite
          ? 'the database is unreachable, and may have stored the request; send it again with its key'
          : 'the database is unreachable; send the request again',
        {
          cause: error,
          retryAfterSeconds: 1,
        },
      );
    case 'fault':
      return new GovError('STORAGE_FAULT', 'the storage of the database failed', { cause: error });
    case 'bug':
      return new GovError('INTERNAL', `the request could not be ${isWrite ? 'stored' : 'answered'}`, {
        cause: error,
      });
  }
}
