/**
 * What goes wrong between here and PostgreSQL, sorted by what must happen next (codes: PostgreSQL 18, appendix A);
 * and the hook through which tests make it go wrong at every step of a write.
 */
import { GovError } from '../../../contract/problems.ts';

/** Injected by tests only. */
export interface Faults {
  /** Called before each round trip of a write, with its name and the server process it goes to. */
  before(step: 'read' | 'write', backend: number): Promise<void>;
}

/**
 * `again`: nothing was stored, and trying again is the remedy. `lost`: the connection ended, or the server is not
 * one that can be written to; what was being committed may have been stored. `full`: the server's disk is full.
 * `busy`: a limit or timeout. `fault`: the server's storage failed. `bug`: not the storage's doing.
 */
export type Trouble = 'again' | 'lost' | 'full' | 'busy' | 'fault' | 'bug';

const sorted: readonly (readonly [pattern: RegExp, trouble: Trouble])[] = [
  [/^(?:40001|40P01)$/, 'again'],
  [/^(?:08...|57P0[1-5]|25P0[34]|25006|25P02)$/, 'lost'],
  [/^53100$/, 'full'],
  [/^(?:53...|55P03|57014)$/, 'busy'],
  [/^(?:58...|XX...|F0000)$/, 'fault'],
  [/^(?:E[A-Z]+)$/, 'lost'], // of the socket
];

/** Unique over all tenants: taken by another one between look-up and commit, which the next look-up sees. */
const isTaken = (error: Error): boolean =>
  'constraint' in error &&
  /^telemetry_plane_(?:origin|audit_origin|verifier_key)_key$/.test(String(error.constraint));

export function troubleOf(error: unknown): Trouble {
  if (error instanceof GovError || !(error instanceof Error)) return 'bug';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  if (isTaken(error)) return 'again';
  if (code !== null) return sorted.find(([pattern]) => pattern.test(code))?.[1] ?? 'bug';
  return /connection|timeout/i.test(error.message) ? 'lost' : 'bug';
}

/** The SQLSTATE of an error, null where the server did not say one. */
export const stateOf = (error: unknown): string | null =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : null;

/** The problem that a caller is told. */
export function problemOf(error: unknown): GovError {
  if (error instanceof GovError) return error;
  const found = troubleOf(error);
  switch (found) {
    case 'full':
      return new GovError(
        'STORAGE_FULL',
        'the disk of the database is full; writing goes on once it has space',
        {
          cause: error,
          retryAfterSeconds: 5,
        },
      );
    case 'busy':
      return new GovError('OVERLOADED', 'the database is overloaded; nothing was stored', {
        cause: error,
        retryAfterSeconds: 1,
      });
    case 'again':
      return new GovError(
        'OVERLOADED',
        'others wrote at the same time, again and again; nothing was stored',
        {
          cause: error,
          retryAfterSeconds: 1,
        },
      );
    case 'lost':
      return new GovError(
        'STORAGE_FAULT',
        'the database cannot be reached; send the request again with its key',
        {
          cause: error,
          retryAfterSeconds: 1,
        },
      );
    case 'fault':
      return new GovError('STORAGE_FAULT', 'the storage of the database failed', { cause: error });
    case 'bug':
      return new GovError('INTERNAL', 'the request could not be stored', { cause: error });
  }
}
