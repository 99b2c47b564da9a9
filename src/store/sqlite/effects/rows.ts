/**
 * The rows of effects, read and written one by one in the transaction of their request.
 * `src/store/append/effects.ts` judges the effects. A crash before COMMIT leaves none of these rows.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import { declarationHash } from '../../../core/graphs/declaration.ts';
import { applyEffect, type EffectRows } from '../../append/effects.ts';
import type { Assigned } from '../../port/store.ts';
import type { Effect } from '../../port/store.ts';
import { approvalRows } from './approvals.ts';
import { bodyRows, type EffectSealing } from './bodies.ts';
import { documentRows } from './documents.ts';
import { eventTermRows } from './event-terms.ts';
import { exportRows } from './exports.ts';
import { failJobSql } from './jobs.ts';
import { keptRequestSql } from '../../rules/job-row.ts';
import { policyRows } from './policy-changes.ts';
import type { Prepare } from '../../file/statement.ts';
import { tenantRows } from './tenants.ts';
import { withdrawer } from './withdrawn.ts';
import type { Current } from './current.ts';

/**
 * Applies one effect of a request to the project with this number. The leaves of the request are already
 * assigned.
 */
export type EffectWriter = (project: number, effect: Effect, assigned: readonly Assigned[]) => void;

export function effectWriter(prepare: Prepare, sealing: EffectSealing): EffectWriter {
  const current: Current = { project: 0 };
  const rows: EffectRows = {
    ...proofRows(prepare, current),
    ...runGraphRows(prepare, current),
    ...jobRows(prepare, current),
    ...policyRows(prepare, current),
    ...approvalRows(prepare, current),
    ...claimRows(prepare, current),
    ...factRows(prepare, current),
    ...bodyRows(prepare, current, sealing),
    ...documentRows(prepare, current),
    ...eventTermRows(prepare, current),
    ...exportRows(prepare, current),
    ...withdrawer(prepare, current),
    ...tenantRows(prepare, current),
  };
  return (project, effect, assigned) => {
    current.project = project;
    applyEffect(rows, effect, assigned);
  };
}

type Of<Names extends keyof EffectRows> = Pick<EffectRows, Names>;

function proofRows(prepare: Prepare, current: Current): Of<'saveProof' | 'saveGraph'> {
  const saveProof = prepare(
    'save proof',
    `INSERT INTO proof (project, proof_id, run_id, created_ms, proof, preimage, statements, tree_size,
       graph_index, leaf_index) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const saveGraph = prepare(
    'save graph',
    `INSERT INTO graph (project, graph_id, run_id, leaf_index, events, declaration_hash, root_hash, summary)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    saveProof: ({
      proofId,
      runId,
      createdMs,
      proof,
      preimage,
      statements,
      treeSize,
      graphIndex,
      leafIndex,
    }) => {
      const texts = JSON.stringify(Object.entries(statements));
      const numbers = [treeSize, graphIndex, leafIndex];
      saveProof.run(current.project, proofId, runId, createdMs, proof, preimage, texts, ...numbers);
    },
    saveGraph: ({ graphId, runId, leafIndex, events, declarationHash, rootHash, summary }) => {
      saveGraph.run(current.project, graphId, runId, leafIndex, events, declarationHash, rootHash, summary);
    },
  };
}

function runGraphRows(
  prepare: Prepare,
  current: Current,
): Of<'isSealed' | 'declarationHash' | 'declareGraph' | 'sealGraph'> {
  const find = prepare<{ sealed_ms: number | null; declaration: string | null }>(
    'find graph of run',
    'SELECT sealed_ms, declaration FROM run_graph WHERE project = ? AND run_id = ?',
  );
  const declare = prepare(
    'declare graph',
    `INSERT INTO run_graph (project, run_id, declaration, declared_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET declaration = excluded.declaration, declared_ms = excluded.declared_ms`,
  );
  const seal = prepare(
    'seal graph',
    `INSERT INTO run_graph (project, run_id, sealed_hash, sealed_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET sealed_hash = excluded.sealed_hash, sealed_ms = excluded.sealed_ms`,
  );
  return {
    isSealed: (runId) => (find.get(current.project, runId)?.sealed_ms ?? null) !== null,
    declarationHash: (runId) => {
      const text = find.get(current.project, runId)?.declaration ?? null;
      return text === null ? null : declarationHash(text);
    },
    declareGraph: ({ runId, declaration, atMs }) => {
      declare.run(current.project, runId, declaration, atMs);
    },
    sealGraph: (runId, { rootHash, atMs }) => {
      seal.run(current.project, runId, rootHash, atMs);
    },
  };
}

function jobRows(
  prepare: Prepare,
  current: Current,
): Of<'enqueueJob' | 'completeJob' | 'failJob' | 'cancelJob'> {
  const enqueue = prepare(
    'enqueue job',
    `INSERT INTO job (project, job_id, type, run_id, request, result_id, created_ms, status, attempt,
       attempts_before, due_ms) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', 1, 0, ?)`,
  );
  const complete = prepare(
    'complete job',
    `UPDATE job SET status = 'completed', result = ?, summary = ?, completed_ms = ?, lease = NULL,
       request = ${keptRequestSql}
     WHERE project = ? AND job_id = ? AND lease = ? AND status = 'processing'`,
  );
  const fail = prepare('fail job', failJobSql);
  const cancel = prepare(
    'cancel job',
    `UPDATE job SET status = 'cancelled', completed_ms = ?, lease = NULL, request = ${keptRequestSql}
     WHERE project = ? AND job_id = ? AND status = ? AND started_ms IS ?`,
  );
  return {
    enqueueJob: ({ jobId, type, runId, request, resultId = null, createdMs }) => {
      enqueue.run(current.project, jobId, type, runId, request, resultId, createdMs, createdMs);
    },
    completeJob: ({ jobId, lease, result, summary = null, atMs }) =>
      complete.run(result, summary, atMs, current.project, jobId, lease).changes === 1,
    failJob: ({ jobId, lease, errorSummary, atMs }) =>
      fail.run(atMs, errorSummary, current.project, jobId, lease).changes === 1,
    cancelJob: ({ jobId, from: { status, startedMs }, atMs }) =>
      cancel.run(atMs, current.project, jobId, status, startedMs).changes === 1,
  };
}

function claimRows(prepare: Prepare, current: Current): Of<'saveRiskConfig' | 'claimSnapshot'> {
  const saveConfig = prepare(
    'save risk config',
    `INSERT INTO risk_config (project, config, updated_ms) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET config = excluded.config, updated_ms = excluded.updated_ms`,
  );
  const claimSnapshot = prepare(
    'claim snapshot',
    'INSERT INTO run_snapshot (project, run_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  return {
    saveRiskConfig: ({ config, atMs }) => {
      saveConfig.run(current.project, config, atMs);
    },
    claimSnapshot: (runId) => claimSnapshot.run(current.project, runId).changes === 1,
  };
}

function factRows(prepare: Prepare, current: Current): Of<'fact' | 'saveFact'> {
  const find = prepare<{ value: string }>(
    'find intake fact',
    'SELECT value FROM intake_fact WHERE project = ? AND name = ?',
  );
  const save = prepare(
    'save intake fact',
    `INSERT INTO intake_fact (project, name, value, day) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET value = excluded.value, day = max(day, excluded.day)`,
  );
  return {
    fact: (name) => find.get(current.project, name)?.value ?? null,
    saveFact: (name, { value, day }) => {
      save.run(current.project, name, value, day);
    },
  };
}
