/**
 * The files of a store in its data directory.
 * Proven by `test/plane/copies.test.ts`.
 */
import { accessSync, closeSync, constants, existsSync, fsyncSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../files/write-fault.ts';
import { GovError } from '../../contract/problems.ts';

export const storeFiles = (dataDir: string) => ({
  main: join(dataDir, 'gov.db'),
  heads: join(dataDir, 'heads.db'),
  /** Keys of subjects, if there is a master key. */
  subjects: join(dataDir, 'subjects.db'),
  lock: join(dataDir, 'lock'),
  reserve: join(dataDir, 'reserve'),
  /** Acknowledged heads, and the losses that they showed. */
  acked: join(dataDir, 'acked.bin'),
  losses: join(dataDir, 'losses.ndjson'),
});

/**
 * Creates a file that only its owner can read. SQLite gives its -wal and -shm files the same mode. It does
 * not open an existing file, because closing it would drop the locks that this process may hold on it.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
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

/** Throws STORAGE_FAULT if the directory, or a file of a store in it, is not writable. */
export function refuseReadOnly(dataDir: string): void {
  for (const path of [dataDir, ...Object.values(storeFiles(dataDir))]) refuseUnwritable(path);
}

/** Throws FORBIDDEN if every user of the machine may write into the directory: they could replace its files. */
export function refuseOpenToAll(dataDir: string): void {
  const { mode } = statSync(dataDir);
  if ((mode & 0o002) === 0) return;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  const detail = `expected ${dataDir} to be writable by its owner, got mode ${shown}, by which every user may write; run chmod 700 ${dataDir}`;
  throw new GovError('FORBIDDEN', detail);
}

function refuseUnwritable(path: string): void {
  if (!existsSync(path)) return;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    const why = code === 'EROFS' ? 'a read-only file system' : 'no write permission for this user';
    throw new GovError(
      'STORAGE_FAULT',
      `expected a writable ${path}, got ${why} (${code}); remount it, or serve as its owner`,
      { cause },
    );
  }
}
