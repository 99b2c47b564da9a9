/** Rows that are written in the transaction of a request. */
import type { ExportEffect } from './exports.ts';
import type { TenantEffect } from './tenancy.ts';
import type {
  ErasureEffect,
  GovernanceEffect,
  NewJob,
  PruneEffect,
  StoredGraph,
  StoredProof,
} from './rows.ts';

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
