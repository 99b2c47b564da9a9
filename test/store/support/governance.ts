/** Policies, approvals and leaves of decisions as store tests make them, each with the leaf that belongs to it. */
import { draftApproval, draftUse } from '../../../src/core/decided/approval.ts';
import { draftEvaluation, type Evaluation } from '../../../src/core/decided/evaluation.ts';
import type { RecordedDecision } from '../../../src/core/decided/recorded-decision.ts';
import { nameOf, unsaid, type PolicyName } from '../../../src/contract/policy-words.ts';
import { draftPolicyChange, type PolicyChange } from '../../../src/core/decided/policy-change.ts';
import { draftReplay, type ReplayRecord } from '../../../src/core/decided/replay.ts';
import { draftRiskDecision } from '../../../src/core/decided/risk-decision.ts';
import { draftConfigChange } from '../../../src/core/decided/risk-config.ts';
import { draftSnapshot } from '../../../src/core/decided/snapshot.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { policyHash } from '../../../src/core/policies/language/hash.ts';
import { riskConfigHash } from '../../../src/core/risk/config.ts';
import type { OtherDraft } from '../../../src/core/events/record.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import type {
  AppendRequest,
  StoredApproval,
  StoredPolicy,
  StoredPolicyVersion,
} from '../../../src/store/port/store.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { request, salt, startMs } from './fixture.ts';

const at = '2026-01-01T00:00:00Z';
export const hourMs = 3_600_000;
const condition = { amount: { '>': 5 } };
const normalized = canonicalCondition(parseCondition(condition));

/** A request that is not metered. */
export const unmetered = (
  leaves: AppendRequest['leaves'],
  effects: readonly Effect[] = [],
  more: Partial<AppendRequest> = {},
): AppendRequest => request(leaves, { meter: { op: 'none', units: 0 }, effects, ...more });

export const policy = (id: string, more: Partial<StoredPolicy> = {}): StoredPolicy => ({
  policyId: `pol_${id}`,
  ...unsaid,
  name: `policy ${id}`,
  status: 'draft',
  activeVersion: null,
  lastActiveVersion: null,
  latestVersion: 1,
  revision: 1,
  createdMs: startMs,
  createdBy: 'key_1',
  updatedMs: startMs,
  ...more,
});

export function version(
  id: string,
  number = 1,
  more: Partial<StoredPolicyVersion> = {},
): StoredPolicyVersion {
  const hashed = {
    policyId: `pol_${id}`,
    version: number,
    action: 'deny',
    severity: 'high',
    requireSignedApproval: false,
    onIndeterminate: null,
    ...more,
  } as const;
  return {
    ...hashed,
    condition: JSON.stringify(condition, null, 1),
    normalized: canonicalize(normalized),
    policyHash: policyHash({ ...hashed, condition: normalized }),
    createdMs: startMs + number - 1,
    createdBy: 'key_1',
    published: false,
    ...more,
  };
}

/** The gov.policy/1 leaf of a change. */
export const policyLeaf = (
  id: string,
  change: Partial<PolicyChange> = {},
  of: StoredPolicyVersion = version(id, change.version),
  named?: PolicyName,
): OtherDraft => {
  const about = { policyId: of.policyId, version: of.version, policyHash: of.policyHash };
  const made = {
    event: 'created',
    from: null,
    to: 'draft',
    at: formatTimestamp(of.createdMs),
    ...change,
    ...about,
    ...(named === undefined ? {} : { named }),
  } as const;
  return draftPolicyChange({ ...made, reason: null, actor: 'key_1' }, salt);
};

export function createPolicy(
  id: string,
  { more = {}, of = {} }: { more?: Partial<StoredPolicy>; of?: Partial<StoredPolicyVersion> } = {},
): AppendRequest {
  const first = version(id, 1, of);
  const made = policy(id, more);
  return unmetered(
    [policyLeaf(id, {}, first, nameOf(made))],
    [{ kind: 'createPolicy', policy: made, version: first }],
  );
}

export const addVersion = (id: string, number: number, revision: number): AppendRequest =>
  unmetered(
    [policyLeaf(id, { version: number, event: 'version_added', from: 'draft', to: 'draft' })],
    [{ kind: 'addPolicyVersion', version: version(id, number), revision }],
  );

/** A move to `status`; a version is in force after it where the status is active. */
export function movePolicy(
  id: string,
  status: StoredPolicy['status'],
  { revision, active = 1, atMs = startMs }: { revision: number; active?: number; atMs?: number },
): AppendRequest {
  const from = status === 'disabled' ? 'active' : 'draft';
  const at = formatTimestamp(atMs);
  const leaf = policyLeaf(id, { version: active, event: 'transition', from, to: status, at });
  const effect: Effect = {
    kind: 'movePolicy',
    policyId: `pol_${id}`,
    revision,
    status,
    activeVersion: status === 'active' ? active : null,
    lastActiveVersion: status === 'active' || status === 'disabled' ? active : null,
    atMs,
  };
  return unmetered([leaf], [effect]);
}

export const evaluation = (id: string, more: Partial<Evaluation> = {}): OtherDraft =>
  draftEvaluation(
    {
      id: `pev_${id}`,
      runId: 'r1',
      policySource: 'active',
      policyCount: 0,
      policyIds: null,
      policySetHash: 'sha256:none',
      policyIndex: null,
      combined: 'allow',
      approval: null,
      evaluatedAt: at,
      decisions: [],
      shadow: [],
      checkpoint: { context: { amount: 5 } },
      readSet: null,
      ...more,
    },
    salt,
  );

