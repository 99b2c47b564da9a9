/**
 * Finds logs with unsigned leaves. Walks over the heads in steps and yields to the event loop between them.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Store } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';

/** Projects per step: 5 ms. */
const projectStep = 1000;

export function unsignedFinder(db: Connection): Store['unsigned'] {
  const newest = db.prepare<Value[], number | null>('SELECT max(project) FROM project').pluck();
  const select = db
    .prepare<Value[], string>(
      `SELECT p.project_id FROM project p WHERE p.project >= ? AND p.project < ?
         AND EXISTS (SELECT 1 FROM head h WHERE h.project = p.project AND h.last_ms < ? AND h.size >
           coalesce((SELECT max(size) FROM checkpoint c WHERE c.project = h.project AND c.tree = h.tree), 0))
       LIMIT ?`,
    )
    .pluck();
  return async (beforeMs, limit) => {
    const found: string[] = [];
    for (let from = 0; from <= (newest.get() ?? 0) && found.length < limit; from += projectStep) {
      found.push(...select.all(from, from + projectStep, beforeMs, limit - found.length));
      await nextTurn();
    }
    return found;
  };
}
