/**
 * The store, in domain verbs. An engine (SQLite, later PostgreSQL) implements it; `test/store/suite/all.ts` is run
 * against every engine.
 *
 * Guarantees an engine gives:
 * - `append` resolves only when everything in the request is durable; one request is stored whole or not at all.
 * - Leaves get consecutive indexes in request order; a run's `runSeq` is gap-free from 0; `serverTimestamp`
 *   never runs backwards within a log.
 * - A read that starts after `append` resolved sees what it stored.
 * - Every verb takes the project and answers from that project only.
 * - After an I/O error nothing is retried as if it had worked: `append` refuses with STORAGE_FAULT from then on
 *   (STORAGE_FULL while the disk is full; that one heals by itself).
 */
import type { ApprovalStatus } from '../../contract/approvals.ts';
import type { JobStatus, JobType } from '../../contract/jobs.ts';
import type { Checkpoint } from '../../core/note/checkpoint.ts';
import type { Totals } from '../../core/plane/metering.ts';
import type { LeafDraft } from '../../core/event/record.ts';
import type { ExportEffect, ExportReader, ExportStore } from './exports.ts';
import type { MeterReader } from './metering.ts';
import type { AppendOutcome, AppendRequest, StoredResponse } from './request.ts';
import type { ApiKeyRow, TenantEffect, TenantReader, TenantStore } from './tenancy.ts';
import type {
  ActivePolicy,
  ByAge,
  ClaimedJob,
  ErasureEffect,
  Cosignature,
  GovernanceEffect,
  GraphPart,
  IndexedLeaf,
  NewJob,
  PruneEffect,
  RunGraphState,
  StoredApproval,
  StoredGraph,
  StoredJob,
  StoredPolicy,
  StoredPolicyVersion,
  StoredProof,
  StoredRiskConfig,
} from './rows.ts';

export type * from './rows.ts';
export type * from './request.ts';
export type { Credential, RequiredCaller } from './caller.ts';
export type * from './tenancy.ts';
export type * from './planes.ts';
export type * from './metering.ts';
export type * from './exports.ts';

/** The two trees of a project. */
export type TreeName = 'audit' | 'metering';

export interface Project {
  readonly projectId: string;
  readonly organizationId: string;
  readonly environment: 'production' | 'sandbox';
  readonly auditOrigin: string;
  readonly meteringOrigin: string;
}

/**
 * Rows written in the transaction of a request. A refused effect refuses the whole request alone. `leaf`: the
 * position in the request of a leaf that is appended by it, whose place in the log the row names.
 */
export type Effect =
  | GovernanceEffect
  | ErasureEffect
  | PruneEffect
  | TenantEffect
  | ExportEffect
  | { readonly kind: 'saveProof'; readonly proof: Omit<StoredProof, 'leafIndex'>; readonly leaf: number }
  | { readonly kind: 'saveGraph'; readonly graph: Omit<StoredGraph, 'leafIndex'>; readonly leaf: number }
  /** Refused with GRAPH_SEALED. */
  | {
      readonly kind: 'declareGraph';
      readonly runId: string;
      readonly declaration: string;
      readonly atMs: number;
    }
  /** Sealed at the server time of its leaf. Refused with GRAPH_SEALED when it is sealed already. */
  | { readonly kind: 'sealGraph'; readonly runId: string; readonly rootHash: string; readonly leaf: number }
  | { readonly kind: 'enqueueJob'; readonly job: NewJob }
  /** Refused with CONFLICT when the lease was lost meanwhile. */
  | {
      readonly kind: 'completeJob';
      readonly jobId: string;
      readonly lease: string;
      readonly result: string;
      /** JSON of what lists show of the result; null where they show nothing of it. */
      readonly summary?: string | null;
      readonly atMs: number;
    };

/** Which committed fields are read: all, none, or only the one at a pointer. */
export type Bodies = boolean | { readonly at: string };

