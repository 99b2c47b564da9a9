/**
 * Snapshots of databases, and copies of them during writes.
 * Proven by `test/plane/data/backup.test.ts`.
 */
import Database from 'better-sqlite3';
import { pageBytes, type Connection } from './connection.ts';
import { opening } from './faults.ts';
import { makePrivate, syncFile } from './paths.ts';

/** 4 MiB between two turns of the event loop. */
const pagesAtOnce = (4 * 1024 * 1024) / pageBytes;

/**
 * Opens a snapshot of any program's database; it lasts until it is closed. Meanwhile the write-ahead log of a
 * written database grows. Throws STORAGE_FAULT if it cannot be read.
 */
export function snapshotOf(path: string): Connection {
  const db = opening(path, () => new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 }));
  try {
    // the transaction also keeps commits from restarting a copy
    opening(path, () => db.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Receives the bytes copied since the last call. It may throw to stop the copy. */
export type CopyProgress = (bytes: number) => void;

/** The copy is durable and private. */
export async function copySnapshot(db: Connection, to: string, onProgress?: CopyProgress): Promise<void> {
  makePrivate(to);
  let copiedPages = 0;
  // another program's database may have pages of another size
  const bytesPerPage = Number(db.pragma('page_size', { simple: true }));
  const progress = ({ totalPages, remainingPages }: Database.BackupMetadata): number => {
    const pages = totalPages - remainingPages;
    onProgress?.((pages - copiedPages) * bytesPerPage);
    copiedPages = pages;
    return pagesAtOnce;
  };
  const { totalPages } = await db.backup(to, { progress }).catch((cause: unknown) =>
    opening(db.name, () => {
      throw cause;
    }),
  );
  onProgress?.((totalPages - copiedPages) * bytesPerPage); // the last pages come without a call
  syncFile(to);
}
