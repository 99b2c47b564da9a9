/**
 * Checks whether a database file belongs to a service or to a plane.
 * Proven by `test/host/data/old-copies.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Connection, Value } from './connection.ts';

/** Throws CONFLICT for the database of a plane: its project belongs to no organization. */
export function refusePlane(db: Connection): void {
  const found = db
    .prepare<Value[], string>(
      `SELECT project_id FROM project p
       WHERE NOT EXISTS (SELECT 1 FROM project_profile f WHERE f.project = p.project) LIMIT 1`,
    )
    .pluck()
    .get();
  if (found === undefined) return;
  throw new GovError(
    'CONFLICT',
    `expected the database of a service in ${db.name}, got that of a plane, with project ${found}; ` +
      'serve it with gov plane serve, or give the directory of a service',
  );
}
