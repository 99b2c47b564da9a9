/**
 * Rows of the port (`store.ts`): policies, approvals, proofs, graphs and jobs.
 * Evaluations, risk decisions, snapshots and replays are not rows. They are leaves of the log, which `leafOf`
 * and `leavesOf` read.
 * Proven by `test/store/suite/all.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import type { JobStatus, JobType } from '../../contract/job-words.ts';
import type { ErasureTarget } from '../../core/decided/erasure.ts';
import type { PolicyAction, PolicyName, PolicySeverity, PolicyStatus } from '../../contract/policy-words.ts';

export interface StoredPolicy extends PolicyName {
  readonly policyId: string;
  readonly status: PolicyStatus;
  readonly activeVersion: number | null;
  /** The active version before the policy was disabled, archived or taken back. `active` restores it. */
  readonly lastActiveVersion: number | null;
  readonly latestVersion: number;
  /** Starts at 1; every change raises it. */
  readonly revision: number;
  readonly createdMs: number;
  readonly createdBy: string;
  readonly updatedMs: number;
}

/** Immutable. */
export interface StoredPolicyVersion {
  readonly policyId: string;
  readonly version: number;
  /** `condition`: JSON as the client sent it. `normalized`: the canonical form, which is hashed. */
  readonly condition: string;
  readonly normalized: string;
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  /** Whether only a signature approves what this version escalates. */
  readonly requireSignedApproval: boolean;
  /** What an undecided condition means; null: the action, or escalate for `allow`. */
  readonly onIndeterminate: PolicyAction | null;
  readonly policyHash: string;
  readonly createdMs: number;
  readonly createdBy: string;
  /** Whether the version was ever active. */
  readonly published: boolean;
}

export interface ActivePolicy extends StoredPolicyVersion {
  readonly name: string;
}

/** The risk router's configuration and its index in the log, from one transaction. */
export interface StoredRiskConfig {
  /** JSON; null before the first one was put. */
  readonly config: string | null;
  /** Index of the newest gov.config/1 leaf, or null. */
  readonly configIndex: number | null;
}

export interface StoredApproval {
  readonly approvalId: string;
  readonly evaluationId: string;
  readonly runId: string;
  readonly reason: string;
  readonly requestedMs: number;
  /** Key id of the principal that requested it. */
  readonly requestedBy: string;
  readonly expiresMs: number;
  readonly decision: {
    readonly outcome: ApprovalOutcome;
    readonly by: string;
    readonly comment: string | null;
    readonly atMs: number;
  } | null;
  /**
   * Finds the approvals of one tool call: a keyed hash of the call. Null if the evaluation was not of a tool
   * call. Only a key to look up: what the approval allows follows from the leaf of its evaluation.
   */
  readonly callKey: string | null;
  /** The evaluation that allowed the approved call; null until then. */
  readonly used: { readonly evaluationId: string; readonly atMs: number } | null;
}

export interface StoredProof {
  readonly proofId: string;
  readonly runId: string;
  readonly createdMs: number;
  /** JCS of the ComplianceProof. */
  readonly proof: string;
  readonly preimage: string;
  /** Layer name → statement text, in answer order. */
  readonly statements: Readonly<Record<string, string>>;
  /**
   * `treeSize`: the tree size of the layers' statements. `graphIndex`: the index of the gov.graph/1 leaf that
   * they used, or null.
   */
  readonly treeSize: number;
  readonly graphIndex: number | null;
  /** Index of the gov.proof/1 leaf. */
  readonly leafIndex: number;
}

/** A logged graph: the content that its gov.graph/1 leaf commits to. Its rows are stored as parts. */
export interface StoredGraph {
  readonly graphId: string;
  readonly runId: string;
  readonly leafIndex: number;
  /** Number of the run's events that it covers; all have a smaller index. */
  readonly events: number;
  /** SHA-256 text of the declaration that it includes, or null. */
  readonly declarationHash: string | null;
  readonly rootHash: string;
  /** JSON of counts and list roots: {nodes:{n,root},edges:{n,root},unresolved}. */
  readonly summary: string;
}

export interface RunGraphState {
  readonly declaration: string | null;
  readonly declaredMs: number | null;
  readonly sealed: { readonly rootHash: string; readonly atMs: number } | null;
  readonly newest: StoredGraph | null;
}

/** Rows of a logged graph: deflated NDJSON of JCS items, in list order. */
export interface GraphPart {
  readonly list: 'nodes' | 'edges';
  readonly part: number;
  readonly items: Uint8Array;
}

/** Entries of the queue: jobs, and the building of exports, which only `claimJob` returns. */
export type QueuedType = JobType | 'export';

export interface NewJob {
  readonly jobId: string;
  readonly type: QueuedType;
  readonly runId: string;
  /**
   * Canonical request body, kept for retries. A body above `limits.jobRequestBytes` is kept only until the
   * job ends.
   */
  readonly request: string;
  /** The future id of the result, for a replay; else null. */
  readonly resultId?: string | null;
  readonly createdMs: number;
}

export interface StoredJob extends Omit<NewJob, 'type' | 'request' | 'resultId'> {
  readonly type: JobType;
  /** Null once the store has dropped it, or if it is too large to keep. */
  readonly request: string | null;
  readonly status: JobStatus;
  /** Starts at 1. Each return to pending raises it: after a lost lease, a failure or a retry. */
  readonly attempt: number;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  /** Null in lists. */
  readonly result: string | null;
  readonly resultId: string | null;
  readonly summary: string | null;
  readonly errorSummary: string | null;
}

