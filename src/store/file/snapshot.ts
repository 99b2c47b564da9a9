/** Databases as of one moment, and copies of them, whatever is written meanwhile. Proven by `test/plane/data/backup.test.ts`. */
import Database from 'better-sqlite3';
import { pageBytes, type Connection } from './connection.ts';
import { opening } from './faults.ts';
import { makePrivate, syncFile } from './paths.ts';

/** 4 MiB between two turns. */
const pagesAtOnce = (4 * 1024 * 1024) / pageBytes;

/**
 * A database of whichever program, as it is now, until it is closed. Where it is written to meanwhile, its write-ahead log
 * grows until then. STORAGE_FAULT where it cannot be read.
 */
export function snapshotOf(path: string): Connection {
  const db = opening(path, () => new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 }));
  try {
    // it also keeps a copy from being begun anew by each commit
    opening(path, () => db.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The copy is durable and private. */
export async function copySnapshot(db: Connection, to: string): Promise<void> {
  makePrivate(to);
  await db.backup(to, { progress: () => pagesAtOnce }).catch((cause: unknown) =>
    opening(db.name, () => {
      throw cause;
    }),
  );
  syncFile(to);
}
