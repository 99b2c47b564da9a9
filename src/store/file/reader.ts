/**
 * Opens the database file of a store read-only, while another process may write it.
 * Proven by `test/store/file/schema/tables.test.ts`.
 */
import { connect, type Connection } from './connection.ts';
import { opening } from './faults.ts';
import { assertKnownVersion } from './migrate.ts';
import { mainApplicationId, mainMigrations } from './schema/tables.ts';

/**
 * A read-only connection. Throws STORAGE_FAULT if the file cannot be opened, and CONFLICT if a newer release
 * wrote it.
 */
export function connectReader(path: string, cacheKiB?: number): Connection {
  const more = cacheKiB === undefined ? {} : { cacheKiB };
  const options = { applicationId: mainApplicationId, readonly: true, ...more };
  const db = opening(path, () => connect(path, options));
  try {
    assertKnownVersion(db, mainMigrations);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
