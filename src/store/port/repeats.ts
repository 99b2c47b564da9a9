/**
 * The stored answer to a request, so that a repeated request gets the first answer.
 * The store writes it in the transaction of the request (draft-ietf-httpapi-idempotency-key).
 * Proven by `test/store/suite/log/work.ts`.
 */
import type { LeafRange } from './log.ts';

/** A stored answer. A repeat gets the same bytes. */
export interface StoredResponse {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The leaves that it is about, for a receipt. Absent: none, not consecutive ones, or kept by an older build. */
  readonly leaves?: LeafRange;
}

/**
 * A text with gaps for what exists only after the leaves are stored. A string piece is text. A number piece is the
 * position of a leaf in the request. Of an event the store writes `event` around its id and, after `beforeHash`, the
 * hash of its leaf; or `conflict` if the leaf is one. Of another leaf it writes the index.
 */
export interface TextTemplate {
  readonly pieces: readonly (string | number)[];
  readonly event: { readonly before: string; readonly beforeHash?: string; readonly after: string };
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
