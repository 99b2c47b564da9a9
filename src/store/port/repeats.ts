/** What is kept of a request, so that a repeat of it is answered as the first time. */

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
