/**
 * Cuts a write-ahead log: copies all of it into its database, then empties it.
 * Afterwards neither file has overwritten bytes. If a reader is in the way, SQLite returns that and does not
 * throw. A caller must check the result, because the bytes may still exist.
 * Proven by `test/store/sqlite/readers.long.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { isPassing, troubleOf } from './faults.ts';

/** Milliseconds to wait for readers and other holders of a file when a stop waits. */
export const readerWaitMs = 1000;
const againMs = 50;

/** Does not wait. False if a reader uses an older state, or another program holds the file. */
export function cutLog(db: Connection): boolean {
  db.pragma('busy_timeout = 0');
  try {
    return (db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[])[0]?.busy === 0;
  } finally {
    db.pragma('busy_timeout = 250');
  }
}

/** Repeats `work` until it returns true. False if it does not within `readerWaitMs`. */
export async function within(work: () => boolean): Promise<boolean> {
  const untilMs = performance.now() + readerWaitMs;
  for (;;) {
    if (succeeds(work)) return true;
    if (performance.now() >= untilMs) return false;
    await delay(againMs);
  }
}

/** Also false if another program holds a file, or the disk is full. Throws other errors of `work`. */
export function succeeds(work: () => boolean): boolean {
  try {
    return work();
  } catch (error) {
    const trouble = troubleOf(error);
    if (isPassing(trouble) || trouble === 'full') return false;
    throw error;
  }
}
