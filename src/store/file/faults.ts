/**
 * What goes wrong below a statement, sorted by what must happen next; and the hook through which tests make
 * it go wrong at every statement of a write.
 */
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import type { Connection } from './connection.ts';

/** Injected by tests only. */
export interface Faults {
  /** Called before each statement of a write; what it throws is what the statement threw. */
  before(step: string): void;
  /** Called with the writer's connection once it is open. */
  opened?(db: Connection): void;
  /** Called with the thread that writes, where there is one. */
  started?(thread: Worker): void;
}

/**
 * `full`: nothing was stored, and the writer goes on once space returns. `busy`: nothing was stored, another
 * program held the file. `fault`: what is on the disk is no longer known, the writer stops for good.
 * `bug`: not the storage's doing.
 */
export type Trouble = 'full' | 'busy' | 'fault' | 'bug';

export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Database.SqliteError)) return 'bug';
  if (error.code === 'SQLITE_FULL') return 'full';
  if (error.code.startsWith('SQLITE_BUSY')) return 'busy';
  const isOurs = /^SQLITE_(?:CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG|MISUSE)/.test(error.code);
  return isOurs ? 'bug' : 'fault';
}

/** The problem that a caller is told. */
export function problemOf(trouble: Trouble, cause: unknown): GovError {
  switch (trouble) {
    case 'full':
      return new GovError('STORAGE_FULL', 'the disk is full; free space, writing goes on by itself', {
        cause,
        retryAfterSeconds: 5,
      });
    case 'busy':
      return new GovError('OVERLOADED', 'another program holds the database; nothing was stored', {
        cause,
        retryAfterSeconds: 1,
      });
    case 'fault':
      return new GovError('STORAGE_FAULT', 'the disk failed; writing has stopped until a restart', { cause });
    case 'bug':
      return new GovError('INTERNAL', 'the request could not be stored', { cause });
  }
}

/** Opens something at `path`; what SQLite says against it becomes a STORAGE_FAULT that names the file. */
export function opening<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    throw new GovError('STORAGE_FAULT', `could not open ${path}: ${error.message} (${error.code})`, {
      cause: error,
    });
  }
}
