/** The newest leaf of a type, by the index of decisions. */
import { typeNumbers } from '../../rules/decided.ts';
import type { IndexedLeaf } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';

/** Index of the newest leaf of a type, null where there is none. */
export function newestReader(db: Connection): (project: number, type: IndexedLeaf) => number | null {
  const newest = db
    .prepare<Value[], number | null>('SELECT max(idx) FROM decided WHERE project = ? AND type = ?')
    .pluck();
  return (project, type) => newest.get(project, typeNumbers[type]) ?? null;
}
