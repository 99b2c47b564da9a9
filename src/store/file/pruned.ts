/** How far the events of a project were pruned. */
import type { Connection, Value } from './connection.ts';

/** The index below which events of a project were pruned, or NULL. */
export const floorSql = 'SELECT max(min_index) AS below FROM prune WHERE project = ?';

/** By project number; 0 where nothing was pruned. */
export function floorReader(db: Connection): (project: number) => number {
  const select = db.prepare<Value[], number | null>(floorSql).pluck();
  return (project) => select.get(project) ?? 0;
}
