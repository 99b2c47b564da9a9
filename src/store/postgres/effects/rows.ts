/**
 * The rows that effects of a commit read and write. `src/store/append/effects.ts` judges the effects. They
 * are read from the commit's facts, changed there immediately so that the next request sees them, and written
 * with the commit. A crash before COMMIT leaves none of them.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { declarationHash } from '../../../core/graphs/declaration.ts';
import type { ApprovalRows, ApprovalState } from '../../append/approvals.ts';
import type { EffectRows } from '../../append/effects.ts';
import { bodyRows } from './bodies.ts';
import { documentRows } from './documents.ts';
import { eventTermRows } from './event-terms.ts';
import { exportRows } from './exports.ts';
import { keptRequestSql } from '../../rules/job-row.ts';
import { openJobKey, versionKey } from '../write/facts.ts';
import { kept, keptOrNull } from './texts.ts';
import { subjectKeyRows } from './subject-keys.ts';
import { tenantRows } from './tenants.ts';
import { sql, step } from '../../read/queries.ts';
import { withdrawer } from './withdrawn.ts';
import type { Writing } from './writing.ts';

export function effectRows(writing: Writing): EffectRows {
  return {
    ...graphRows(writing),
    ...jobRows(writing),
    ...policyRows(writing),
    ...versionRows(writing),
    ...approvalRows(writing),
    ...claims(writing),
    ...factRows(writing),
    ...bodyRows(writing),
    ...subjectKeyRows(writing),
    ...documentRows(writing),
    ...eventTermRows(writing),
    ...exportRows(writing),
    ...withdrawer(writing),
    ...tenantRows(writing),
  };
}

const saveProof = sql(
  `INSERT INTO proof (project, proof_id, run_id, created_ms, proof, preimage, statements, tree_size, graph_index,
     leaf_index) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);
const saveGraph = sql(
  `INSERT INTO graph (project, graph_id, run_id, leaf_index, events, declaration_hash, root_hash, summary)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const declareGraph = sql(
  `INSERT INTO run_graph (project, run_id, declaration, declared_ms) VALUES ($1, $2, $3, $4)
   ON CONFLICT (project, run_id) DO UPDATE SET declaration = excluded.declaration, declared_ms = excluded.declared_ms`,
);
const sealGraph = sql(
  `INSERT INTO run_graph (project, run_id, sealed_hash, sealed_ms) VALUES ($1, $2, $3, $4)
   ON CONFLICT (project, run_id) DO UPDATE SET sealed_hash = excluded.sealed_hash, sealed_ms = excluded.sealed_ms`,
);

type Of<Names extends keyof EffectRows> = Pick<EffectRows, Names>;

function graphRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'saveProof' | 'saveGraph' | 'isSealed' | 'declarationHash' | 'declareGraph' | 'sealGraph'> {
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
      write(step(saveProof, project, proofId, runId, createdMs, proof, preimage, texts, ...numbers));
    },
    saveGraph: ({ graphId, runId, leafIndex, events, declarationHash, rootHash, summary }) =>
      write(step(saveGraph, project, graphId, runId, leafIndex, events, declarationHash, rootHash, summary)),
    isSealed: (runId) => facts.sealed.has(runId),
    declarationHash: (runId) => facts.declarations.get(runId) ?? null,
    declareGraph: ({ runId, declaration, atMs }) => {
      undo.set(facts.declarations, runId, declarationHash(declaration));
      write(step(declareGraph, project, runId, declaration, atMs));
    },
    sealGraph: (runId, { rootHash, atMs }) => {
      undo.include(facts.sealed, runId);
      write(step(sealGraph, project, runId, rootHash, atMs));
    },
  };
}

const enqueueJob = sql(
  `INSERT INTO job (project, job_id, type, run_id, request, result_id, created_ms, status, attempt, attempts_before,
     due_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', 1, 0, $7)`,
);
const completeJob = sql(
  `UPDATE job SET status = 'completed', result = $3, summary = $4, completed_ms = $5, lease = NULL,
     request = ${keptRequestSql} WHERE project = $1 AND job_id = $2`,
);

const failJob = sql(
  `UPDATE job SET status = 'failed', error_summary = $3, completed_ms = $4, lease = NULL, request = ${keptRequestSql}
   WHERE project = $1 AND job_id = $2`,
);
const cancelJob = sql(
  `UPDATE job SET status = 'cancelled', completed_ms = $3, lease = NULL, request = ${keptRequestSql}
   WHERE project = $1 AND job_id = $2`,
);

function jobRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'enqueueJob' | 'completeJob' | 'failJob' | 'cancelJob'> {
  return {
    enqueueJob: ({ jobId, type, runId, request, resultId = null, createdMs }) =>
      write(step(enqueueJob, project, jobId, type, runId, request, resultId, createdMs)),
    completeJob: ({ jobId, lease, result, summary = null, atMs }) => {
      if (facts.leases.get(jobId) !== lease) return false;
      undo.delete(facts.leases, jobId);
      undo.delete(facts.openJobs, jobId);
      write(step(completeJob, project, jobId, result, summary, atMs));
      return true;
    },
    failJob: ({ jobId, lease, errorSummary, atMs }) => {
      if (facts.leases.get(jobId) !== lease) return false;
      undo.delete(facts.leases, jobId);
      undo.delete(facts.openJobs, jobId);
      write(step(failJob, project, jobId, kept(errorSummary), atMs));
      return true;
    },
    cancelJob: ({ jobId, from, atMs }) => {
      if (facts.openJobs.get(jobId) !== openJobKey(from)) return false;
      undo.delete(facts.openJobs, jobId);
      undo.delete(facts.leases, jobId);
      write(step(cancelJob, project, jobId, atMs));
      return true;
    },
  };
}

const createPolicy = sql(
  `INSERT INTO policy (project, policy_id, name, description, status, active_version, last_active_version,
     latest_version, revision, created_ms, created_by, updated_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);
const movePolicy = sql(
  `UPDATE policy SET status = $3, active_version = $4, last_active_version = $5, revision = revision + 1,
     updated_ms = $6 WHERE project = $1 AND policy_id = $2`,
);

function policyRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'policy' | 'createPolicy' | 'movePolicy' | 'activePolicies'> {
  const countActive = (more: number): void => {
    facts.active += more;
    undo.add(() => (facts.active -= more));
  };
  return {
    policy: (policyId) => facts.policies.get(policyId) ?? null,
    activePolicies: () => facts.active,
    createPolicy: (made) => {
      const { policyId, name, description, status, activeVersion, lastActiveVersion, latestVersion } = made;
      const { revision, createdMs, createdBy, updatedMs } = made;
      undo.set(facts.policies, policyId, { revision, status, latestVersion });
      if (status === 'active') countActive(1);
      const texts = [policyId, kept(name), keptOrNull(description), status];
      const versions = [activeVersion, lastActiveVersion, latestVersion, revision];
      write(step(createPolicy, project, ...texts, ...versions, createdMs, createdBy, updatedMs));
    },
    movePolicy: ({ policyId, revision, status, activeVersion, lastActiveVersion, atMs }) => {
      const before = facts.policies.get(policyId);
      const latestVersion = before?.latestVersion ?? 0;
      undo.set(facts.policies, policyId, { revision: revision + 1, status, latestVersion });
      countActive(Number(status === 'active') - Number(before?.status === 'active'));
      write(step(movePolicy, project, policyId, status, activeVersion, lastActiveVersion, atMs));
    },
  };
}

const saveVersion = sql(
  `INSERT INTO policy_version (project, policy_id, version, condition, normalized, action, severity, policy_hash,
     created_ms, created_by, published, require_signed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);
const raiseVersion = sql(
  `UPDATE policy SET latest_version = $3, revision = revision + 1, updated_ms = $4
   WHERE project = $1 AND policy_id = $2`,
);
const publish = sql(
  'UPDATE policy_version SET published = 1 WHERE project = $1 AND policy_id = $2 AND version = $3',
);

function versionRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'saveVersion' | 'raiseVersion' | 'isPublished' | 'publish'> {
  return {
    saveVersion: (made) => {
      const { policyId, version, condition, normalized, action, severity, policyHash } = made;
      undo.set(facts.versions, versionKey(policyId, version), made.published);
      const texts = [condition, normalized, action, severity, policyHash];
      const rest = [
        made.createdMs,
        made.createdBy,
        made.published ? 1 : 0,
        made.requireSignedApproval ? 1 : 0,
      ];
      write(step(saveVersion, project, policyId, version, ...texts, ...rest));
    },
    raiseVersion: ({ policyId, version, createdMs }) => {
      const before = facts.policies.get(policyId);
      if (before === undefined) throw new Error(`expected policy ${policyId} in the facts, got none`);
      const after = { ...before, revision: before.revision + 1, latestVersion: version };
      undo.set(facts.policies, policyId, after);
      write(step(raiseVersion, project, policyId, version, createdMs));
    },
    isPublished: (policyId, version) => facts.versions.get(versionKey(policyId, version)) ?? null,
    publish: (policyId, version) => {
      undo.set(facts.versions, versionKey(policyId, version), true);
      write(step(publish, project, policyId, version));
    },
  };
}

const openApproval = sql(
  `INSERT INTO approval (project, approval_id, evaluation_id, run_id, reason, requested_ms, requested_by, expires_ms,
     call_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
const decideApproval = sql(
  `UPDATE approval SET outcome = $3, decided_by = $4, comment = $5, decided_ms = $6
   WHERE project = $1 AND approval_id = $2`,
);

const useApproval = sql(
  'UPDATE approval SET used_by = $3, used_ms = $4 WHERE project = $1 AND approval_id = $2',
);

function approvalRows({ project, facts, undo, write }: Writing): ApprovalRows {
  const change = (approvalId: string, changed: Partial<ApprovalState>): void => {
    const before = facts.approvals.get(approvalId);
    if (before !== undefined) undo.set(facts.approvals, approvalId, { ...before, ...changed });
  };
  return {
    openApproval: (opened) => {
      const { approvalId, evaluationId, runId, reason, requestedMs, requestedBy, expiresMs, callKey } =
        opened;
      undo.set(facts.approvals, approvalId, { expiresMs, decision: null, used: null });
      if (callKey !== null) undo.set(facts.newestOfCalls, callKey, approvalId);
      const texts = [approvalId, evaluationId, runId, kept(reason)];
      write(step(openApproval, project, ...texts, requestedMs, requestedBy, expiresMs, callKey));
    },
    approval: (approvalId) => facts.approvals.get(approvalId) ?? null,
    newestOfCall: (callKey) => facts.newestOfCalls.get(callKey) ?? null,
    decideApproval: ({ approvalId, outcome, by, comment, atMs }) => {
      change(approvalId, { decision: { outcome, by, comment, atMs } });
      write(step(decideApproval, project, approvalId, outcome, by, keptOrNull(comment), atMs));
    },
    useApproval: ({ approvalId, evaluationId, atMs }) => {
      change(approvalId, { used: { evaluationId, atMs } });
      write(step(useApproval, project, approvalId, evaluationId, atMs));
    },
  };
}

const saveConfig = sql(
  `INSERT INTO risk_config (project, config, updated_ms) VALUES ($1, $2, $3)
   ON CONFLICT (project) DO UPDATE SET config = excluded.config, updated_ms = excluded.updated_ms`,
);
const claimSnapshot = sql('INSERT INTO run_snapshot (project, run_id) VALUES ($1, $2)');

function claims({ project, facts, undo, write }: Writing): Of<'saveRiskConfig' | 'claimSnapshot'> {
  return {
    saveRiskConfig: ({ config, atMs }) => write(step(saveConfig, project, config, atMs)),
    claimSnapshot: (runId) => {
      if (facts.snapshots.has(runId)) return false;
      undo.include(facts.snapshots, runId);
      write(step(claimSnapshot, project, runId));
      return true;
    },
  };
}

const saveFact = sql(
  `INSERT INTO intake_fact (project, name, value, day) VALUES ($1, $2, $3, $4)
   ON CONFLICT (project, name) DO UPDATE
   SET value = excluded.value, day = greatest(intake_fact.day, excluded.day)`,
);

function factRows({ project, facts, undo, write }: Writing): Of<'fact' | 'saveFact'> {
  return {
    fact: (name) => facts.intake.get(name) ?? null,
    saveFact: (name, { value, day }) => {
      undo.set(facts.intake, name, value);
      write(step(saveFact, project, name, value, day));
    },
  };
}
