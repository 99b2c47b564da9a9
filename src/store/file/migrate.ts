/**
 * Numbered migrations of a database.
 * Each runs in one transaction together with its `user_version`. A crash leaves the version before or the
 * version after, never a state in between.
 * Proven by `test/store/file/schema/tables.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Connection } from './connection.ts';
import type { Migration } from './schema/tables.ts';

export const schemaVersion = (db: Connection): number => Number(db.pragma('user_version', { simple: true }));

/** Migrates a database to the newest version. Throws CONFLICT if a newer program wrote it. */
export function migrate(db: Connection, migrations: readonly Migration[]): void {
  assertKnownVersion(db, migrations);
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
  const newest = migrations.at(-1)?.version ?? 0;
  if (found > newest) {
    throw new GovError(
      'CONFLICT',
      `expected database version ${newest} or older in ${db.name}, got ${found}; use a newer release of gov`,
    );
  }
}
