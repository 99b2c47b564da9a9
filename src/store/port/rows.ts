/**
 * Rows as the port speaks of them (`store.ts`): policies, approvals, proofs, graphs, jobs. What was decided is
 * not among them: evaluations, risk decisions, snapshots and replays are leaves of the log, read by `leafOf` and
 * `leavesOf`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import type { JobStatus, JobType } from '../../contract/jobs.ts';
import type { ErasureTarget } from '../../core/decided/erasure.ts';
import type { PolicyAction, PolicySeverity, PolicyStatus } from '../../contract/policy-words.ts';

export interface StoredPolicy {
  readonly policyId: string;
  readonly name: string;
  readonly description: string | null;
  readonly status: PolicyStatus;
  readonly activeVersion: number | null;
  /** The version that was active when the policy was disabled, archived or taken back: where `active` leads again. */
  readonly lastActiveVersion: number | null;
  readonly latestVersion: number;
  /** 1, raised by every change. */
  readonly revision: number;
  readonly createdMs: number;
  readonly createdBy: string;
  readonly updatedMs: number;
}

/** Immutable. */
export interface StoredPolicyVersion {
  readonly policyId: string;
  readonly version: number;
  /** JSON as it was sent, and the canonical form that is hashed. */
  readonly condition: string;
  readonly normalized: string;
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  readonly policyHash: string;
  readonly createdMs: number;
  readonly createdBy: string;
  /** Whether it ever was active. */
  readonly published: boolean;
}

export interface ActivePolicy extends StoredPolicyVersion {
  readonly name: string;
}

/** The risk router's configuration, of one moment with the log. */
export interface StoredRiskConfig {
  /** JSON, or null before any was put. */
  readonly config: string | null;
  /** Index of the newest gov.config/1 leaf, null where there is none. */
  readonly configIndex: number | null;
}

export interface StoredApproval {
  readonly approvalId: string;
  readonly evaluationId: string;
  readonly runId: string;
  readonly reason: string;
  readonly requestedMs: number;
  /** Key id of the principal that asked. */
  readonly requestedBy: string;
  readonly expiresMs: number;
  readonly decision: {
    readonly outcome: ApprovalOutcome;
    readonly by: string;
    readonly comment: string | null;
    readonly atMs: number;
  } | null;
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
  /** S: the tree size the layers speak of; graphIndex: the gov.graph/1 leaf they used, if any. */
  readonly treeSize: number;
  readonly graphIndex: number | null;
  /** Index of the gov.proof/1 leaf. */
  readonly leafIndex: number;
}

/** A logged graph: what its gov.graph/1 leaf committed to. Its rows are kept as parts. */
export interface StoredGraph {
  readonly graphId: string;
  readonly runId: string;
  readonly leafIndex: number;
  /** Events of the run that it covers (all with a smaller index). */
  readonly events: number;
  /** SHA-256 text of the declaration it includes, or null. */
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

/** What the queue holds: jobs, and the building of exports, of which only `claimJob` tells. */
export type QueuedType = JobType | 'export';

export interface NewJob {
  readonly jobId: string;
  readonly type: QueuedType;
  readonly runId: string;
  /** Canonical request body, kept for retries; one over `limits.jobRequestBytes` until the job has ended. */
  readonly request: string;
  /** The id that the result will have (of a replay); null where it has none. */
  readonly resultId?: string | null;
  readonly createdMs: number;
}

export interface StoredJob extends Omit<NewJob, 'type' | 'request' | 'resultId'> {
  readonly type: JobType;
  /** Null once it is no longer kept, and where it is too large to be. */
  readonly request: string | null;
  readonly status: JobStatus;
  /** 1, raised whenever the job goes back to pending: lost lease, failure, retry. */
  readonly attempt: number;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  /** Null in lists. */
  readonly result: string | null;
  readonly resultId: string | null;
  readonly summary: string | null;
  readonly errorSummary: string | null;
}

export interface ClaimedJob extends Omit<StoredJob, 'type'> {
  readonly type: QueuedType;
  readonly projectId: string;
  readonly request: string;
  /** 1 to limits.jobAttempts: attempts since the job was made, or retried by hand. */
  readonly tries: number;
  /** Names this claim; a later claim has another one. */
  readonly lease: string;
}

/**
 * Removes salts and values from bodies; `leaf` is the gov.erasure/1 leaf that names the same targets. A client's own id of
 * an event goes with the field that has it. Refused with CONFLICT where one of the digests is not kept any more.
 */
export interface ErasureEffect {
  readonly kind: 'eraseFields';
  readonly targets: readonly ErasureTarget[];
  readonly leaf: number;
  /** What may hold copies of the values goes with them. */
  readonly copies?: Copies;
  /** Keyed hash of the subject for whose sake all is erased: that the leaves are about it is forgotten too. */
  readonly subject?: string;
  /** The subject's key is destroyed with it: refused with CONFLICT where it is not all that is sealed with it. */
  readonly destroysKey?: true;
}

/** Where copies of values are kept beside bodies: results of replays, and answers for repeats. */
export interface Copies {
  /** Runs whose replays show values. */
  readonly runIds: readonly string[];
  /** Evaluations (`pev_…`) and risk decisions (`rsk_…`) whose answers do. */
  readonly ids: readonly string[];
}

/** From here on events below `minIndex` may be dropped (`Store.dropPruned`). Refused with CONFLICT where it does not grow. */
export interface PruneEffect {
  readonly kind: 'prune';
  readonly minIndex: number;
  /** Of the first `minIndex` leaves, 32 bytes. */
  readonly root: Uint8Array;
  /** The gov.prune/1 leaf. */
  readonly leaf: number;
}

/** Effects of governance; each checks, then writes, in the transaction of its leaves. */
export type GovernanceEffect =
  /** Refused with CONFLICT where the id is taken. */
  | { readonly kind: 'createPolicy'; readonly policy: StoredPolicy; readonly version: StoredPolicyVersion }
  /**
   * Refused with CONFLICT where the policy's revision is not `revision`; raises it. `counted: 'elsewhere'`: the service
   * counts the versions, of which a data plane gets those that were in force, so the number need not be the next one.
   */
  | {
      readonly kind: 'addPolicyVersion';
      readonly version: StoredPolicyVersion;
      readonly revision: number;
      readonly counted?: 'elsewhere';
    }
  /** As above. A version that becomes active is marked as published. */
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
  /** Refused with CONFLICT where the run has a snapshot: the first one stays. */
  | { readonly kind: 'claimSnapshot'; readonly runId: string }
  | { readonly kind: 'openApproval'; readonly approval: StoredApproval }
  /** Refused with CONFLICT where it is decided already, or expired at `atMs`. */
  | {
      readonly kind: 'decideApproval';
      readonly approvalId: string;
      readonly outcome: ApprovalOutcome;
      readonly by: string;
      readonly comment: string | null;
      readonly atMs: number;
    };

/** Leaf types that are indexed by run and, where they have one, by id. */
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
] as const;
export type IndexedLeaf = (typeof indexedLeaves)[number];

/** A witness's signature line over a checkpoint, and `<name>+<key id>` of the key that it was verified with. */
export interface Cosignature {
  readonly key: string;
  /** With its newline. */
  readonly line: string;
}

/** (createdMs, id), newest first. */
export interface ByAge {
  readonly ms: number;
  readonly id: string;
}
