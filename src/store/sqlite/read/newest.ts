/**
 * Finds the newest leaf of a type in the index of decisions.
 * Proven by `test/store/suite/log/decided.ts`.
 */
import { typeNumbers } from '../../rules/decided.ts';
import type { IndexedLeaf } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';

/** Returns the index of the newest leaf of a type, or null if there is none. */
export function newestReader(db: Connection): (project: number, type: IndexedLeaf) => number | null {
  const newest = db
    .prepare<Value[], number | null>('SELECT max(idx) FROM decided WHERE project = ? AND type = ?')
    .pluck();
  return (project, type) => newest.get(project, typeNumbers[type]) ?? null;
}
