/** Opens the database file of a store to read it, beside the process that writes it. */
import { connect, type Connection } from './connection.ts';
import { opening } from './faults.ts';
import { assertKnownVersion } from './migrate.ts';
import { mainApplicationId, mainMigrations } from './schema/tables.ts';

/**
 * A connection that only reads. STORAGE_FAULT where the file cannot be opened, CONFLICT where a newer release wrote it.
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
