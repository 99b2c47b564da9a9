/**
 * The port of the store, in verbs of the domain. SQLite and PostgreSQL implement it.
 * Guarantees of an engine:
 * - `append` resolves only when everything in the request is durable. It stores one request whole or not at
 *   all.
 * - Leaves get consecutive indexes in request order. The `runSeq` of a run is gap-free from 0.
 *   `serverTimestamp` never runs backwards within a log.
 * - A read that starts after `append` resolved sees the stored rows.
 * - Every verb takes a project and answers from that project only.
 * - After an I/O error the engine never retries as if the write had worked: `append` refuses with
 *   STORAGE_FAULT from then on. While the disk is full, it refuses with STORAGE_FULL and recovers by itself.
 * Proven by `test/store/suite/all.ts` for every engine.
 */
import type { ApprovalFilter } from '../../contract/approvals.ts';
import type { JobStatus, JobType } from '../../contract/job-words.ts';
import type { Checkpoint } from '../../core/note/checkpoint.ts';
import type { Totals } from '../../core/planes/metering.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import type { DocumentReader, DocumentStore } from './documents.ts';
import type { EventTermReader, EventTermStore } from './event-terms.ts';
import type { ExportReader, ExportStore } from './exports.ts';
import type { Fact } from './effect.ts';
import type { IndexMapReader, IndexMapStore } from './index-map.ts';
import type { LeafFigures } from './leaf-figures.ts';
import type { MeterReader } from './metering.ts';
import type { AppendOutcome, AppendRequest } from './request.ts';
import type { StoredResponse } from './repeats.ts';
import type { ApiKeyRow, TenantReader, TenantStore } from './tenancy.ts';
import type {
  ActivePolicy,
  ByAge,
  ClaimedJob,
  Cosignature,
  GraphPart,
  IndexedLeaf,
  RunGraphState,
  StoredApproval,
  StoredGraph,
  StoredJob,
  StoredPolicy,
  StoredPolicyVersion,
  StoredProof,
  StoredRiskConfig,
} from './rows.ts';
import type { TreeName, Project, Bodies, Leaf, TreeHead, Page } from './log.ts';

export type * from './rows.ts';
export type * from './log.ts';
export type * from './effect.ts';
export type * from './request.ts';
export type * from './repeats.ts';
export { noFigures, sumOfFigures, type LeafFigures } from './leaf-figures.ts';
export { answerOf } from './answer.ts';
export { rangeOf } from './leaf-range.ts';
export { indexedLeaves } from './rows.ts';
export type { Credential, RequiredCaller } from './caller.ts';
export type * from './tenancy.ts';
export type * from './planes.ts';
export type * from './metering.ts';
export type * from './documents.ts';
export type * from './event-terms.ts';
export type * from './exports.ts';
export type * from './index-map.ts';

export interface RunSummary {
  /** Number of the run in order of first appearance in the store; its position in the list of runs. */
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
  /** `combined` of the run's newest gov.evaluation/1 leaf. */
  readonly lastDecision: string | null;
}

export interface EventFilter {
  readonly runId?: string;
  readonly eventType?: string;
  readonly startMs?: number;
  readonly endMs?: number;
}

export interface AlteredLeaf {
  readonly projectId: string;
  readonly tree: TreeName;
  readonly index: number;
  readonly detail: string;
}

