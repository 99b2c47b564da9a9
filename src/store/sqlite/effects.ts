/**
 * Rows that belong to a request's transaction beside its leaves. Each effect checks before it writes; what it
 * refuses refuses the request, whose savepoint takes back the effects before it.
 */
import { GovError } from '../../contract/problems.ts';
import type { Assigned, Effect, NewJob } from '../port.ts';
import { governanceWriter } from './governance.ts';
import { keptRequestSql } from './jobs.ts';
import type { Prepare } from './statement.ts';

/** Applies one effect of a request, whose leaves have their places, for the project with this number. */
export type EffectWriter = (project: number, effect: Effect, assigned: readonly Assigned[]) => void;

export function effectWriter(prepare: Prepare): EffectWriter {
  const saveProof = proofWriter(prepare);
  const saveGraph = graphWriter(prepare);
  const runGraphs = runGraphWriter(prepare);
  const jobs = jobWriter(prepare);
  const govern = governanceWriter(prepare);
  return (project, effect, assigned) => {
    switch (effect.kind) {
      case 'saveProof':
        return saveProof(project, effect, placeOf(effect, assigned));
      case 'saveGraph':
        return saveGraph(project, effect, placeOf(effect, assigned));
      case 'declareGraph':
        return runGraphs.declare(project, effect);
      case 'sealGraph':
        return runGraphs.seal(project, effect, placeOf(effect, assigned));
      case 'enqueueJob':
        return jobs.enqueue(project, effect.job);
      case 'completeJob':
        return jobs.complete(project, effect);
      case 'createPolicy':
      case 'addPolicyVersion':
      case 'movePolicy':
      case 'saveRiskConfig':
      case 'claimSnapshot':
      case 'openApproval':
      case 'decideApproval':
        return govern(project, effect);
    }
  };
}

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

interface Place {
  readonly index: number;
  readonly serverMs: number;
}

function placeOf({ kind, leaf }: { kind: string; leaf: number }, assigned: readonly Assigned[]): Place {
  const place = assigned[leaf];
  if (place?.outcome === 'appended') return place;
  throw new Error(`expected leaf ${leaf} of the request to be appended for ${kind}, got ${place?.outcome}`);
}

function proofWriter(prepare: Prepare) {
  const insert = prepare(
    'save proof',
    `INSERT INTO proof (project, proof_id, run_id, created_ms, proof, preimage, statements, tree_size,
       graph_index, leaf_index) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (project: number, { proof }: EffectOf<'saveProof'>, { index }: Place): void => {
    insert.run(
      project,
      proof.proofId,
      proof.runId,
      proof.createdMs,
      proof.proof,
      proof.preimage,
      JSON.stringify(Object.entries(proof.statements)),
      proof.treeSize,
      proof.graphIndex,
      index,
    );
  };
}

function graphWriter(prepare: Prepare) {
  const insert = prepare(
    'save graph',
    `INSERT INTO graph (project, graph_id, run_id, leaf_index, events, declaration_hash, root_hash, summary)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (project: number, { graph }: EffectOf<'saveGraph'>, { index }: Place): void => {
    const { graphId, runId, events, declarationHash, rootHash, summary } = graph;
    insert.run(project, graphId, runId, index, events, declarationHash, rootHash, summary);
  };
}

function runGraphWriter(prepare: Prepare) {
  const sealedAt = prepare<{ sealed_ms: number | null }>(
    'find seal',
    'SELECT sealed_ms FROM run_graph WHERE project = ? AND run_id = ?',
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
  const refuseSealed = (project: number, runId: string): void => {
    if ((sealedAt.get(project, runId)?.sealed_ms ?? null) !== null) {
      throw new GovError('GRAPH_SEALED', `the graph of run ${runId} is sealed and does not change any more`);
    }
  };
  return {
    declare: (project: number, effect: EffectOf<'declareGraph'>): void => {
      refuseSealed(project, effect.runId);
      declare.run(project, effect.runId, effect.declaration, effect.atMs);
    },
    seal: (project: number, effect: EffectOf<'sealGraph'>, { serverMs }: Place): void => {
      refuseSealed(project, effect.runId);
      seal.run(project, effect.runId, effect.rootHash, serverMs);
    },
  };
}

function jobWriter(prepare: Prepare) {
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
  return {
    enqueue: (project: number, job: NewJob): void => {
      const { jobId, type, runId, request, resultId = null, createdMs } = job;
      enqueue.run(project, jobId, type, runId, request, resultId, createdMs, createdMs);
    },
    complete: (project: number, effect: EffectOf<'completeJob'>): void => {
      const { result, summary = null, atMs, jobId, lease } = effect;
      if (complete.run(result, summary, atMs, project, jobId, lease).changes === 0) {
        throw new GovError('CONFLICT', `the lease of job ${jobId} was lost; another worker has it`);
      }
    },
  };
}
