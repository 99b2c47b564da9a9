/**
 * Numbered migrations of a database.
 * Each runs in one transaction together with its `user_version`. A crash leaves the version before or the
 * version after, never a state in between.
 * Proven by `test/store/file/schema/tables.test.ts`.
 */
import { basename } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import type { Connection } from './connection.ts';
import type { Migration } from './schema/tables.ts';

export const schemaVersion = (db: Connection): number => Number(db.pragma('user_version', { simple: true }));

/** A database that a start migrates: when it begins, without `ms`, and when it is done. */
export interface MigrationStep {
  readonly file: string;
  readonly from: number;
  readonly to: number;
  readonly ms?: number;
}

/**
 * Migrates a database to the newest version, and reports it unless the database is new. Throws CONFLICT if a newer program wrote
 * it.
 */
export function migrate(
  db: Connection,
  migrations: readonly Migration[],
  report?: ((step: MigrationStep) => void) | undefined,
): void {
  assertKnownVersion(db, migrations);
  const due = dueMigration(db, migrations);
  const startedAt = performance.now();
  if (due !== null) report?.(due);
  applyAll(db, migrations);
  if (due !== null) report?.({ ...due, ms: Math.round(performance.now() - startedAt) });
}

/** What `migrate` would do; null where the database is new or newest. Reads only. */
export function dueMigration(db: Connection, migrations: readonly Migration[]): MigrationStep | null {
  const [from, to] = [schemaVersion(db), newestOf(migrations)];
  return from > 0 && from < to ? { file: basename(db.name), from, to } : null;
}

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

function applyAll(db: Connection, migrations: readonly Migration[]): void {
  for (const { version, sql } of migrations) {
    if (version <= schemaVersion(db)) continue;
    db.exec('BEGIN IMMEDIATE');
    try {
      // if processes share the file, another one may have migrated it first
      if (version > schemaVersion(db)) db.exec(sql);
      db.pragma(`user_version = ${Math.max(version, schemaVersion(db))}`);
      db.exec('COMMIT');
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
}

/** Throws CONFLICT if a newer program wrote the database. */
export function assertKnownVersion(db: Connection, migrations: readonly Migration[]): void {
  const found = schemaVersion(db);
  const newest = newestOf(migrations);
  if (found > newest) {
    throw new GovError(
      'CONFLICT',
      `expected database version ${newest} or older in ${db.name}, got ${found}; use a newer release of gov`,
    );
  }
}
