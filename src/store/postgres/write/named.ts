/**
 * Collects the ids that requests name, so that one round trip looks them up before planning.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { AppendRequest } from '../../port/store.ts';
import type { Effect } from '../../port/store.ts';

export function named(requests: readonly AppendRequest[], effects: readonly Effect[]) {
  const ids = {
    keys: new Set<string>(),
    clients: new Set<string>(),
    runs: new Set<string>(),
    graphs: new Set<string>(),
    snapshots: new Set<string>(),
    facts: new Set<string>(),
    jobs: new Set<string>(),
    policies: new Set<string>(),
    approvals: new Set<string>(),
    calls: new Set<string>(),
    exports: new Set<string>(),
  };
  for (const { idempotency, expect, leaves } of requests) {
    if (idempotency !== undefined) ids.keys.add(idempotency.key);
    if (expect?.run !== undefined) ids.runs.add(expect.run.runId);
    for (const draft of leaves) {
      if (draft.kind !== 'event') continue;
      ids.runs.add(draft.runId);
      if (draft.clientEventId !== null) ids.clients.add(draft.clientEventId);
    }
  }
  for (const effect of effects) {
    if (effect.kind === 'declareGraph' || effect.kind === 'sealGraph') ids.graphs.add(effect.runId);
    else if (effect.kind === 'saveGraph') ids.graphs.add(effect.graph.runId);
    else if (effect.kind === 'claimSnapshot') ids.snapshots.add(effect.runId);
    else if (effect.kind === 'saveFacts') for (const { name } of effect.facts) ids.facts.add(name);
    else if (isOfJob(effect)) ids.jobs.add(effect.jobId);
    else if (effect.kind === 'finishExport') ids.exports.add(effect.exportId);
    else if (effect.kind === 'createPolicy') ids.policies.add(effect.policy.policyId);
    else if (effect.kind === 'addPolicyVersion') ids.policies.add(effect.version.policyId);
    else if (effect.kind === 'movePolicy') ids.policies.add(effect.policyId);
    else if (effect.kind === 'decideApproval') ids.approvals.add(effect.approvalId);
    else if (effect.kind === 'useApproval') ids.approvals.add(effect.approvalId);
    else if (effect.kind === 'openApproval') {
      if (effect.approval.callKey !== null) ids.calls.add(effect.approval.callKey);
    }
  }
  return ids;
}

const isOfJob = (
  effect: Effect,
): effect is Extract<Effect, { kind: 'completeJob' | 'failJob' | 'cancelJob' | 'retryJob' }> =>
  effect.kind === 'completeJob' ||
  effect.kind === 'failJob' ||
  effect.kind === 'cancelJob' ||
  effect.kind === 'retryJob';
