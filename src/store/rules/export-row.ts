/**
 * The row of an export without the fields of its job, the same in both engines.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { ExportFormat, ExportResource } from '../../contract/exports.ts';
import type { JobStatus } from '../../contract/job-words.ts';
import type { ExportDone, ExportHoldings, StoredExport } from '../port/exports.ts';

export interface ExportRow {
  project_id: string;
  export_id: string;
  job_id: string;
  resource: ExportResource;
  format: ExportFormat;
  filters: string;
  include_proof: number;
  tree_size: number;
  created_ms: number;
  artifact: string | null;
  row_count: number | null;
  size_bytes: number | null;
  digest: Uint8Array | null;
  manifest: string | null;
  completed_ms: number | null;
  expires_ms: number | null;
  status: JobStatus;
  started_ms: number | null;
  error_summary: string | null;
}

/** Columns of `export_job e`, its `job j` and its `project p`. */
export const exportColumns = `p.project_id, e.export_id, e.job_id, e.resource, e.format, e.filters, e.include_proof,
  e.tree_size, e.created_ms, e.artifact, e.row_count, e.size_bytes, e.digest, e.manifest, e.completed_ms, e.expires_ms,
  j.status, j.started_ms, j.error_summary`;
export const exportTables = `export_job e JOIN job j ON j.project = e.project AND j.job_id = e.job_id
  JOIN project p ON p.project = e.project`;

/** SQL: the status at a time; `at` is its parameter in the statement. */
export const statusAt = (at: string): string =>
  `CASE WHEN e.completed_ms IS NULL THEN j.status WHEN e.expires_ms <= ${at} THEN 'expired' ELSE 'completed' END`;

/**
 * SQL: rows that the sweep removes: expired exports, and leftovers of jobs that failed finally or were cancelled. The
 * worker of a cancelled job may write until its lease would have ended.
 */
export const isRemovable = (at: string): string =>
  `e.removed = 0 AND (e.expires_ms <= ${at} OR (e.completed_ms IS NULL AND (j.status = 'failed'
    OR (j.status = 'cancelled' AND j.due_ms <= ${at}))))`;

/** SQL: completed, unexpired exports of at least so many bytes. */
export const isDone = (at: string, leastBytes: string): string =>
  `e.removed = 0 AND e.completed_ms IS NOT NULL AND e.expires_ms > ${at} AND e.size_bytes >= ${leastBytes}`;

/** SQL: the `ExportHoldings` of a project, over rows that are not removed. A failed or cancelled export counts as nothing. */
export const heldSql = (project: string): string =>
  `SELECT count(*) FILTER (WHERE e.completed_ms IS NULL AND j.status NOT IN ('failed', 'cancelled')) AS open,
     count(*) FILTER (WHERE e.completed_ms IS NOT NULL) AS kept,
     CAST(coalesce(sum(e.size_bytes), 0) AS bigint) AS "keptBytes"
   FROM ${exportTables} WHERE e.project = ${project} AND e.removed = 0`;
export const nothingHeld: ExportHoldings = { open: 0, kept: 0, keptBytes: 0 };

/** SQL: the resources whose rows contain committed values. */
export const erasableSql = "resource IN ('audit_events', 'policy_evaluations', 'risk_decisions')";

export const exportOf = (row: ExportRow, atMs: number): StoredExport => {
  const done = doneOf(row);
  return {
    exportId: row.export_id,
    projectId: row.project_id,
    jobId: row.job_id,
    resource: row.resource,
    format: row.format,
    filters: row.filters,
    includeProof: row.include_proof === 1,
    treeSize: row.tree_size,
    createdMs: row.created_ms,
    status: done === null ? row.status : done.expiresMs <= atMs ? 'expired' : 'completed',
    startedMs: row.started_ms,
    errorSummary: row.error_summary,
    done,
  };
};

/** Its columns are all null or all set. */
function doneOf(row: ExportRow): ExportDone | null {
  const { artifact, row_count: rowCount, size_bytes: sizeBytes, digest, manifest } = row;
  const { completed_ms: completedMs, expires_ms: expiresMs } = row;
  if (artifact === null || rowCount === null || sizeBytes === null || digest === null) return null;
  if (manifest === null || completedMs === null || expiresMs === null) return null;
  return { artifact, rowCount, sizeBytes, digest: Buffer.from(digest), manifest, completedMs, expiresMs };
}