export interface Leaf {
  readonly index: number;
  readonly record: string;
  /** RFC 6962 leaf hash of the record, 32 bytes, which is the one in the tree. */
  readonly hash: Buffer;
  /** `JCS([[salt, pointer, value], …])`, or null where nothing is committed or the bodies were not asked for. */
  readonly disclosures: string | null;
  /** Where each of them begins and ends, by turns, where all were checked. */
  readonly bounds?: readonly number[];
  /** Which erasures took fields of it (`src/core/event/erased.ts`); absent where none did or the bodies were not asked for. */
  readonly erased?: string;
  /** Ids of the keys of subjects that its body is sealed with; absent where there are none, or bodies were not asked for. */
  readonly keys?: string;
  /** One of those keys is destroyed, or lost: what no erasure names is missing for good. */
  readonly isGone?: true;
}

export interface RunSummary {
  /** Grows in the order in which runs of a store were first seen; its place in the list of runs. */
  readonly no: number;
  readonly runId: string;
  readonly events: number;
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly firstTimestampMs: number;
  readonly lastTimestampMs: number;
  readonly lastServerMs: number;
  readonly aiSystemId: string | null;
  readonly sealed: boolean;
  readonly proofs: number;
  /** `combined` of its newest gov.evaluation/1 leaf. */
  readonly lastDecision: string | null;
}

export interface EventFilter {
  readonly runId?: string;
  readonly eventType?: string;
  readonly startMs?: number;
  readonly endMs?: number;
}

export interface TreeHead {
  readonly size: number;
  readonly root: Buffer;
}

/** Pages: `after` is the position of the last row seen, in the list's own order. */
export interface Page<Position> {
  readonly after?: Position;
  readonly limit: number;
}

export interface StoreReader extends TenantReader, MeterReader, ExportReader {
  project(projectId: string): Promise<Project | null>;
  head(projectId: string, tree: TreeName): Promise<TreeHead>;
  /** Totals after the newest metering leaf. */
  totals(projectId: string): Promise<Totals>;
  leaves(projectId: string, tree: TreeName, range: { from: number; to: number }): Promise<Leaf[]>;
  /** NOT_FOUND where it was pruned, as every read of such a leaf. */
  leaf(projectId: string, index: number): Promise<Leaf | null>;
  /** The index below which events were pruned; 0 where none were. */
  prunedBelow(projectId: string): Promise<number>;
  /** Concatenated 32-byte hashes of the tiles asked for, each at least as wide as asked, in one read. */
  tiles(
    projectId: string,
    tree: TreeName,
    wanted: readonly { readonly level: number; readonly index: number; readonly width: number }[],
  ): Promise<Uint8Array[]>;

  run(projectId: string, runId: string): Promise<RunSummary | null>;
  /** Newest first by creation, which no later event changes; `after` is a `no`. Filters: time overlap, type, system. */
  runs(
    projectId: string,
    filter: EventFilter & { readonly aiSystemId?: string },
    page: Page<number>,
  ): Promise<RunSummary[]>;
  /** Events in index order (or reverse), of `fromIndex` or later; `after` is a leaf index. */
  events(
    projectId: string,
    filter: EventFilter & { readonly runId: string },
    page: Page<number> & { readonly order: 'asc' | 'desc'; readonly fromIndex?: number },
  ): Promise<Leaf[]>;
  countEvents(projectId: string, filter: EventFilter): Promise<number>;
  /** The run's events with runSeq ≥ fromSeq and index < beforeIndex, in order; for streaming whole runs. */
  runLeaves(
    projectId: string,
    runId: string,
    range: {
      readonly fromSeq: number;
      readonly beforeIndex: number;
      readonly limit: number;
      readonly bodies: Bodies;
    },
  ): Promise<Leaf[]>;
  /** How many of the run's events have an index below `beforeIndex`. */
  runEventsBelow(projectId: string, runId: string, beforeIndex: number): Promise<number>;
  /** Newest events of the project after a leaf index, for the live tail. */
  eventsAfter(
    projectId: string,
    filter: { readonly runId?: string; readonly eventType?: string },
    page: { readonly after: number; readonly limit: number },
  ): Promise<Leaf[]>;

