/**
 * Exports: rows of requested exports and of their results.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import {
  erasableSql,
  exportColumns,
  exportOf,
  exportTables,
  heldColumns,
  isDone,
  isRemovable,
  statusAt,
  type ExportRow,
} from '../../rules/export-row.ts';
import type { ExportHolding, ExportName, ExportReader, StoredGraph } from '../../port/store.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Current } from './current.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { graphColumns, proofColumns, proofOf, type ProofRow } from '../../read/work.ts';
import type { Prepare } from '../../file/statement.ts';

export function exportReads(db: Connection, numberOf: ProjectNumber): ExportReader {
  const one = db.prepare<Value[], ExportRow>(
    `SELECT ${exportColumns} FROM ${exportTables} WHERE e.project = ? AND e.export_id = ?`,
  );
  const page = db.prepare<Value[], ExportRow>(
    `SELECT ${exportColumns} FROM ${exportTables}
     WHERE e.project = ? AND (e.created_ms, e.export_id) < (?, ?) AND (? IS NULL OR e.resource = ?)
       AND (? IS NULL OR ${statusAt('?')} = ?)
     ORDER BY e.created_ms DESC, e.export_id DESC LIMIT ?`,
  );
  const held = db.prepare<Value[], ExportHolding>(heldSql);
  const removable = db.prepare<Value[], NameRow>(
    `SELECT p.project_id, e.export_id FROM ${exportTables} WHERE ${isRemovable('?')} LIMIT ?`,
  );
  const oldest = db.prepare<Value[], NameRow & { size_bytes: number }>(
    `SELECT p.project_id, e.export_id, e.size_bytes FROM ${exportTables} WHERE ${isDone('?', '?')}
     ORDER BY e.completed_ms, e.export_id LIMIT ?`,
  );
  return {
    ...loggedReads(db, numberOf),
    exported: async (projectId, exportId, atMs) => {
      const row = one.get(numberOf(projectId), exportId);
      return row === undefined ? null : exportOf(row, atMs);
    },
    exports: async (projectId, { resource = null, status = null, atMs }, { after, limit }) => {
      const position = [after?.ms ?? endOfTime, after?.id ?? ''];
      const filter = [resource, resource, status, atMs, status];
      const rows = page.all(numberOf(projectId), ...position, ...filter, limit);
      return rows.map((row) => exportOf(row, atMs));
    },
    heldExports: async (projectId) => held.get(numberOf(projectId)) ?? nothingHeld,
    oldestExports: async (atMs, { leastBytes, limit }) =>
      oldest.all(atMs, leastBytes, limit).map((row) => ({ ...nameOf(row), sizeBytes: row.size_bytes })),
    removableExports: async (atMs, limit) => removable.all(atMs, limit).map(nameOf),
  };
}

const heldSql = `SELECT ${heldColumns} AS keptBytes FROM ${exportTables} WHERE e.project = ? AND e.removed = 0`;
const nothingHeld: ExportHolding = { open: 0, kept: 0, keptBytes: 0 };

interface NameRow {
  project_id: string;
  export_id: string;
}

const nameOf = ({ project_id: projectId, export_id: exportId }: NameRow): ExportName => ({
  projectId,
  exportId,
});

function loggedReads(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<ExportReader, 'loggedProofs' | 'loggedGraphs'> {
  const proofs = db.prepare<Value[], ProofRow>(
    `SELECT ${proofColumns} FROM proof WHERE project = ? AND leaf_index > ? AND leaf_index < ?
       AND (? IS NULL OR run_id = ?) ORDER BY leaf_index LIMIT ?`,
  );
  const graphs = db.prepare<Value[], StoredGraph>(
    `SELECT ${graphColumns} FROM graph g WHERE project = ? AND leaf_index > ? AND leaf_index < ?
       AND (? IS NULL OR run_id = ?) AND NOT EXISTS (SELECT 1 FROM graph newer WHERE newer.project = g.project
         AND newer.run_id = g.run_id AND newer.leaf_index > g.leaf_index AND newer.leaf_index < ?)
     ORDER BY leaf_index LIMIT ?`,
  );
  return {
    loggedProofs: async (projectId, { runId = null, beforeIndex }, { after = -1, limit }) =>
      proofs.all(numberOf(projectId), after, beforeIndex, runId, runId, limit).map(proofOf),
    loggedGraphs: async (projectId, { runId = null, beforeIndex }, { after = -1, limit }) =>
      graphs.all(numberOf(projectId), after, beforeIndex, runId, runId, beforeIndex, limit),
  };
}

export function exportRows(
  prepare: Prepare,
  current: Current,
): Pick<EffectRows, 'heldExports' | 'createExport' | 'finishExport' | 'expireExports'> {
  const held = prepare('held exports', heldSql);
  const create = prepare(
    'create export',
    `INSERT INTO export_job (project, export_id, job_id, resource, format, filters, include_proof, tree_size, created_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const finish = prepare(
    'finish export',
    `UPDATE export_job SET artifact = ?, row_count = ?, size_bytes = ?, digest = ?, manifest = ?, completed_ms = ?,
       expires_ms = ? WHERE project = ? AND export_id = ? AND completed_ms IS NULL`,
  );
  const expire = prepare(
    'expire exports',
    `UPDATE export_job SET expires_ms = ? WHERE project = ? AND removed = 0 AND expires_ms > ? AND (resource = 'replays' OR ${erasableSql}
       AND json_extract(manifest, '$.firstSequence') <= ? AND json_extract(manifest, '$.lastSequence') >= ?)`,
  );
  const again = prepare(
    'build exports anew',
    `UPDATE job SET status = 'pending', lease = NULL, due_ms = ?
     WHERE project = ? AND status = 'processing' AND type = 'export' AND job_id IN (SELECT job_id FROM export_job
       WHERE project = ? AND removed = 0 AND completed_ms IS NULL AND tree_size > ? AND (resource = 'replays' OR ${erasableSql}))`,
  );
  return {
    heldExports: () => (held.get(current.project) as ExportHolding | undefined) ?? nothingHeld,
    createExport: ({ exportId, jobId, resource, format, filters, includeProof, treeSize, createdMs }) => {
      const what = [resource, format, filters, includeProof ? 1 : 0];
      create.run(current.project, exportId, jobId, ...what, treeSize, createdMs);
    },
    finishExport: ({ exportId, done }) => {
      const { artifact, rowCount, sizeBytes, digest, manifest, completedMs, expiresMs } = done;
      const values = [artifact, rowCount, sizeBytes, digest, manifest, completedMs, expiresMs];
      return finish.run(...values, current.project, exportId).changes === 1;
    },
    expireExports: ({ first, last, atMs }) => {
      expire.run(atMs, current.project, atMs, last, first);
      again.run(atMs, current.project, current.project, first);
    },
  };
}

export interface ExportTasks {
  expireExport(project: number, exportId: string, atMs: number): void;
  markExportRemoved(project: number, exportId: string): void;
}

export function exportTasks(prepare: Prepare): ExportTasks {
  const expire = prepare(
    'expire export',
    'UPDATE export_job SET expires_ms = ? WHERE project = ? AND export_id = ? AND expires_ms > ?',
  );
  const mark = prepare(
    'mark export removed',
    'UPDATE export_job SET removed = 1 WHERE project = ? AND export_id = ?',
  );
  return {
    expireExport: (project, exportId, atMs) => void expire.run(atMs, project, exportId, atMs),
    markExportRemoved: (project, exportId) => void mark.run(project, exportId),
  };
}
