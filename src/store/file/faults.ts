/**
 * Sorts storage errors by the required reaction, and lets tests inject an error at every statement of a
 * write.
 * Proven by `test/store/sqlite/faults.long.test.ts`.
 */
import { closeSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { codeOf } from '../../files/write-fault.ts';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import type { Connection } from './connection.ts';

/** Only tests inject it. */
export interface Faults {
  /** Called before each statement of a write. An error thrown here counts as the statement's error. */
  before(step: string): void;
  /** Called with the writer's connection once it is open. */
  opened?(db: Connection): void;
  /** Called with the writer's thread, if there is one. */
  started?(thread: Worker): void;
}

/**
 * The kind of a storage error:
 * - `full`: nothing was stored; the writer continues once there is space.
 * - `busy`: nothing was stored; another program held the file.
 * - `files`: nothing was stored; the process could not open one more file.
 * - `fault`: the state of the disk is unknown; the writer stops permanently.
 * - `bug`: the storage did not cause it.
 */
export type StorageFaultKind = 'full' | 'busy' | 'files' | 'fault' | 'bug';

/** Whether the trouble passes by itself and says nothing about the disk. */
export const isPassing = (trouble: StorageFaultKind): trouble is 'busy' | 'files' =>
  trouble === 'busy' || trouble === 'files';

const outOfFiles: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE']);

/** Whether the error says that the process, or the machine, has no free file descriptor. */
export const isOutOfFiles = (error: unknown): boolean =>
  outOfFiles.has(codeOf(error)) ||
  (error instanceof Database.SqliteError && error.code === 'SQLITE_CANTOPEN' && !canOpen());

/** SQLite does not say why it could not open a file. Tries it with one that exists. */
function canOpen(): boolean {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return true;
  } catch (error) {
    return !outOfFiles.has(codeOf(error));
  }
}

export function troubleOf(error: unknown): StorageFaultKind {
  if (isOutOfFiles(error)) return 'files';
  if (!(error instanceof Database.SqliteError)) return 'bug';
  if (error.code === 'SQLITE_FULL') return 'full';
  if (error.code.startsWith('SQLITE_BUSY')) return 'busy';
  const isOurs = /^SQLITE_(?:CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG|MISUSE)/.test(error.code);
  return isOurs ? 'bug' : 'fault';
}

/** The problem for the caller. Only of a write it says that nothing was stored. */
export function problemOf(
  trouble: StorageFaultKind,
  cause: unknown,
  work: 'read' | 'write' = 'write',
): GovError {
  const stored = work === 'write' ? '; nothing was stored' : '';
  switch (trouble) {
    case 'full':
      return new GovError(
        'STORAGE_FULL',
        `the disk is full${stored}; free space, then writing continues by itself`,
        {
          cause,
          retryAfterSeconds: 5,
        },
      );
    case 'busy':
      return new GovError('OVERLOADED', `another program holds the database${stored}`, {
        cause,
        retryAfterSeconds: 1,
      });
    case 'files':
      return new GovError(
        'OVERLOADED',
        `the process has no free file descriptor${stored}; repeat the request, or raise the limit with ulimit -n`,
        { cause, retryAfterSeconds: 1 },
      );
    case 'fault':
      return new GovError('STORAGE_FAULT', 'the disk failed; writing stops until a restart', { cause });
    case 'bug':
      return new GovError('INTERNAL', 'the request could not be stored', { cause });
  }
}

/** Opens something at `path`. An error of SQLite becomes a STORAGE_FULL or STORAGE_FAULT that names the file. */
export function opening<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    if (troubleAt(path, error) === 'full') throw noRoomToOpen(path, error);
    throw new GovError('STORAGE_FAULT', `could not open ${path}: ${error.message} (${error.code})`, {
      cause: error,
    });
  }
}

export const noRoomToOpen = (path: string, cause: unknown): GovError =>
  new GovError('STORAGE_FULL', `could not open ${path}: the disk is full; free space, then start again`, {
    cause,
  });

/** Size of the -shm file of WAL mode. SQLite removes the part that it wrote, so that a full disk has less than this. */
const sharedMemoryBytes = 32 * 1024;

/**
 * As `troubleOf`, for an error while the file at `path` is opened. Opening in WAL mode writes the -shm file. Without
 * room for it SQLite reports an I/O error, not SQLITE_FULL.
 */
export function troubleAt(path: string, error: unknown): StorageFaultKind {
  const trouble = troubleOf(error);
  const mayBeFull =
    error instanceof Database.SqliteError &&
    /^SQLITE_(?:IOERR_(?:SHMSIZE|SHMMAP|WRITE|FSYNC)|CANTOPEN)$/.test(error.code);
  return trouble === 'fault' && mayBeFull && freeBytes(dirname(path)) < sharedMemoryBytes ? 'full' : trouble;
}

/** Bytes of the disk, free or not. */
export function diskBytes(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return blocks * bsize;
}

/** Bytes that this user may still write. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
