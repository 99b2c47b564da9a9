/**
 * The lock of a data directory: one process at a time.
 * The lock is an open write transaction on a tiny database. It is a lock of the operating system, so it ends
 * with the process, and a leftover file has no effect. While it is held, our code must not open and close
 * that file in another way: POSIX drops a process's locks on a file when the process closes any descriptor of
 * it. The package `proper-lockfile` renews the time of a folder instead: after a crash it blocks the next start
 * for seconds, and after a long pause it lets two processes in.
 * Proven by `test/store/file/lock.test.ts`.
 */
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';

export interface Lock {
  release(): void;
}

/** Keeps held locks from garbage collection, which would release them. */
const held = new Set<Database.Database>();

/** Takes the lock in the file `path`. Throws CONFLICT with the process that holds it. */
export function takeLock(path: string, pid: number): Lock {
  const db = new Database(path, { timeout: 0 });
  try {
    // Other processes can read the holder's pid only after a commit, which releases the lock for a moment.
    // Reading the pid back detects a process that took the lock in between.
    db.exec(
      'BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY, pid INTEGER NOT NULL)',
    );
    db.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(pid);
    db.exec('COMMIT; BEGIN IMMEDIATE');
    if (holder(db) !== pid)
      throw new Error(`expected the lock of ${path} for process ${pid}, got another process`);
  } catch (error) {
    const by = holder(db);
    db.close();
    throw new GovError(
      'CONFLICT',
      `expected ${path} to be free, got a lock: process ${by ?? 'unknown'} holds it; stop that process first`,
      { cause: error },
    );
  }
  held.add(db);
  return {
    release: () => {
      held.delete(db);
      db.close();
    },
  };
}

function holder(db: Database.Database): number | null {
  try {
    const row = db.prepare<[], { pid: number }>('SELECT pid FROM holder').get();
    return row?.pid ?? null;
  } catch {
    return null;
  }
}
