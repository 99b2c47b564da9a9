/**
 * Effects: the rows that a request writes in the transaction of its leaves.
 * `src/store/append/effects.ts` judges them. Proven by `test/store/suite/log/work.ts`.
 */
import type { DocumentChange } from './documents.ts';
import type { ExportEffect } from './exports.ts';
import type { TenantEffect } from './tenancy.ts';
import type {
  ErasureEffect,
  GovernanceEffect,
  NewJob,
  OpenJob,
  StoppedJob,
  PruneEffect,
  StoredGraph,
  StoredProof,
} from './rows.ts';

/** A fact of a project's telemetry, such as the run of a trace. */
/** What received telemetry made known, and the last day on which a request used it: days since 1970. */
export interface Fact {
  readonly value: string;
  readonly day: number;
}

export interface FactChange {
  readonly name: string;
  /** The value before; null for a new fact. */
  readonly from: string | null;
  readonly to: string;
}

/**
 * If the store refuses one effect, it refuses the whole request and no other. `leaf`: the position in the
 * request of the leaf whose index the row stores.
 */
export type Effect =
  | GovernanceEffect
  | ErasureEffect
  | PruneEffect
  | TenantEffect
  | ExportEffect
  /** `graphLeaf`: the position of the leaf of its graph, where this request appends it. */
  | {
      readonly kind: 'saveProof';
      readonly proof: Omit<StoredProof, 'leafIndex'>;
      readonly leaf: number;
      readonly graphLeaf?: number;
    }
  /** Refused with GRAPH_SEALED: the newest graph of a sealed run is the sealed one. */
  | { readonly kind: 'saveGraph'; readonly graph: Omit<StoredGraph, 'leafIndex'>; readonly leaf: number }
  /** Refused with GRAPH_SEALED, and with CONFLICT if the declaration has another hash than `fromHash`. */
  | {
      readonly kind: 'declareGraph';
      readonly runId: string;
      readonly declaration: string;
      readonly atMs: number;
      /** Null: no declaration. Absent: any, as the new one replaces all of it. */
      readonly fromHash?: string | null;
    }
  /**
   * Sealed at the server time of its leaf. Refused with GRAPH_SEALED if the graph is already sealed, and with CONFLICT
   * if the declaration has another hash than `declarationHash`.
   */
  | {
      readonly kind: 'sealGraph';
      readonly runId: string;
      readonly rootHash: string;
      readonly declarationHash: string | null;
      readonly leaf: number;
    }
  /**
   * Refused with PRECONDITION_FAILED if a document has another version or its key is taken, with CONFLICT if the
   * project has `most` documents of the kind.
   */
  | { readonly kind: 'saveDocuments'; readonly changes: readonly DocumentChange[] }
  | { readonly kind: 'enqueueJob'; readonly job: NewJob }
  /** Remembers what received telemetry said. CONFLICT if a fact is not `from` any more. */
  | { readonly kind: 'saveFacts'; readonly facts: readonly FactChange[]; readonly day: number }
  /** Refused with CONFLICT if the job is not in this state any more. Its worker loses the lease. */
  | {
      readonly kind: 'cancelJob';
      readonly jobId: string;
      /** The state that the caller read, of a job that has not ended. */
      readonly from: OpenJob;
      readonly atMs: number;
    }
  /**
   * Returns a job to pending under its id, with new attempts. Refused with CONFLICT if the job is not in this state any
   * more, or its request is not stored any more.
   */
  | {
      readonly kind: 'retryJob';
      readonly jobId: string;
      readonly from: StoppedJob;
      readonly atMs: number;
    }
  /** Refused with CONFLICT if the worker has lost its lease. */
  | {
      readonly kind: 'completeJob';
      readonly jobId: string;
      readonly lease: string;
      readonly result: string;
      /** JSON of the part of the result that lists show; null if they show nothing. */
      readonly summary?: string | null;
      readonly atMs: number;
    }
  /** Ends a job finally as failed. Refused with CONFLICT if the worker has lost its lease. */
  | {
      readonly kind: 'failJob';
      readonly jobId: string;
      readonly lease: string;
      readonly errorSummary: string;
      readonly atMs: number;
    };
