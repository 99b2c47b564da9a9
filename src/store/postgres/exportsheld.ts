/** Exports that a project has, as the other engine counts them. Proven by `test/store/suite/exportbounds.ts`. */
import { exportTables, heldColumns } from '../exportrow.ts';
import type { ExportHolding } from '../port.ts';
import { sql } from './wire.ts';

export const heldExports = sql<ExportHolding>(
  `SELECT ${heldColumns}::int8 AS "keptBytes" FROM ${exportTables} WHERE e.project = $1 AND e.removed = 0`,
);
