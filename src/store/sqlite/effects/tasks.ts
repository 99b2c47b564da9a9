/**
 * Writes outside the log: projects, keys, jobs, checkpoints, staged graph rows, and sweeps of old rows.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { emptyRoot } from '../../../core/merkle/tree.ts';
import type { ApiKeyRow, Cosignature, GraphPart } from '../../port/store.ts';
import type { Project } from '../../port/store.ts';
import { sessionKeptMs } from '../../rules/tenants.ts';
import { documentTasks, type DocumentTasks } from './documents.ts';
import { eventTermTasks, type EventTermTasks } from './event-terms.ts';
import { indexMapTasks, type IndexMapTasks } from './index-map.ts';
import { prunedDropper, type PruneDropper } from './pruned.ts';
import type { Prepare } from '../../file/statement.ts';
import { exportMoveWrites } from '../../write/exports.ts';
import {
  saveLine,
  saveNote,
  sweepFacts,
  sweepRequests,
  sweepRows,
  sweepSessions,
} from '../../write/tasks.ts';
import { keyWrites } from '../../write/tenants.ts';
import { runner, type Run } from './writing.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface Note {
  readonly tree: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly note: string;
}

export interface CosignedSize {
  readonly tree: number;
  readonly size: number;
  readonly cosignatures: readonly Cosignature[];
}

export interface TaskStatements extends IndexMapTasks, DocumentTasks, EventTermTasks {
  /** Creates a project with empty logs and returns its number. */
  createProject(project: Project): number;
  saveApiKey(project: number, key: ApiKeyRow): void;
  expireExport(project: number, exportId: string, atMs: number): void;
  markExportRemoved(project: number, exportId: string): void;
  stageGraphPart(project: number, graphId: string, part: GraphPart): void;
  saveNote(project: number, note: Note): void;
  saveCosignatures(project: number, cosigned: CosignedSize): void;
  readonly dropPruned: PruneDropper;
  /** Deletes the requests of jobs that ended longer ago than `limits.jobRequestDays`. */
  sweepRequests(nowMs: number): void;
  /** Deletes sessions that expired longer ago than `sessionKeptMs`. */
  sweepSessions(nowMs: number): void;
  /** Deletes some of the expired stored responses; false once none is left. */
  sweepAnswers(nowMs: number): boolean;
  /** Deletes some of the facts that no request has used for `limits.intakeFactDays`; false once none is left. */
  sweepFacts(nowMs: number): boolean;
  /** Deletes graph rows that were never logged. */
  sweepStaged(): void;
}

export function taskStatements(prepare: Prepare): TaskStatements {
  const run = runner(prepare);
  const exports = (project: number) => exportMoveWrites((made, values) => run(project, made, values));
  return {
    ...projectTasks(prepare, run),
    ...sweepTasks(prepare, run),
    ...documentTasks(prepare),
    ...eventTermTasks(prepare, run),
    expireExport: (project, exportId, atMs) => exports(project).expireExport(exportId, atMs),
    markExportRemoved: (project, exportId) => exports(project).markExportRemoved(exportId),
    ...indexMapTasks(prepare),
    dropPruned: prunedDropper(prepare),
  };
}

function projectTasks(
  prepare: Prepare,
  run: Run,
): Pick<TaskStatements, 'createProject' | 'saveApiKey' | 'stageGraphPart' | 'saveNote' | 'saveCosignatures'> {
  const known = prepare('find project', 'SELECT 1 FROM project WHERE project_id = ?');
  const project = prepare<{ project: number }>(
    'create project',
    `INSERT INTO project (project_id, organization_id, environment, audit_origin, metering_origin)
     VALUES (?, ?, ?, ?, ?) RETURNING project`,
  );
  const head = prepare(
    'create head',
    'INSERT INTO head (project, tree, size, root, last_ms) VALUES (?, ?, 0, ?, 0)',
  );
  const part = prepare(
    'stage graph part',
    'INSERT INTO graph_part (project, graph_id, list, part, items) VALUES (?, ?, ?, ?, ?)',
  );
  return {
    createProject: ({ projectId, organizationId, environment, auditOrigin, meteringOrigin }) => {
      if (known.get(projectId) !== undefined) {
        throw new GovError('CONFLICT', `expected a new project, got ${projectId}, which exists`);
      }
      const row = project.get(projectId, organizationId, environment, auditOrigin, meteringOrigin);
      if (row === undefined) throw new Error(`expected a number for ${projectId}, got no row`);
      for (const tree of [0, 1]) head.run(row.project, tree, emptyRoot);
      return row.project;
    },
    saveApiKey: (no, key) => {
      keyWrites((made, values) => run(no, made, values)).putApiKey(key);
    },
    stageGraphPart: (no, graphId, { list, part: number, items }) => {
      part.run(no, graphId, list, number, items);
    },
    saveNote: (no, note) => {
      run(no, saveNote, note);
    },
    saveCosignatures: (no, { tree, size, cosignatures }) => {
      for (const { key: by, line } of cosignatures) run(no, saveLine, { tree, size, key: by, line });
    },
  };
}

function sweepTasks(
  prepare: Prepare,
  run: Run,
): Pick<TaskStatements, 'sweepRequests' | 'sweepSessions' | 'sweepAnswers' | 'sweepFacts' | 'sweepStaged'> {
  // Response numbers roughly follow their time: the oldest come first.
  const answers = prepare(
    'sweep answers',
    `DELETE FROM idempotency WHERE at_ms < ?
       AND seq IN (SELECT seq FROM idempotency ORDER BY seq LIMIT ${sweepRows})`,
  );
  const staged = prepare(
    'sweep staged parts',
    `DELETE FROM graph_part WHERE NOT EXISTS (
       SELECT 1 FROM graph g WHERE g.project = graph_part.project AND g.graph_id = graph_part.graph_id)`,
  );
  return {
    sweepRequests: (nowMs) => {
      run(0, sweepRequests, { beforeMs: nowMs - limits.jobRequestDays * dayMs });
    },
    sweepSessions: (nowMs) => {
      run(0, sweepSessions, { beforeMs: nowMs - sessionKeptMs });
    },
    sweepAnswers: (nowMs) => answers.run(nowMs - limits.idempotencyHours * hourMs).changes > 0,
    sweepFacts: (nowMs) =>
      run(0, sweepFacts, { beforeDay: Math.floor(nowMs / dayMs) - limits.intakeFactDays }) > 0,
    sweepStaged: () => {
      staged.run();
    },
  };
}
