/**
 * Exports as a store keeps them: what was asked for, as the log stood then, and what came of it. The work is a job of
 * the same queue as others; the artifact lies with `Artifacts`.
 */
import type { ExportFormat, ExportResource, ExportStatus } from '../../contract/exports.ts';
import type { ByAge, StoredGraph, StoredProof } from './rows.ts';
import type { Page } from './log.ts';

export interface StoredExport {
  readonly exportId: string;
  readonly projectId: string;
  readonly jobId: string;
  readonly resource: ExportResource;
  readonly format: ExportFormat;
  /** Canonical JSON of the filters. */
  readonly filters: string;
  readonly includeProof: boolean;
  /** The audit log when it was asked for: rows are those of leaves below it. */
  readonly treeSize: number;
  readonly createdMs: number;
  /**
   * Judged at the time of the read: pending, processing and failed as its job is; completed, and expired from
   * `expiresMs` on.
   */
  readonly status: ExportStatus;
  readonly startedMs: number | null;
  readonly errorSummary: string | null;
  /** Null until it is complete. */
  readonly done: ExportDone | null;
}

export interface ExportDone {
  /** Names the artifact among those of attempts that were not completed. */
  readonly artifact: string;
  readonly rowCount: number;
  readonly sizeBytes: number;
  /** SHA-256 of the artifact, 32 bytes. */
  readonly digest: Buffer;
  /** JSON of the manifest. */
  readonly manifest: string;
  readonly completedMs: number;
  readonly expiresMs: number;
}

/** Exports of a project: those it has, or may have. */
export interface ExportHolding {
  /** Not finished. */
  readonly open: number;
  /** With an artifact, also one past its time until it is removed. */
  readonly kept: number;
  /** Of those artifacts. */
  readonly keptBytes: number;
}

export type ExportEffect =
  /**
   * With the `enqueueJob` of its job (type `export`, which /jobs does not list) in the same request. RATE_LIMITED where as
   * many as may be are not finished, EXPORT_LIMIT where those and the kept ones are as many, or large, as may be.
   */
  | {
      readonly kind: 'createExport';
      readonly most: ExportHolding;
      readonly exported: Omit<StoredExport, 'status' | 'startedMs' | 'errorSummary' | 'done'>;
    }
  /**
   * With the `completeJob` of its job in the same request. CONFLICT where it is complete already, EXPORT_LIMIT where the
   * project would keep more bytes.
   */
  | {
      readonly kind: 'finishExport';
      readonly most: ExportHolding;
      readonly exportId: string;
      readonly done: ExportDone;
    };

interface LoggedFilter {
  readonly runId?: string;
  readonly beforeIndex: number;
}

export interface ExportReader {
  exported(projectId: string, exportId: string, atMs: number): Promise<StoredExport | null>;
  /** Newest first. */
  exports(
    projectId: string,
    filter: { readonly resource?: ExportResource; readonly status?: ExportStatus; readonly atMs: number },
    page: Page<ByAge>,
  ): Promise<StoredExport[]>;
  /** Proofs whose leaf has an index below `beforeIndex`, in the order of the log; `after` is a leaf index. */
  loggedProofs(projectId: string, filter: LoggedFilter, page: Page<number>): Promise<StoredProof[]>;
  /** The newest graph of each run below `beforeIndex`; as above. */
  loggedGraphs(projectId: string, filter: LoggedFilter, page: Page<number>): Promise<StoredGraph[]>;
  heldExports(projectId: string): Promise<ExportHolding>;
  /** Completed ones of all projects with at least so many bytes, first those that were completed first. */
  oldestExports(
    atMs: number,
    filter: { readonly leastBytes: number; readonly limit: number },
  ): Promise<readonly (ExportName & { readonly sizeBytes: number })[]>;
  /**
   * Of all projects, for the sweep: exports whose artifact may go (expired, not marked as removed), and ids of jobs that
   * failed for good with an export, so that what they left is removed too. At most `limit`, in no order.
   */
  removableExports(atMs: number, limit: number): Promise<readonly ExportName[]>;
}

export interface ExportName {
  readonly projectId: string;
  readonly exportId: string;
}

export interface ExportStore {
  /** Ends the time of a completed one that has not ended. */
  expireExport(projectId: string, exportId: string, atMs: number): Promise<void>;
  /** After its artifact was removed. */
  markExportRemoved(projectId: string, exportId: string): Promise<void>;
}
