/** The reading half of the store over one connection; worker threads open their own. */
import type { StoreReader } from '../port.ts';
import { connect, type Connection } from './connection.ts';
import { jobReads } from './jobs.ts';
import { assertKnownVersion } from './migrate.ts';
import { eventReads } from './readevents.ts';
import { leafReads, projectNumbers } from './readleaves.ts';
import { runReads } from './readruns.ts';
import { workReads } from './readwork.ts';
import { mainApplicationId, mainMigrations } from './schema.ts';

export function storeReader(db: Connection): StoreReader {
  const numberOf = projectNumbers(db);
  return {
    ...leafReads(db, numberOf),
    ...eventReads(db, numberOf),
    ...runReads(db, numberOf),
    ...workReads(db, numberOf),
    ...jobReads(db, numberOf),
  };
}

/** Opens a database file to read only, beside the process that writes it. */
export function connectReader(path: string): Connection {
  const db = connect(path, { applicationId: mainApplicationId, readonly: true });
  try {
    assertKnownVersion(db, mainMigrations);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A reader of the database file `path`, for worker threads and checks. */
export function openReader(path: string): StoreReader & { close(): void } {
  const db = connectReader(path);
  return {
    ...storeReader(db),
    close: () => {
      db.close();
    },
  };
}