/** A state of a job that has not ended; each claim has another one. */
export interface OpenJob {
  readonly status: 'pending' | 'processing';
  readonly startedMs: number | null;
}

/** A state of a job that failed or was cancelled; each retry has another one. */
export interface StoppedJob {
  readonly status: 'failed' | 'cancelled';
  readonly attempt: number;
}

export interface ClaimedJob extends Omit<StoredJob, 'type'> {
  readonly type: QueuedType;
  readonly projectId: string;
  readonly request: string;
  /** Attempts since the job was created or retried by hand; limits.jobAttempts + 1 if the worker of the last one was lost. */
  readonly tries: number;
  /** Names this claim; a later claim has another lease. */
  readonly lease: string;
}

/**
 * Removes salts and values from bodies. `leaf` is the gov.erasure/1 leaf that names the same targets. The
 * client's own event id goes with the field that contains it. Refused with CONFLICT if one of the digests is
 * no longer stored.
 */
export interface ErasureEffect {
  readonly kind: 'eraseFields';
  readonly targets: readonly ErasureTarget[];
  readonly leaf: number;
  /** Copies of the values, which are removed too. */
  readonly copies?: Copies;
  /** Keyed hash of the erased subject. The store also forgets which leaves are about it. */
  readonly subject?: string;
  /** Also destroys the subject's key. Refused with CONFLICT if the key seals more than these targets. */
  readonly destroysKey?: true;
}

/** Copies of values outside bodies: results of replays, and stored answers. */
export interface Copies {
  /** Runs whose replays show values. */
  readonly runIds: readonly string[];
  /** Evaluations (`pev_…`) and risk decisions (`rsk_…`) whose answers show values. */
  readonly ids: readonly string[];
}

/**
 * Allows `Store.dropPruned` to drop events below `minIndex`. Refused with CONFLICT if `minIndex` does not
 * grow.
 */
export interface PruneEffect {
  readonly kind: 'prune';
  readonly minIndex: number;
  /** Root of the first `minIndex` leaves, 32 bytes. */
  readonly root: Uint8Array;
  /** The gov.prune/1 leaf. */
  readonly leaf: number;
}

/** Effects of governance. The store checks and then writes each one, in the transaction of its leaves. */
export type GovernanceEffect =
  /** Refused with CONFLICT if the id exists. */
  | { readonly kind: 'createPolicy'; readonly policy: StoredPolicy; readonly version: StoredPolicyVersion }
  /**
   * Raises the policy's revision. Refused with CONFLICT if the stored revision is not `revision`. `counted:
   * 'elsewhere'`: the service numbers the versions, and a data plane gets only those that were in force. The
   * number then need not be the next one.
   */
  | {
      readonly kind: 'addPolicyVersion';
      readonly version: StoredPolicyVersion;
      readonly revision: number;
      readonly counted?: 'elsewhere';
    }
  /**
   * Raises and checks the revision like `addPolicyVersion`. Marks a version that becomes active as published.
   */
  | {
      readonly kind: 'movePolicy';
      readonly policyId: string;
      readonly revision: number;
      readonly status: PolicyStatus;
      readonly activeVersion: number | null;
      readonly lastActiveVersion: number | null;
      readonly atMs: number;
    }
  | { readonly kind: 'saveRiskConfig'; readonly config: string; readonly atMs: number }
  /** Refused with CONFLICT if the run has a snapshot: the first one stays. */
  | { readonly kind: 'claimSnapshot'; readonly runId: string }
  /**
   * `newest`: the newest approval with the same `callKey` that the service knows; null if there is none.
   * Refused with CONFLICT if there is a newer one.
   */
  | { readonly kind: 'openApproval'; readonly approval: StoredApproval; readonly newest: string | null }
  /** Refused with CONFLICT if the approval is already decided, or expired at `atMs`. */
  | {
      readonly kind: 'decideApproval';
      readonly approvalId: string;
      readonly outcome: ApprovalOutcome;
      readonly by: string;
      readonly comment: string | null;
      readonly atMs: number;
    }
  /** Refused with CONFLICT unless the approval was approved, is unused, and has not expired at `atMs`. */
  | {
      readonly kind: 'useApproval';
      readonly approvalId: string;
      readonly evaluationId: string;
      readonly atMs: number;
    };

/** Leaf types that the store indexes by run and, if they have one, by id. */
export const indexedLeaves = [
  'gov.evaluation/1',
  'gov.decision/1',
  'gov.approval/1',
  'gov.snapshot/1',
  'gov.replay/1',
  'gov.policy/1',
  'gov.config/1',
  'gov.erasure/1',
  'gov.prune/1',
  'gov.key/1',
  'gov.index/1',
  'gov.use/1',
  'gov.approver/1',
  'gov.loss/1',
] as const;
export type IndexedLeaf = (typeof indexedLeaves)[number];

/**
 * A witness's signature line over a checkpoint (C2SP tlog-cosignature), and `<name>+<key id>` of the key that
 * verified it.
 */
export interface Cosignature {
  readonly key: string;
  /** With its newline. */
  readonly line: string;
}

/** Position by (createdMs, id), newest first. */
export interface ByAge {
  readonly ms: number;
  readonly id: string;
}