  graphState(projectId: string, runId: string): Promise<RunGraphState>;
  graphAt(projectId: string, leafIndex: number): Promise<StoredGraph | null>;
  graphParts(projectId: string, graphId: string, list: 'nodes' | 'edges'): AsyncIterable<GraphPart>;

  proof(projectId: string, proofId: string): Promise<StoredProof | null>;
  proofs(projectId: string, filter: { readonly runId?: string }, page: Page<ByAge>): Promise<StoredProof[]>;

  /** The leaf with this id (of an evaluation, risk decision, replay), with its body. */
  leafOf(projectId: string, type: IndexedLeaf, id: string): Promise<Leaf | null>;
  /**
   * Leaves of one type, of one run or of all, with their bodies. `after`: a leaf index, exclusive in the order
   * asked for; `beforeIndex`: only leaves below it, so that a page is a function of a tree size.
   */
  leavesOf(
    projectId: string,
    filter: { readonly type: IndexedLeaf; readonly runId?: string; readonly beforeIndex?: number },
    page: Page<number> & { readonly order: 'asc' | 'desc' },
  ): Promise<Leaf[]>;
  /** Whether bodies about a subject, by its keyed hash, are sealed with a key that can be destroyed. */
  hasSubjectKey(projectId: string, subject: string): Promise<boolean>;
  /** Leaves about a subject, by its keyed hash, in index order; `after` is a leaf index. */
  leavesAbout(projectId: string, subject: string, page: Page<number>): Promise<Leaf[]>;
  policy(projectId: string, policyId: string): Promise<StoredPolicy | null>;
  policies(
    projectId: string,
    filter: { readonly status?: StoredPolicy['status'] },
    page: Page<ByAge>,
  ): Promise<StoredPolicy[]>;
  policyVersion(projectId: string, policyId: string, version: number): Promise<StoredPolicyVersion | null>;
  /** Newest first; `after` is a version. */
  policyVersions(projectId: string, policyId: string, page: Page<number>): Promise<StoredPolicyVersion[]>;
  /** The active versions and the index of the newest gov.policy/1 leaf, of one moment; sorted by policy id. */
  policiesInForce(projectId: string): Promise<{
    readonly policies: readonly ActivePolicy[];
    readonly policyIndex: number | null;
  }>;
  /** The newest versions of policies in review: evaluated, never enforced. */
  policiesInReview(projectId: string): Promise<ActivePolicy[]>;
  riskConfig(projectId: string): Promise<StoredRiskConfig>;
  approval(projectId: string, approvalId: string): Promise<StoredApproval | null>;
  /** `status` is judged at `atMs`: what is not decided is pending, then expired. */
  approvals(
    projectId: string,
    filter: { readonly status?: ApprovalStatus; readonly runId?: string; readonly atMs: number },
    page: Page<ByAge>,
  ): Promise<StoredApproval[]>;

  job(projectId: string, jobId: string): Promise<StoredJob | null>;
  /** By the id of its result. */
  jobWithResult(projectId: string, resultId: string): Promise<StoredJob | null>;
  jobs(
    projectId: string,
    filter: {
      readonly type?: JobType;
      readonly status?: JobStatus;
      readonly runId?: string;
      readonly startMs?: number;
      readonly endMs?: number;
    },
    page: Page<ByAge>,
  ): Promise<StoredJob[]>;

