/**
 * One process per data directory. The lock is a write transaction held open on a tiny database: an operating
 * system lock, so it ends with the process, however the process ends, and a stale file means nothing.
 * No code of ours may open and close that file otherwise while it is held: POSIX drops a process's locks on
 * a file when the process closes any descriptor of it. Proven by `test/store/file/lock.test.ts`.
 */
import Database from 'better-sqlite3';
import { GovError } from '../../contract/problems.ts';

export interface Lock {
  release(): void;
}

/** Keeps held locks from being collected as garbage, which would let go of them. */
const held = new Set<Database.Database>();

/** Takes the lock in the file `path` or throws CONFLICT, naming the process that holds it. */
export function takeLock(path: string, pid: number): Lock {
  const db = new Database(path, { timeout: 0 });
  try {
    // The holder's pid must be committed to be read by others, so the lock is let go for a moment; whoever
    // takes it then is found by reading the pid back.
    db.exec(
      'BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder (one INTEGER PRIMARY KEY, pid INTEGER NOT NULL)',
    );
    db.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(pid);
    db.exec('COMMIT; BEGIN IMMEDIATE');
    if (holder(db) !== pid) throw new Error('another process took the lock');
  } catch (error) {
    const by = holder(db);
    db.close();
    throw new GovError(
      'CONFLICT',
      `expected ${path} to be free, but process ${by ?? 'unknown'} holds it; stop that process first`,
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
