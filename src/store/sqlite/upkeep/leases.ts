/**
 * Leases that a former process left. One process opens a directory at a time, so at the start nobody has the jobs,
 * reports and deliveries that are in work: they are due at once, not when their lease ends. A crash leaves them due, or
 * as they were.
 * Proven by `test/store/sqlite/upkeep/leases.test.ts`.
 */
import type { Connection } from '../../file/connection.ts';
import { troubleOf } from '../../file/faults.ts';

const tables = ['job', 'document'];

/** Cost: the documents and jobs with a due time. A full disk leaves the leases to their end. */
export function endLeases(db: Connection): void {
  for (const table of tables) {
    const held = `${table} WHERE due_ms > 0 AND status = 'processing'`;
    try {
      if (db.prepare(`SELECT 1 FROM ${held} LIMIT 1`).get() === undefined) continue;
      db.prepare(`UPDATE ${held.replace(' WHERE', ' SET due_ms = 0 WHERE')}`).run();
    } catch (error) {
      if (troubleOf(error) !== 'full') throw error;
    }
  }
}