export interface StoreReader
  extends TenantReader, MeterReader, ExportReader, IndexMapReader, DocumentReader, EventTermReader {
  project(projectId: string): Promise<Project | null>;
  head(projectId: string, tree: TreeName): Promise<TreeHead>;
  /** Totals after the newest metering leaf. */
  totals(projectId: string): Promise<Totals>;
  /** Reads bodies unless `bodies` is false. */
  leaves(
    projectId: string,
    tree: TreeName,
    range: { readonly from: number; readonly to: number; readonly bodies?: false },
  ): Promise<Leaf[]>;
  /** NOT_FOUND if the leaf is pruned, as in every read of a pruned leaf. */
  leaf(projectId: string, index: number): Promise<Leaf | null>;
  /** The index below which events are pruned; 0 if none are. */
  prunedBelow(projectId: string): Promise<number>;
  /** Concatenated 32-byte hashes of the wanted tiles, each at least as wide as wanted, in one read. */
  tiles(
    projectId: string,
    tree: TreeName,
    wanted: readonly { readonly level: number; readonly index: number; readonly width: number }[],
  ): Promise<Uint8Array[]>;

  run(projectId: string, runId: string): Promise<RunSummary | null>;
  /**
   * Newest first by creation, which no later event changes. `after` is a `no`. Filters: time overlap, type,
   * system.
   */
  runs(
    projectId: string,
    filter: EventFilter & { readonly aiSystemId?: string },
    page: Page<number>,
  ): Promise<RunSummary[]>;
  /** Events in index order (or reverse) from `fromIndex` on. `after` is a leaf index. */
  events(
    projectId: string,
    filter: EventFilter & { readonly runId: string },
    page: Page<number> & { readonly order: 'asc' | 'desc'; readonly fromIndex?: number },
  ): Promise<Leaf[]>;
  countEvents(projectId: string, filter: EventFilter): Promise<number>;
  /** The run's events with runSeq ≥ fromSeq and index < beforeIndex, in order. For streaming whole runs. */
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
  /** Counts the run's events with an index below `beforeIndex`. */
  runEventsBelow(projectId: string, runId: string, beforeIndex: number): Promise<number>;
  /** Figures of a run's leaves of one type with an index in [from, before). Reads lengths and no text: 1.5 µs a leaf. */
  leafFigures(
    projectId: string,
    of: { readonly runId: string; readonly type: 'gov.event/1' | IndexedLeaf },
    range: { readonly from: number; readonly before: number },
  ): Promise<LeafFigures>;
  /** Events of the project after a leaf index, for the live tail. */
  eventsAfter(
    projectId: string,
    filter: { readonly runId?: string; readonly eventType?: string },
    page: { readonly after: number; readonly limit: number },
  ): Promise<Leaf[]>;

  /** The facts with these names that exist. */
  facts(projectId: string, names: readonly string[]): Promise<ReadonlyMap<string, Fact>>;
  /** Facts whose names begin with `prefix`, in the order of their names. `after` is a name. */
  factsFrom(
    projectId: string,
    prefix: string,
    page: Page<string>,
  ): Promise<{ readonly name: string; readonly value: string }[]>;

  graphState(projectId: string, runId: string): Promise<RunGraphState>;
  graphAt(projectId: string, leafIndex: number): Promise<StoredGraph | null>;
  /** The parts of a list in order, from part `from` on; default 0. */
  graphParts(
    projectId: string,
    graphId: string,
    list: 'nodes' | 'edges',
    from?: number,
  ): AsyncIterable<GraphPart>;

  proof(projectId: string, proofId: string): Promise<StoredProof | null>;
  proofs(projectId: string, filter: { readonly runId?: string }, page: Page<ByAge>): Promise<StoredProof[]>;

  /** The leaf with this id (of an evaluation, risk decision or replay), with its body. */
  leafOf(projectId: string, type: IndexedLeaf, id: string): Promise<Leaf | null>;
  /**
   * Leaves of one type, of one run or all runs, with their bodies. `after`: a leaf index, exclusive in the
   * requested order. `beforeIndex`: only leaves below it, so that a page is a function of a tree size.
   */
  leavesOf(
    projectId: string,
    filter: { readonly type: IndexedLeaf; readonly runId?: string; readonly beforeIndex?: number },
    page: Page<number> & { readonly order: 'asc' | 'desc' },
  ): Promise<Leaf[]>;
  /** Whether a destroyable key seals the bodies about a subject, given by its keyed hash. */
  hasSubjectKey(projectId: string, subject: string): Promise<boolean>;
  /** Leaves about a subject, given by its keyed hash, in index order. `after` is a leaf index. */
  leavesAbout(projectId: string, subject: string, page: Page<number>): Promise<Leaf[]>;
  policy(projectId: string, policyId: string): Promise<StoredPolicy | null>;
  policies(
    projectId: string,
    filter: { readonly status?: StoredPolicy['status'] },
    page: Page<ByAge>,
  ): Promise<StoredPolicy[]>;
  policyVersion(projectId: string, policyId: string, version: number): Promise<StoredPolicyVersion | null>;
  /** Newest first. `after` is a version. */
  policyVersions(projectId: string, policyId: string, page: Page<number>): Promise<StoredPolicyVersion[]>;
  /**
   * The active versions, sorted by policy id, and the index of the newest gov.policy/1 leaf, in one
   * transaction.
   */
  policiesInForce(projectId: string): Promise<{
    readonly policies: readonly ActivePolicy[];
    readonly policyIndex: number | null;
  }>;
  /** The newest versions of policies in review. They are evaluated and never enforced. */
  policiesInReview(projectId: string): Promise<ActivePolicy[]>;
  riskConfig(projectId: string): Promise<StoredRiskConfig>;
  approval(projectId: string, approvalId: string): Promise<StoredApproval | null>;
  /** The newest approval with this `callKey`, or null. */
  approvalOfCall(projectId: string, callKey: string): Promise<StoredApproval | null>;
  /** `status` is computed at `atMs`: an undecided approval is pending until it expires. */
  approvals(
    projectId: string,
    filter: { readonly status?: ApprovalFilter; readonly runId?: string; readonly atMs: number },
    page: Page<ByAge>,
  ): Promise<StoredApproval[]>;

  job(projectId: string, jobId: string): Promise<StoredJob | null>;
  /** Finds a job by the id of its result. */
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

  /**
   * The newest signed checkpoint; the smallest one of at least `size`; the newest one below `below`. All are
   * signed notes.
   */
  newestCheckpoint(projectId: string, tree: TreeName): Promise<string | null>;
  checkpointFrom(projectId: string, tree: TreeName, size: number): Promise<string | null>;
  checkpointBelow(projectId: string, tree: TreeName, below: number): Promise<string | null>;
  /**
   * Searches the first 256 cosigned checkpoints of at least `size`. Returns the one with the most witnesses;
   * of several, the smallest. Notes contain their cosignatures, in the other reads too.
   */
  witnessedCheckpoint(projectId: string, tree: TreeName, size: number): Promise<string | null>;

  /** The answer stored under an idempotency key, with the fingerprint of its request. */
  keptResponse(
    projectId: string,
    key: string,
  ): Promise<{ readonly fingerprint: string; readonly response: StoredResponse } | null>;
}

