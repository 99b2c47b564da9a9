/**
 * The request of `Store.append`, and its outcomes.
 * Proven by `test/store/suite/all.ts`.
 */
import type { MeterOp } from '../../core/planes/metering.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import type { Effect } from './effect.ts';
import type { StoredResponse, IdempotencyWrite } from './repeats.ts';

/** The state that a request was decided on. The store refuses the request where the project has another one. */
export interface Expectations {
  /** Refused as `stale` if the run does not have exactly this many events. */
  readonly run?: { readonly runId: string; readonly events: number };
  /** Refused as `outdated` if the newest gov.policy/1 leaf has another index. Null: the project has no such leaf. */
  readonly policyIndex?: number | null;
  /** Like `policyIndex`, for the newest gov.config/1 leaf. */
  readonly configIndex?: number | null;
  /** Refused as `outdated` if the audit log has another size. A leaf can therefore name its own index. */
  readonly auditSize?: number;
  /** Refused as `revised` if the last change of the project (`changeProject`) has another time. */
  readonly revisedMs?: number;
}

/** Plain data, because an engine may store it in another thread. */
export interface AppendRequest {
  readonly projectId: string;
  /** May be empty: an accepted asynchronous proof appends nothing but is metered. */
  readonly leaves: readonly LeafDraft[];
  /** What the request counts. Absent: nothing. */
  readonly meter?: {
    readonly op: MeterOp;
    /** `accepted`: the leaves that this request appends, without duplicates. */
    readonly units: number | 'accepted';
    /** Refused as `over_quota` if the month of the append would exceed this many units. Null: no limit. */
    readonly limit?: number | null;
  };
  /**
   * Keyed fingerprint of each event draft with a clientEventId, by position. The store answers equal content
   * with the original event and refuses other content as `client_event_id_conflict`.
   */
  readonly fingerprints?: ReadonlyMap<number, string>;
  readonly expect?: Expectations;
  /**
   * If true, one `conflict` leaf refuses the request (VALIDATION_ERROR). Otherwise the store leaves out that
   * leaf alone.
   */
  readonly whole?: boolean;
  readonly effects?: readonly Effect[];
  /**
   * Unmetered leaves for the log of another project, in the same transaction: the home of the project's
   * organization (`StoredOrganization.home` of its environment) after the effects. The store ignores them if
   * the project is its own home or has no organization. They have no clientEventId.
   */
  readonly toHome?: readonly LeafDraft[];
  readonly idempotency?: IdempotencyWrite;
  /** If true, the outcome has the paths of the appended leaves (`StoredLeaves`), for a receipt. */
  readonly paths?: true;
}

/** The result for one leaf of a request. */
export type LeafOutcome =
  | {
      readonly outcome: 'appended';
      readonly index: number;
      readonly eventId: string | null;
      /** `sha256:…` of an event; null for other leaves. */
      readonly leafHash: string | null;
      readonly runSeq: number | null;
      readonly serverMs: number;
    }
  | {
      readonly outcome: 'duplicate';
      readonly index: number;
      readonly eventId: string;
      readonly leafHash: string;
    }
  | { readonly outcome: 'conflict' };

/** The tree of a commit, durable. Requests of one commit have the same object. */
export interface StoredTree {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

/**
 * The leaves of one request in the tree of their commit. Hashes are texts of 32 characters of one byte (latin1), because
 * they go from thread to thread with each answer: two arrays of bytes cost as much as all else of the message.
 */
export interface StoredLeaves {
  readonly tree: StoredTree;
  readonly first: number;
  readonly last: number;
  /** Inclusion paths of the first leaf, and of the last one if there are several: hashes, one after another. */
  readonly paths: readonly string[];
  /** The leaf hashes in order, one after another; null above `limits.receiptLeaves` leaves. */
  readonly hashes: string | null;
}

export type AppendOutcome =
  | {
      readonly outcome: 'stored';
      readonly assigned: readonly LeafOutcome[];
      readonly response: StoredResponse | null;
      /** Units of the metered kind in this month, including this request; 0 if it meters nothing. */
      readonly used: number;
      /** The project whose log got `toHome`. */
      readonly home?: string;
      /** Of a request with `paths` that appended leaves: filled after COMMIT. */
      readonly stored?: { leaves: StoredLeaves | null };
    }
  /** `used`: units before this request. */
  | { readonly outcome: 'over_quota'; readonly used: number; readonly units: number }
  | { readonly outcome: 'replayed'; readonly response: StoredResponse }
  | { readonly outcome: 'key_reused' }
  | { readonly outcome: 'stale'; readonly events: number }
  | { readonly outcome: 'outdated' }
  | { readonly outcome: 'revised' };
