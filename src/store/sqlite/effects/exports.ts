/**
 * Rows of requested exports and of their results.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import { erasableSql, heldSql, nothingHeld } from '../../rules/export-row.ts';
import type { ExportHolding } from '../../port/store.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

export function exportRows(
  prepare: Prepare,
  current: Current,
): Pick<EffectRows, 'heldExports' | 'createExport' | 'finishExport' | 'expireExports'> {
  const held = prepare('held exports', heldSql('?'));
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
