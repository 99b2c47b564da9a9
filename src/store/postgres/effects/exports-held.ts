/**
 * Counts the exports of a project, with the same rules as SQLite.
 * Proven by `test/store/suite/governance/export-bounds.ts`.
 */
import { exportTables, heldColumns } from '../../rules/export-row.ts';
import type { ExportHolding } from '../../port/store.ts';
import { sql } from '../../read/queries.ts';

export const heldExports = sql<ExportHolding>(
  `SELECT ${heldColumns}::int8 AS "keptBytes" FROM ${exportTables} WHERE e.project = $1 AND e.removed = 0`,
);
