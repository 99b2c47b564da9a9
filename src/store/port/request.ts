/** What is asked of `Store.append`, and what becomes of it. */
import type { MeterOp } from '../../core/plane/metering.ts';
import type { LeafDraft } from '../../core/event/record.ts';
import type { Effect } from './store.ts';

/** A stored answer, kept in the transaction of its effect so that a repeat gets the same bytes. */
export interface StoredResponse {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A text with places for what is known only once leaves are stored: texts as they stand, and numbers, each for
 * the leaf at that position of the request: `event` around its event's id, or `conflict` where it is one.
 */
export interface TextTemplate {
  readonly pieces: readonly (string | number)[];
  readonly event: readonly [before: string, after: string];
  readonly conflict: string;
}

/** A stored answer that names events by their ids. */
export interface ResponseTemplate {
  readonly status: number;
  readonly body: TextTemplate;
  readonly headers: Readonly<Record<string, TextTemplate>>;
}

export interface IdempotencyWrite {
  /** SHA-256 hex over project, principal, method, route and the client's key. */
  readonly key: string;
  /** SHA-256 hex over method, path, query and JCS(body). */
  readonly fingerprint: string;
  readonly response: StoredResponse | ResponseTemplate;
}

/** Plain data, since an engine may store in another thread. */
export interface AppendRequest {
  readonly projectId: string;
  /** May be empty (an accepted asynchronous proof appends nothing but is metered). */
  readonly leaves: readonly LeafDraft[];
  /** Units `accepted` = leaves appended by this request, duplicates not counted. */
  readonly meter: {
    readonly op: MeterOp;
    readonly units: number | 'accepted';
    /** Refused as `over_quota` where the month of the append would hold more units of this kind. Null: no limit. */
    readonly limit?: number | null;
  };
  /**
   * Keyed fingerprint of each event draft that carries a clientEventId, by position: equal content is answered
   * with the original event, other content is refused as `client_event_id_conflict`.
   */
  readonly fingerprints?: ReadonlyMap<number, string>;
  /** Refused as `stale` when the run no longer has exactly this many events. */
  readonly expect?: { readonly runId: string; readonly events: number };
  /**
   * Refused as `outdated` when the newest gov.policy/1 or gov.config/1 leaf of the project has another index than is
   * given; null: there is none.
   */
  readonly inForce?: { readonly policyIndex?: number | null; readonly configIndex?: number | null };
  /** Refused as `outdated` when the audit log has another size, so that a leaf may name its own index. */
  readonly auditSize?: number;
  /** Refused as `revised` when the project was changed last (`changeProject`) at another time than this. */
  readonly revisedMs?: number;
  /** A leaf that is a `conflict` refuses the request (VALIDATION_ERROR); else that leaf alone is left out. */
  readonly whole?: boolean;
  readonly effects?: readonly Effect[];
  /**
   * Leaves for the log of another project, in the same transaction and unmetered: the home of the project's organization
   * (`StoredOrganization.home` of its environment), as the effects leave it. Left out where the project is its own home
   * or has no organization. They have no clientEventId.
   */
  readonly toHome?: readonly LeafDraft[];
  readonly idempotency?: IdempotencyWrite;
}

/** What became of one leaf of a request. */
export type Assigned =
  | {
      readonly outcome: 'appended';
      readonly index: number;
      readonly eventId: string | null;
      readonly runSeq: number | null;
      readonly serverMs: number;
    }
  | { readonly outcome: 'duplicate'; readonly index: number; readonly eventId: string }
  | { readonly outcome: 'conflict' };

export type AppendOutcome =
  | {
      readonly outcome: 'stored';
      readonly assigned: readonly Assigned[];
      readonly response: StoredResponse | null;
      /** Units of the metered kind in this month, with these; 0 where nothing is metered. */
      readonly used: number;
      /** The project whose log got `toHome`. */
      readonly home?: string;
    }
  /** `used`: units before this request. */
  | { readonly outcome: 'over_quota'; readonly used: number; readonly units: number }
  | { readonly outcome: 'replayed'; readonly response: StoredResponse }
  | { readonly outcome: 'key_reused' }
  | { readonly outcome: 'stale'; readonly events: number }
  | { readonly outcome: 'outdated' }
  | { readonly outcome: 'revised' };
