/**
 * Exports as a store keeps them: the request, the size of the log at that time, and the result.
 * The work is a job in the common queue. The artifact is in `Artifacts`.
 * Proven by `test/store/suite/governance/exports.ts`.
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
  /** Size of the audit log when the export was requested. It holds rows of leaves below this size only. */
  readonly treeSize: number;
  readonly createdMs: number;
  /**
   * Computed at the time of the read. Before completion it is the status of the job; then `completed`, and
   * `expired` from `expiresMs` on.
   */
  readonly status: ExportStatus;
  readonly startedMs: number | null;
  readonly errorSummary: string | null;
  /** Null until it is complete. */
  readonly done: ExportDone | null;
}

export interface ExportDone {
  /** Names this artifact; artifacts of attempts that did not complete have other names. */
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

/** Numbers of exports of a project: those that it has, or the most that it may have. */
export interface ExportHoldings {
  /** Not finished. */
  readonly open: number;
  /** With an artifact. An expired artifact counts until it is removed. */
  readonly kept: number;
  /** Bytes of those artifacts. */
  readonly keptBytes: number;
}

export type ExportEffect =
  /**
   * Comes with the `enqueueJob` of its job (type `export`, which /jobs does not list) in the same request.
   * Refused with RATE_LIMITED if `most.open` exports are not finished. Refused with EXPORT_LIMIT if open and
   * kept exports reach `most.kept`, or their bytes reach `most.keptBytes`.
   */
  | {
      readonly kind: 'createExport';
      readonly most: ExportHoldings;
      readonly exported: Omit<StoredExport, 'status' | 'startedMs' | 'errorSummary' | 'done'>;
    }
  /**
   * Comes with the `completeJob` of its job in the same request. Refused with CONFLICT if the export is
   * already complete, and with EXPORT_LIMIT if the project would keep more than `most.keptBytes`.
   */
  | {
      readonly kind: 'finishExport';
      readonly most: ExportHoldings;
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
  /** Proofs with a leaf index below `beforeIndex`, in the order of the log. `after` is a leaf index. */
  loggedProofs(projectId: string, filter: LoggedFilter, page: Page<number>): Promise<StoredProof[]>;
  /** The newest graph of each run below `beforeIndex`, in the order of the log. `after` is a leaf index. */
  loggedGraphs(projectId: string, filter: LoggedFilter, page: Page<number>): Promise<StoredGraph[]>;
  heldExports(projectId: string): Promise<ExportHoldings>;
  /** Completed exports of all projects with at least `leastBytes`; the oldest completion comes first. */
  oldestExports(
    atMs: number,
    filter: { readonly leastBytes: number; readonly limit: number },
  ): Promise<readonly (ExportName & { readonly sizeBytes: number })[]>;
  /**
   * The work of the sweep, over all projects. Returns expired exports whose artifact is not yet marked as
   * removed, and exports whose job failed finally, so that the sweep removes their leftovers too. At most
   * `limit`, in no order.
   */
  removableExports(atMs: number, limit: number): Promise<readonly ExportName[]>;
}

export interface ExportName {
  readonly projectId: string;
  readonly exportId: string;
}

export interface ExportStore {
  /** Expires a completed export now, unless it has already expired. */
  expireExport(projectId: string, exportId: string, atMs: number): Promise<void>;
  /** Call it after the removal of the artifact. */
  markExportRemoved(projectId: string, exportId: string): Promise<void>;
}
