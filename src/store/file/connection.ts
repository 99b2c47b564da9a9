/**
 * Opens a SQLite connection with the settings that durability needs, sets each *and reads it back*.
 * The reason: better-sqlite3 silently lowers `synchronous` when it opens a WAL database again. Source:
 * SQLite's documentation of PRAGMA.
 * Proven by `test/store/file/connection.test.ts`.
 */
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';

export type Connection = Database.Database;

/** The values that a statement accepts and returns with default integer handling. */
export type Value = string | number | null | Uint8Array;

export interface ConnectionOptions {
  /** Marks the file as ours (`PRAGMA application_id`). Opening a file with another id fails. */
  readonly applicationId: number;
  readonly readonly?: boolean;
  readonly cacheKiB?: number;
}

/** Pages of 8 KiB: most records fit on one page with their bodies, and fewer pages go into the WAL. */
export const pageBytes = 8192;

const settings: readonly (readonly [name: string, value: number, readBack?: string | number])[] = [
  ['synchronous', 2], // FULL: a COMMIT returns after fsync
  ['fullfsync', 1], // macOS: F_FULLFSYNC
  ['checkpoint_fullfsync', 1],
  ['foreign_keys', 1],
  ['recursive_triggers', 1], // without it REPLACE deletes past the append-only triggers
  ['trusted_schema', 0],
  ['cell_size_check', 1],
  ['mmap_size', 0],
  ['temp_store', 2],
  ['busy_timeout', 250],
  ['wal_autocheckpoint', 0], // the writer starts checkpoints itself
];

/**
 * Opens `path` in WAL mode. Throws STORAGE_FAULT if a setting does not hold or the file belongs to another
 * program. A crash during the set-up of a new file leaves an empty database, which the next start fills.
 */
export function connect(path: string, options: ConnectionOptions): Connection {
  const { applicationId, readonly = false, cacheKiB = 16_384 } = options;
  const db = new Database(path, { readonly, fileMustExist: readonly, timeout: 250 });
  try {
    if (!readonly) {
      db.pragma(`page_size = ${pageBytes}`);
      db.pragma('journal_mode = WAL');
    }
    claimFile(db, applicationId, readonly);
    for (const [name, value] of settings) db.pragma(`${name} = ${value}`);
    db.pragma(`cache_size = -${cacheKiB}`);
    if (readonly) db.pragma('query_only = 1');
    verifySettings(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function claimFile(db: Connection, applicationId: number, readonly: boolean): void {
  const found = db.pragma('application_id', { simple: true });
  if (found === applicationId) return;
  const empty = db.pragma('schema_version', { simple: true }) === 0;
  if (found !== 0 || !empty || readonly) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected a database of application id ${applicationId} in ${db.name}, got ${String(found)}; ` +
        'give the data directory of a plane',
    );
  }
  db.pragma(`application_id = ${applicationId}`);
}

/** Reads every setting back. It runs after the first statement, so nothing lowers a setting later. */
function verifySettings(db: Connection): void {
  db.prepare('SELECT count(*) FROM sqlite_schema').get();
  const expected = [['journal_mode', 'wal'] as const, ...settings];
  for (const [name, value] of expected) {
    const got = db.pragma(name, { simple: true });
    if (got !== value) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected SQLite setting ${name} = ${value} in ${db.name}, got ${String(got)}`,
      );
    }
  }
}
