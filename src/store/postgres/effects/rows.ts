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
import { termWrites } from '../../write/event-terms.ts';
import { exportRows } from './exports.ts';
import { openJobKey, stoppedJobKey, versionKey } from '../write/facts.ts';
import { subjectKeyRows } from './subject-keys.ts';
import { tenantRows } from './tenants.ts';
import { approvalWrites } from '../../write/approvals.ts';
import { jobEffectWrites } from '../../write/jobs.ts';
import { policyWrites } from '../../write/policies.ts';
import { claimWrites, graphWrites } from '../../write/work.ts';
import { withdrawer } from './withdrawn.ts';
import type { CommitWriter } from './writing.ts';

export function effectRows(writing: CommitWriter): EffectRows {
  return {
    ...graphRows(writing),
    ...jobRows(writing),
    ...policyRows(writing),
    ...approvalRows(writing),
    ...claims(writing),
    ...bodyRows(writing),
    ...subjectKeyRows(writing),
    ...documentRows(writing),
    ...termWrites(writing.add),
    ...exportRows(writing),
    ...withdrawer(writing),
    ...tenantRows(writing),
  };
}

type EffectPart<Names extends keyof EffectRows> = Pick<EffectRows, Names>;

function graphRows({
  facts,
  undo,
  add,
}: CommitWriter): EffectPart<
  'saveProof' | 'saveGraph' | 'isSealed' | 'declarationHash' | 'declareGraph' | 'sealGraph'
> {
  const writes = graphWrites(add);
  return {
    ...writes,
    isSealed: (runId) => facts.sealed.has(runId),
    declarationHash: (runId) => facts.declarations.get(runId) ?? null,
    declareGraph: (effect) => {
      undo.set(facts.declarations, effect.runId, declarationHash(effect.declaration));
      writes.declareGraph(effect);
    },
    sealGraph: (runId, sealed) => {
      undo.include(facts.sealed, runId);
      writes.sealGraph(runId, sealed);
    },
  };
}

function jobRows({
  facts,
  undo,
  add,
}: CommitWriter): EffectPart<'enqueueJob' | 'completeJob' | 'failJob' | 'cancelJob' | 'retryJob'> {
  const writes = jobEffectWrites(add);
  const end = (jobId: string): void => {
    undo.delete(facts.leases, jobId);
    undo.delete(facts.openJobs, jobId);
  };
  return {
    ...writes,
    completeJob: (effect) => {
      if (facts.leases.get(effect.jobId) !== effect.lease) return false;
      end(effect.jobId);
      writes.completeJob(effect);
      return true;
    },
    failJob: (effect) => {
      if (facts.leases.get(effect.jobId) !== effect.lease) return false;
      end(effect.jobId);
      writes.failJob(effect);
      return true;
    },
    cancelJob: (effect) => {
      if (facts.openJobs.get(effect.jobId) !== openJobKey(effect.from)) return false;
      end(effect.jobId);
      writes.cancelJob(effect);
      return true;
    },
    retryJob: (effect) => {
      if (facts.stoppedJobs.get(effect.jobId) !== stoppedJobKey(effect.from)) return false;
      undo.delete(facts.stoppedJobs, effect.jobId);
      writes.retryJob(effect);
      return true;
    },
  };
}

function policyRows({
  facts,
  undo,
  add,
}: CommitWriter): EffectPart<
  | 'policy'
  | 'createPolicy'
  | 'movePolicy'
  | 'activePolicies'
  | 'saveVersion'
  | 'raiseVersion'
  | 'isPublished'
  | 'publish'
> {
  const writes = policyWrites(add);
  const countActive = (more: number): void => {
    facts.active += more;
    undo.add(() => (facts.active -= more));
  };
  return {
    policy: (policyId) => facts.policies.get(policyId) ?? null,
    activePolicies: () => facts.active,
    createPolicy: (made) => {
      const { policyId, revision, status, latestVersion } = made;
      undo.set(facts.policies, policyId, { revision, status, latestVersion });
      if (status === 'active') countActive(1);
      writes.createPolicy(made);
    },
    movePolicy: (effect) => {
      const { policyId, revision, status } = effect;
      const before = facts.policies.get(policyId);
      const latestVersion = before?.latestVersion ?? 0;
      undo.set(facts.policies, policyId, { revision: revision + 1, status, latestVersion });
      countActive(Number(status === 'active') - Number(before?.status === 'active'));
      writes.movePolicy(effect);
    },
    saveVersion: (made) => {
      undo.set(facts.versions, versionKey(made.policyId, made.version), made.published);
      writes.saveVersion(made);
    },
    raiseVersion: (made) => {
      const { policyId, version } = made;
      const before = facts.policies.get(policyId);
      if (before === undefined) throw new Error(`expected policy ${policyId} in the facts, got none`);
      const after = { ...before, revision: before.revision + 1, latestVersion: version };
      undo.set(facts.policies, policyId, after);
      writes.raiseVersion(made);
    },
    isPublished: (policyId, version) => facts.versions.get(versionKey(policyId, version)) ?? null,
    publish: (policyId, version) => {
      undo.set(facts.versions, versionKey(policyId, version), true);
      writes.publish(policyId, version);
    },
  };
}

function approvalRows({ facts, undo, add }: CommitWriter): ApprovalRows {
  const writes = approvalWrites(add);
  const change = (approvalId: string, changed: Partial<ApprovalState>): void => {
    const before = facts.approvals.get(approvalId);
    if (before !== undefined) undo.set(facts.approvals, approvalId, { ...before, ...changed });
  };
  return {
    openApproval: (opened) => {
      const { approvalId, expiresMs, callKey } = opened;
      undo.set(facts.approvals, approvalId, { expiresMs, decision: null, used: null });
      if (callKey !== null) undo.set(facts.newestOfCalls, callKey, approvalId);
      writes.openApproval(opened);
    },
    approval: (approvalId) => facts.approvals.get(approvalId) ?? null,
    newestOfCall: (callKey) => facts.newestOfCalls.get(callKey) ?? null,
    decideApproval: (effect) => {
      const { approvalId, outcome, by, comment, atMs } = effect;
      change(approvalId, { decision: { outcome, by, comment, atMs } });
      writes.decideApproval(effect);
    },
    useApproval: (effect) => {
      const { approvalId, evaluationId, atMs } = effect;
      change(approvalId, { used: { evaluationId, atMs } });
      writes.useApproval(effect);
    },
  };
}

function claims({
  facts,
  undo,
  add,
}: CommitWriter): EffectPart<'saveRiskConfig' | 'claimSnapshot' | 'fact' | 'saveFact'> {
  const writes = claimWrites(add);
  return {
    ...writes,
    claimSnapshot: (runId) => {
      if (facts.snapshots.has(runId)) return false;
      undo.include(facts.snapshots, runId);
      writes.claimSnapshot(runId);
      return true;
    },
    fact: (name) => facts.intake.get(name) ?? null,
    saveFact: (name, fact) => {
      undo.set(facts.intake, name, fact.value);
      writes.saveFact(name, fact);
    },
  };
}
