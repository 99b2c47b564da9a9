/**
 * Takes what was removed out of the pages of the database. What one statement frees is overwritten with zeros, but
 * pages that were split or joined before keep copies of rows in their unused parts, and whole pages that are free stay
 * as they were; so a database that lost values is written anew when it is closed.
 * Proven by `test/store/rewrite.test.ts`.
 */
import type { Connection } from './connection.ts';
import { pageBytes } from './connection.ts';
import { troubleOf } from './faults.ts';
import type { Write } from './writes.ts';

/** The largest database that is written anew because of an erasure: some seconds of a stop. */
const mostBytes = 512 * 1024 * 1024;

/** What was removed since the database was opened. */
export type Removed = 'erased' | 'pruned' | null;

/** What a write removes. */
export function removedBy(write: Write): Removed {
  if (write.verb === 'dropPruned') return 'pruned';
  const erases =
    write.verb === 'append' && write.request.effects?.some(({ kind }) => kind === 'eraseFields') === true;
  return erases ? 'erased' : null;
}

/**
 * Needs twice the size of what is left as free space. A full disk is an error after a pruning, which somebody waits
 * for; after an erasure the database stays as it is until the next one.
 */
export function rewrite(db: Connection, removed: Removed): void {
  if (removed === null) return;
  const bytes = Number(db.pragma('page_count', { simple: true })) * pageBytes;
  if (removed === 'erased' && bytes > mostBytes) return;
  // what is copied does not go through memory
  db.pragma('temp_store = 1');
  try {
    db.exec('VACUUM');
  } catch (error) {
    if (removed === 'pruned' || troubleOf(error) !== 'full') throw error;
  }
}
