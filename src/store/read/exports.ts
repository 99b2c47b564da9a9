/**
 * Reads of exports: requested ones, their results, and the rows outside the log that they list.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import { endOfTime } from '../port/bounds.ts';
import type { ExportHoldings, ExportName, ExportReader, StoredExport, StoredGraph } from '../port/store.ts';
import {
  exportColumns,
  exportOf,
  exportTables,
  heldSql,
  isDone,
  isRemovable,
  nothingHeld,
  statusAt,
  type ExportRow,
} from '../rules/export-row.ts';
import { selected } from '../rules/columns.ts';
import { graphColumns, proofColumns, proofOf, type ProofRow } from '../rules/work-row.ts';
import { both, firstOf, rowsOf, step, type Queries } from './queries.ts';

const one = both<ExportRow>(
  `SELECT ${exportColumns} FROM ${exportTables} WHERE e.project = $1 AND e.export_id = $2`,
);
const page = both<ExportRow>(
  `SELECT ${exportColumns} FROM ${exportTables}
   WHERE e.project = $1 AND (e.created_ms, e.export_id) < ($2, $3) AND ($4::text IS NULL OR e.resource = $4)
     AND ($5::text IS NULL OR ${statusAt('$6::int8')} = $5)
   ORDER BY e.created_ms DESC, e.export_id DESC LIMIT $7`,
);
const removable = both<NameRow>(
  `SELECT p.project_id, e.export_id FROM ${exportTables} WHERE ${isRemovable('$1::int8')} LIMIT $2`,
);
const oldest = both<NameRow & { size_bytes: number }>(
  `SELECT p.project_id, e.export_id, e.size_bytes FROM ${exportTables} WHERE ${isDone('$1::int8', '$2::int8')}
   ORDER BY e.completed_ms, e.export_id LIMIT $3`,
);

interface NameRow {
  project_id: string;
  export_id: string;
}

const nameOf = ({ project_id: projectId, export_id: exportId }: NameRow): ExportName => ({
  projectId,
  exportId,
});

const proofsLogged = both<ProofRow>(
  `SELECT ${selected(proofColumns)} FROM proof WHERE project = $1 AND leaf_index > $2::int8 AND leaf_index < $3::int8
     AND ($4::text IS NULL OR run_id = $4) ORDER BY leaf_index LIMIT $5`,
);
const graphsLogged = both<StoredGraph>(
  `SELECT ${selected(graphColumns)} FROM graph g WHERE project = $1 AND leaf_index > $2::int8 AND leaf_index < $3::int8
     AND ($4::text IS NULL OR run_id = $4) AND NOT EXISTS (SELECT 1 FROM graph newer WHERE newer.project = $1
       AND newer.run_id = g.run_id AND newer.leaf_index > g.leaf_index AND newer.leaf_index < $3::int8)
   ORDER BY leaf_index LIMIT $5`,
);

export const heldExports = both<ExportHoldings>(heldSql('$1'));

export function exportReads(queries: Queries): ExportReader {
  const readExport = (row: ExportRow, atMs: number): StoredExport =>
    exportOf({ ...row, error_summary: queries.text(row.error_summary) }, atMs);
  return {
    exported: async (projectId, exportId, atMs) =>
      firstOf(await rowsOf(queries, projectId, one, exportId), (row) => readExport(row, atMs)),
    exports: async (projectId, { resource = null, status = null, atMs }, { after, limit }) => {
      const values = [after?.ms ?? endOfTime, after?.id ?? '', resource, status, atMs, limit];
      return (await rowsOf(queries, projectId, page, ...values)).map((row) => readExport(row, atMs));
    },
    loggedProofs: async (projectId, { runId = null, beforeIndex }, { after = -1, limit }) =>
      (await rowsOf(queries, projectId, proofsLogged, after, beforeIndex, runId, limit)).map(proofOf),
    loggedGraphs: (projectId, { runId = null, beforeIndex }, { after = -1, limit }) =>
      rowsOf(queries, projectId, graphsLogged, after, beforeIndex, runId, limit),
    heldExports: async (projectId) => (await rowsOf(queries, projectId, heldExports))[0] ?? nothingHeld,
    oldestExports: async (atMs, { leastBytes, limit }) => {
      const [{ rows }] = await queries.read({ duty: 'jobs' }, [step(oldest, atMs, leastBytes, limit)]);
      return rows.map((row) => ({ ...nameOf(row), sizeBytes: row.size_bytes }));
    },
    removableExports: async (atMs, limit) => {
      const [{ rows }] = await queries.read({ duty: 'jobs' }, [step(removable, atMs, limit)]);
      return rows.map(nameOf);
    },
  };
}