export const riskDecision = (id: string, runId = 'r1'): OtherDraft =>
  draftRiskDecision(
    {
      id: `dec_${id}`,
      runId,
      action: 'allow',
      score: 0,
      deterministicInputsHash: 'sha256:i',
      configHash: 'sha256:c',
      evaluatedAt: at,
      wouldBeAction: null,
      factors: [],
      inputs: {},
    },
    salt,
  );

/** A configuration of the risk router, by its text, and its leaf. */
export const configure = (config: string, atMs = startMs): AppendRequest => {
  const changed = {
    configHash: riskConfigHash(config),
    at: formatTimestamp(atMs),
    config: {},
    actor: 'key_1',
  };
  return unmetered([draftConfigChange(changed, salt)], [{ kind: 'saveRiskConfig', config, atMs }]);
};

export const snapshot = (runId = 'r1'): OtherDraft =>
  draftSnapshot(
    runId,
    { policyHash: 'sha256:p', modelRoute: 'm', toolRegistryHash: '', configStateHash: '' },
    salt,
  );

export const replay = (id: string, runId = 'r1', more: Partial<ReplayRecord> = {}): OtherDraft => {
  const none = { n: 0, root: 'sha256:empty' };
  const counts = { treeSize: 1, steps: 0, replayed: 0, notReplayable: 0, mismatches: none };
  return draftReplay(
    {
      replayId: `rpl_${id}`,
      runId,
      kind: 'decisions',
      ...counts,
      warnings: 2,
      driftCount: 0,
      at,
      snapshot: null,
      drift: none,
      result: null,
      ...more,
    },
    salt,
  );
};

/** A job of a replay, accepted. */
export const acceptReplay = (id: string, createdMs = startMs): AppendRequest => {
  const named = { jobId: `job_${id}`, resultId: `rpl_${id}`, runId: 'r1' };
  return unmetered([], [{ kind: 'enqueueJob', job: { ...named, type: 'replay', request: '{}', createdMs } }]);
};

/** The same, completed by whoever has its lease. */
export const completeReplay = (id: string, lease: string, atMs = startMs + 1): AppendRequest => {
  const result = `{"replayId":"rpl_${id}"}`;
  const summary = '{"steps":0,"warnings":2,"drift":0}';
  const logged = { at: formatTimestamp(atMs), result: sha256Text(result) };
  return unmetered(
    [replay(id, 'r1', logged)],
    [{ kind: 'completeJob', jobId: `job_${id}`, lease, result, summary, atMs }],
  );
};

export const approval = (id: string, more: Partial<StoredApproval> = {}): StoredApproval => ({
  approvalId: `apr_${id}`,
  evaluationId: `pev_${id}`,
  runId: 'r1',
  reason: 'amount over the limit',
  requestedMs: startMs,
  requestedBy: 'key_1',
  expiresMs: startMs + 24 * hourMs,
  decision: null,
  callKey: null,
  used: null,
  ...more,
});

const escalated = (reasoning: string): RecordedDecision => ({
  decision: 'escalate',
  outcome: 'matched',
  policyHash: null,
  policyId: 'pol_1',
  reasoning,
  severity: null,
  version: 1,
});

/** An evaluation that escalates, and the approval that it opens. */
export const openApproval = (
  id: string,
  more: Partial<StoredApproval> = {},
  newest: string | null = null,
): AppendRequest => {
  const made = approval(id, more);
  const { approvalId, requestedBy, expiresMs, requestedMs, reason, runId } = made;
  const leaf = evaluation(id, {
    runId,
    combined: 'escalate',
    approval: { id: approvalId, requestedBy, expiresAt: formatTimestamp(expiresMs) },
    evaluatedAt: formatTimestamp(requestedMs),
    decisions: [escalated(reason)],
  });
  return unmetered([leaf], [{ kind: 'openApproval', approval: made, newest }]);
};

export const decideApproval = (
  id: string,
  outcome: 'approved' | 'denied',
  { atMs = startMs + 1, runId = 'r1' }: { atMs?: number; runId?: string } = {},
): AppendRequest => {
  const [approvalId, by] = [`apr_${id}`, 'key_2'];
  const at = formatTimestamp(atMs);
  const record = { id: approvalId, runId, evaluationId: `pev_${id}`, outcome, approver: by, at };
  const leaf = draftApproval({ ...record, reason: 'seen' }, salt);
  return unmetered([leaf], [{ kind: 'decideApproval', approvalId, outcome, by, comment: 'seen', atMs }]);
};

/** The evaluation `pev_u<id>` of the approved call, which uses the approval. */
export const useApproval = (
  id: string,
  { atMs = startMs + 2, runId = 'r1' }: { atMs?: number; runId?: string } = {},
): AppendRequest => {
  const [approvalId, evaluationId, at] = [`apr_${id}`, `pev_u${id}`, formatTimestamp(atMs)];
  const escalates = { runId, combined: 'escalate', approval: null, evaluatedAt: at } as const;
  const decided = evaluation(`u${id}`, { ...escalates, decisions: [escalated('amount over the limit')] });
  const leaf = draftUse({ id: approvalId, runId, evaluationId, at });
  return unmetered([decided, leaf], [{ kind: 'useApproval', approvalId, evaluationId, atMs }]);
};
