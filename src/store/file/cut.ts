/**
 * Cuts a write-ahead log: all of it is copied into its database, then it is emptied, so that nothing of what was
 * overwritten is left in either. SQLite answers that a reader is in the way, it does not throw; whoever does not look
 * takes for gone what is still there. Proven by `test/store/sqlite/readers.test.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { troubleOf } from './faults.ts';

/** How long is waited for those who read or hold a file, where somebody waits for a stop. */
export const readerWaitMs = 1000;
const againMs = 50;

/** Waits for nobody: false where somebody reads an older state, or holds the file. */
export function cutLog(db: Connection): boolean {
  db.pragma('busy_timeout = 0');
  try {
    return (db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[])[0]?.busy === 0;
  } finally {
    db.pragma('busy_timeout = 250');
  }
}

/** Does `work` until it answers true; false where it did not within `readerWaitMs`. */
export async function within(work: () => boolean): Promise<boolean> {
  const untilMs = performance.now() + readerWaitMs;
  for (;;) {
    if (succeeds(work)) return true;
    if (performance.now() >= untilMs) return false;
    await delay(againMs);
  }
}

/** False too where another program holds a file, or the disk is full; throws what else `work` throws. */
export function succeeds(work: () => boolean): boolean {
  try {
    return work();
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble === 'busy' || trouble === 'full') return false;
    throw error;
  }
}
