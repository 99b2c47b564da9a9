/**
 * Rows of requested exports and of their results, with the same rules as SQLite.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import { erasableSql } from '../../rules/export-row.ts';
import type { ExportHolding, ExportStore } from '../../port/store.ts';
import type { Database } from '../connection/database.ts';
import type { Writing } from './writing.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { sql, step } from '../../read/queries.ts';

const create = sql(
  `INSERT INTO export_job (project, export_id, job_id, resource, format, filters, include_proof, tree_size, created_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
const finish = sql(
  `UPDATE export_job SET artifact = $3, row_count = $4, size_bytes = $5, digest = $6, manifest = $7, completed_ms = $8,
     expires_ms = $9 WHERE project = $1 AND export_id = $2`,
);
const expire = sql(
  `UPDATE export_job SET expires_ms = $2::int8
   WHERE project = $1 AND removed = 0 AND expires_ms > $2::int8 AND (resource = 'replays' OR ${erasableSql}
     AND (manifest::jsonb ->> 'firstSequence')::int8 <= $4::int8
     AND (manifest::jsonb ->> 'lastSequence')::int8 >= $3::int8)`,
);
const again = sql(
  `UPDATE job SET status = 'pending', lease = NULL, due_ms = $2::int8
   WHERE project = $1 AND status = 'processing' AND type = 'export' AND job_id IN (SELECT job_id FROM export_job
     WHERE project = $1 AND removed = 0 AND completed_ms IS NULL AND tree_size > $3::int8 AND (resource = 'replays' OR ${erasableSql}))`,
);
export function exportRows({
  project,
  facts,
  undo,
  write,
}: Writing): Pick<EffectRows, 'heldExports' | 'createExport' | 'finishExport' | 'expireExports'> {
  const hold = (more: ExportHolding): void => {
    const before = facts.heldExports;
    facts.heldExports = {
      open: before.open + more.open,
      kept: before.kept + more.kept,
      keptBytes: before.keptBytes + more.keptBytes,
    };
    undo.add(() => (facts.heldExports = before));
  };
  return {
    heldExports: () => facts.heldExports,
    createExport: ({ exportId, jobId, resource, format, filters, includeProof, treeSize, createdMs }) => {
      const what = [resource, format, filters, includeProof ? 1 : 0];
      undo.include(facts.unfinished, exportId);
      hold({ open: 1, kept: 0, keptBytes: 0 });
      write(step(create, project, exportId, jobId, ...what, treeSize, createdMs));
    },
    finishExport: ({ exportId, done }) => {
      if (!undo.remove(facts.unfinished, exportId)) return false;
      const { artifact, rowCount, sizeBytes, digest, manifest, completedMs, expiresMs } = done;
      hold({ open: -1, kept: 1, keptBytes: sizeBytes });
      const made = [artifact, rowCount, sizeBytes, Buffer.from(digest), manifest];
      write(step(finish, project, exportId, ...made, completedMs, expiresMs));
      return true;
    },
    expireExports: ({ first, last, atMs }) => {
      // an export of this commit may have been built before the erasure; its worker gets "lease lost" and
      // builds it again
      for (const exportId of facts.unfinished) undo.remove(facts.unfinished, exportId);
      write(step(expire, project, atMs, first, last));
      write(step(again, project, atMs, first));
    },
  };
}

const expireOne = sql(
  'UPDATE export_job SET expires_ms = $3::int8 WHERE project = $1 AND export_id = $2 AND expires_ms > $3::int8',
);
const mark = sql('UPDATE export_job SET removed = 1 WHERE project = $1 AND export_id = $2');

export const exportMoves = (database: Database, numberOf: ProjectNumber): ExportStore => ({
  expireExport: async (projectId, exportId, atMs) => {
    const project = await numberOf(projectId);
    await database.write({ project }, [step(expireOne, project, exportId, atMs)]);
  },
  markExportRemoved: async (projectId, exportId) => {
    const project = await numberOf(projectId);
    await database.write({ project }, [step(mark, project, exportId)]);
  },
});
