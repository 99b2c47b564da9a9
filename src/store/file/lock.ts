/**
 * The lock of a data directory: one process at a time.
 * The lock is an open write transaction on a tiny database. It is a lock of the operating system, so it ends
 * with the process, and a leftover file has no effect. While it is held, our code must not open and close
 * that file in another way: POSIX drops a process's locks on a file when the process closes any descriptor of
 * it. The package `proper-lockfile` renews the time of a folder instead: after a crash it blocks the next start
 * for seconds, and after a long pause it lets two processes in.
 * Proven by `test/store/file/lock.test.ts`.
 */
import { existsSync } from 'node:fs';
import { codeOf } from '../../files/write-fault.ts';
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';
import { opening, troubleOf } from './faults.ts';

export interface Lock {
  release(): void;
}

/** Longer than a `lockHolder` of another process has a free lock, so that a question does not stop a start. */
const probeMs = 250;

/** Keeps held locks from garbage collection, which would release them. */
const held = new Set<Database.Database>();

/** Takes the lock in the file `path`. Throws CONFLICT with the process that holds it, STORAGE_FULL, STORAGE_FAULT. */
export function takeLock(path: string, pid: number): Lock {
  const db = new Database(path, { timeout: probeMs });
  try {
    // Other processes can read the holder's pid only after a commit, which releases the lock for a moment.
    // Reading the pid back detects a process that took the lock in between.
    db.exec(
      'BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY, pid INTEGER NOT NULL)',
    );
    db.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(pid);
    db.exec('COMMIT; BEGIN IMMEDIATE');
    if (holder(db) !== pid) throw new Database.SqliteError('another process took the lock', 'SQLITE_BUSY');
  } catch (error) {
    const by = holder(db);
    db.close();
    if (troubleOf(error) === 'busy') throw heldBy(path, by, error);
    return opening(path, () => {
      throw error;
    });
  }
  held.add(db);
  return {
    release: () => {
      held.delete(db);
      db.close();
    },
  };
}

/**
 * Returns null if nobody holds the lock in the file `path`, else the holder, with a null pid where the file does not name
 * it. Only for a process that does not hold the lock itself. Takes a free lock for a moment.
 */
export function lockHolder(path: string): { readonly pid: number | null } | null {
  if (!existsSync(path)) return null;
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE; ROLLBACK');
    return null;
  } catch (error) {
    if (troubleOf(error) === 'busy') return { pid: holder(db) };
    throw error;
  } finally {
    db.close();
  }
}

function heldBy(path: string, pid: number | null, cause: unknown): GovError {
  const by = pid === null || !isRunning(pid) ? 'another process' : `process ${pid}`;
  const detail = `expected ${path} to be free, got a lock: ${by} holds it; stop that process first`;
  return new GovError('CONFLICT', detail, { cause, extensions: { locked: path } });
}

/** The pid in the file may be that of an earlier holder. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM'; // it runs as another user
  }
}

function holder(db: Database.Database): number | null {
  try {
    const row = db.prepare<[], { pid: number }>('SELECT pid FROM holder').get();
    return row?.pid ?? null;
  } catch {
    return null;
  }
}