export interface Store
  extends StoreReader, TenantStore, ExportStore, IndexMapStore, DocumentStore, EventTermStore {
  createProject(project: Project, genesis: LeafDraft): Promise<void>;
  append(request: AppendRequest): Promise<AppendOutcome>;
  /**
   * Stores rows of a graph before its leaf. Startup removes parts that no leaf names, such as those that a
   * crash leaves.
   */
  stageGraphPart(projectId: string, graphId: string, part: GraphPart): Promise<void>;
  /**
   * Stores a checkpoint: first its head in the second file, durably, then the note. The caller must pass
   * heads that this store returned. Refuses a head that contradicts the second file.
   */
  saveCheckpoint(
    projectId: string,
    tree: TreeName,
    checkpoint: Checkpoint,
    sign: (c: Checkpoint) => string,
  ): Promise<string>;
  /**
   * Stores cosignatures of witnesses over a saved checkpoint. If a key has already signed it, its first line
   * stays.
   */
  saveCosignatures(
    projectId: string,
    tree: TreeName,
    size: number,
    cosignatures: readonly Cosignature[],
  ): Promise<void>;
  /**
   * Projects with a tree whose newest leaves have no checkpoint, last appended to before `beforeMs`. A crash
   * between an append and its checkpoint leaves such trees. At most `limit`, in no order.
   */
  unsigned(beforeMs: number, limit: number): Promise<string[]>;
  /** Sizes of the projects' audit logs. Absent if no other process can write to the store. */
  readonly sizes?: (projectIds: readonly string[]) => Promise<ReadonlyMap<string, number>>;

  /**
   * Claims a due job; projects take turns. Takes the pending job that is due longest, or one whose lease ran
   * out (attempt + 1). A job whose lease ran out in its last attempt has `tries` above `limits.jobAttempts`: the caller
   * fails it.
   */
  claimJob(nowMs: number, leaseMs: number): Promise<ClaimedJob | null>;
  /** False if the lease was lost. */
  renewJob(projectId: string, jobId: string, lease: string, untilMs: number): Promise<boolean>;
  /** Fails a job finally, or returns it to pending until `retryAtMs`. False if the lease was lost. */
  failJob(
    projectId: string,
    jobId: string,
    failure: {
      lease: string;
      errorSummary: string;
      atMs: number;
      retryAtMs: number | null;
      /** The job did not cause the failure, so the attempt does not count. */
      isExcused?: boolean;
    },
  ): Promise<boolean>;

  /** For creating a plane and repairing it by hand. In all other cases an effect saves a key. */
  saveApiKey(key: ApiKeyRow): Promise<void>;
  /** Drops the pruned events of [from, to) with their bodies. */
  dropPruned(projectId: string, range: { readonly from: number; readonly to: number }): Promise<void>;
  /** Drops expired idempotency records, job requests and sessions. */
  sweep(nowMs: number): Promise<void>;
  /**
   * The state that `/health` reports; never throws. Each reason begins with its code: `storage_full: …`,
   * `storage_fault: …` or `integrity_violation: …`. The last one means that a stored leaf differs from the
   * logged one; writing continues. `altered` has the first such leaf of each project, in the order of reads.
   */
  condition(): {
    readonly writable: boolean;
    readonly reasons: readonly string[];
    readonly queued: number;
    readonly altered: readonly AlteredLeaf[];
  };
  /** Stores the queued requests, refuses new ones with SHUTTING_DOWN, then closes. */
  close(): Promise<void>;
}
