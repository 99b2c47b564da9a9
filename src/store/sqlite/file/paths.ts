/** The files of a store. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';

export const storeFiles = (dataDir: string) => ({
  main: join(dataDir, 'gov.db'),
  heads: join(dataDir, 'heads.db'),
  /** Keys of subjects, where there is a master key. */
  subjects: join(dataDir, 'subjects.db'),
  lock: join(dataDir, 'lock'),
  reserve: join(dataDir, 'reserve'),
});

/**
 * Makes a file that only its owner reads; SQLite gives its -wal and -shm the same mode. One that exists is not
 * even opened: closing it would drop the locks that this process may hold on it.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes the content of a file durable. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