  /** The newest signed checkpoint note; the smallest one of at least `size`; the newest one below `below`. */
  newestCheckpoint(projectId: string, tree: TreeName): Promise<string | null>;
  checkpointFrom(projectId: string, tree: TreeName, size: number): Promise<string | null>;
  checkpointBelow(projectId: string, tree: TreeName, below: number): Promise<string | null>;
  /**
   * Of the first 256 cosigned checkpoints of at least `size`, the one that most witnesses cosigned, the smallest where
   * there are several. Notes have their cosignatures, here and above.
   */
  witnessedCheckpoint(projectId: string, tree: TreeName, size: number): Promise<string | null>;

  /** The answer kept under an idempotency key, with the fingerprint of the request it answered. */
  keptResponse(
    projectId: string,
    key: string,
  ): Promise<{ readonly fingerprint: string; readonly response: StoredResponse } | null>;
}

export interface Store extends StoreReader, TenantStore, ExportStore {
  createProject(project: Project, genesis: LeafDraft): Promise<void>;
  append(request: AppendRequest): Promise<AppendOutcome>;
  /** Rows of a graph that is about to be logged; parts that no leaf ever names are swept at start. */
  stageGraphPart(projectId: string, graphId: string, part: GraphPart): Promise<void>;
  /**
   * Keeps a checkpoint: first its head in the second file, durably, then the note. Must be called with heads
   * that the store itself answered. Refuses a head that contradicts the second file.
   */
  saveCheckpoint(
    projectId: string,
    tree: TreeName,
    checkpoint: Checkpoint,
    sign: (c: Checkpoint) => string,
  ): Promise<string>;
  /** Keeps what witnesses answered to a saved checkpoint; of a key that has signed it already, the first line stays. */
  saveCosignatures(
    projectId: string,
    tree: TreeName,
    size: number,
    cosignatures: readonly Cosignature[],
  ): Promise<void>;
  /**
   * Projects with a tree whose newest leaves no checkpoint covers, last appended to before `beforeMs`; at most `limit`,
   * in no order. What a process leaves that ends between an append and its checkpoint.
   */
  unsigned(beforeMs: number, limit: number): Promise<string[]>;
  /** Sizes of the audit logs of projects. Absent where no other process can write to the store. */
  readonly sizes?: (projectIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;

  /**
   * Claims of the next project, in turn, that has a job due: the pending one that is due longest, or one whose lease
   * ran out (attempt + 1); one whose lease ran out in its last attempt is failed instead.
   */
  claimJob(nowMs: number, leaseMs: number): Promise<ClaimedJob | null>;
  /** False when the lease was lost. */
  renewJob(projectId: string, jobId: string, lease: string, untilMs: number): Promise<boolean>;
  /** Fails a job for good, or puts it back to pending until `retryAtMs`. */
  failJob(
    projectId: string,
    jobId: string,
    failure: {
      lease: string;
      errorSummary: string;
      atMs: number;
      retryAtMs: number | null;
      /** It was not the job's doing: the attempt is none of those that it has. */
      isExcused?: boolean;
    },
  ): Promise<void>;
  /** Puts a failed job back to pending under the same id; refuses NOT_FOUND, JOB_NOT_RETRYABLE, JOB_PAYLOAD_UNAVAILABLE. */
  retryJob(projectId: string, jobId: string, atMs: number): Promise<StoredJob>;

  /** Of a plane that is being made, or mended by hand; else a key is saved by an effect. */
  saveApiKey(key: ApiKeyRow): Promise<void>;
  /** Drops the events of [from, to) that were pruned, with their bodies. */
  dropPruned(projectId: string, range: { readonly from: number; readonly to: number }): Promise<void>;
  /** Drops idempotency records, job requests and sessions past their time. */
  sweep(nowMs: number): Promise<void>;
  /**
   * What `/health` reports; never throws. Each reason begins with its code: `storage_full: …`, `storage_fault: …`,
   * or `integrity_violation: …` once a leaf was met that is not what was logged, which does not end writing.
   */
  condition(): { readonly writable: boolean; readonly reasons: readonly string[]; readonly queued: number };
  /** Takes what is queued, then refuses with SHUTTING_DOWN, then closes. */
  close(): Promise<void>;
}
