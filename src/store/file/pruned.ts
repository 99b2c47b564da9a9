/**
 * Reads how far the events of a project are pruned.
 * Proven by `test/store/suite/log/prunes.ts`.
 */
import type { Connection, Value } from './connection.ts';

/** SQL: the index below which events of a project are pruned, or NULL. */
export const floorSql = 'SELECT max(min_index) AS below FROM prune WHERE project = ?';

/** By project number; 0 if nothing was pruned. */
export function floorReader(db: Connection): (project: number) => number {
  const select = db.prepare<Value[], number | null>(floorSql).pluck();
  return (project) => select.get(project) ?? 0;
}
