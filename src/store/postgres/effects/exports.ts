/**
 * Exports: rows of requested exports and of their results, with the same rules as SQLite.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import {
  erasableSql,
  exportColumns,
  exportOf,
  exportTables,
  isDone,
  isRemovable,
  statusAt,
  type ExportRow,
} from '../../rules/export-row.ts';
import type {
  ExportHolding,
  ExportName,
  ExportReader,
  ExportStore,
  StoredExport,
  StoredGraph,
} from '../../port/store.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Database } from '../connection/database.ts';
import type { Writing } from './writing.ts';
import { heldExports } from './exports-held.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { graphColumns, proofColumns, proofOf, type ProofRow } from '../../read/work.ts';
import { readOrNull } from './texts.ts';
import { sql, step } from '../../read/queries.ts';

const one = sql<ExportRow>(
  `SELECT ${exportColumns} FROM ${exportTables} WHERE e.project = $1 AND e.export_id = $2`,
);
const page = sql<ExportRow>(
  `SELECT ${exportColumns} FROM ${exportTables}
   WHERE e.project = $1 AND (e.created_ms, e.export_id) < ($2, $3) AND ($4::text IS NULL OR e.resource = $4)
     AND ($5::text IS NULL OR ${statusAt('$6::int8')} = $5)
   ORDER BY e.created_ms DESC, e.export_id DESC LIMIT $7`,
);
const removable = sql<NameRow>(
  `SELECT p.project_id, e.export_id FROM ${exportTables} WHERE ${isRemovable('$1::int8')} LIMIT $2`,
);
const oldest = sql<NameRow & { size_bytes: number }>(
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

const proofsLogged = sql<ProofRow>(
  `SELECT ${proofColumns} FROM proof WHERE project = $1 AND leaf_index > $2::int8 AND leaf_index < $3::int8
     AND ($4::text IS NULL OR run_id = $4) ORDER BY leaf_index LIMIT $5`,
);
const graphsLogged = sql<StoredGraph>(
  `SELECT ${graphColumns} FROM graph g WHERE project = $1 AND leaf_index > $2::int8 AND leaf_index < $3::int8
     AND ($4::text IS NULL OR run_id = $4) AND NOT EXISTS (SELECT FROM graph newer WHERE newer.project = $1
       AND newer.run_id = g.run_id AND newer.leaf_index > g.leaf_index AND newer.leaf_index < $3::int8)
   ORDER BY leaf_index LIMIT $5`,
);

const readExport = (row: ExportRow, atMs: number): StoredExport =>
  exportOf({ ...row, error_summary: readOrNull(row.error_summary) }, atMs);

export function exportReads(database: Database, numberOf: ProjectNumber): ExportReader {
  return {
    exported: async (projectId, exportId, atMs) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(one, project, exportId)]);
      return rows[0] === undefined ? null : readExport(rows[0], atMs);
    },
    exports: async (projectId, { resource = null, status = null, atMs }, { after, limit }) => {
      const project = await numberOf(projectId);
      const position = [after?.ms ?? endOfTime, after?.id ?? ''];
      const wanted = step(page, project, ...position, resource, status, atMs, limit);
      return (await database.read({ project }, [wanted]))[0].rows.map((row) => readExport(row, atMs));
    },
    loggedProofs: async (projectId, { runId = null, beforeIndex }, { after = -1, limit }) => {
      const project = await numberOf(projectId);
      const wanted = step(proofsLogged, project, after, beforeIndex, runId, limit);
      return (await database.read({ project }, [wanted]))[0].rows.map(proofOf);
    },
    loggedGraphs: async (projectId, { runId = null, beforeIndex }, { after = -1, limit }) => {
      const project = await numberOf(projectId);
      const wanted = step(graphsLogged, project, after, beforeIndex, runId, limit);
      return (await database.read({ project }, [wanted]))[0].rows;
    },
    heldExports: async (projectId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(heldExports, project)]);
      return rows[0] ?? { open: 0, kept: 0, keptBytes: 0 };
    },
    oldestExports: async (atMs, { leastBytes, limit }) => {
      const [{ rows }] = await database.read({ duty: 'jobs' }, [step(oldest, atMs, leastBytes, limit)]);
      return rows.map((row) => ({ ...nameOf(row), sizeBytes: row.size_bytes }));
    },
    removableExports: async (atMs, limit) => {
      const [{ rows }] = await database.read({ duty: 'jobs' }, [step(removable, atMs, limit)]);
      return rows.map(nameOf);
    },
  };
}

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
