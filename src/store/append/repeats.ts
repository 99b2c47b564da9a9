/**
 * The rows that detect repeats: stored answers, and the clients' own event ids.
 * Proven by `test/store/suite/log/repeats.ts`.
 */
import type { StoredResponse } from '../port/store.ts';

export interface KeptAnswer {
  readonly fingerprint: string;
  readonly response: StoredResponse;
}

/** The row of a stored answer, the same in both engines. */
export interface KeptRow {
  fingerprint: string;
  status: number;
  headers: string;
  body: string;
}

export const keptOf = ({ fingerprint, status, headers, body }: KeptRow): KeptAnswer => ({
  fingerprint,
  response: { status, body, headers: JSON.parse(headers) as StoredResponse['headers'] },
});

export interface KeptAnswers {
  find(project: number, key: string): KeptAnswer | null;
  save(project: number, key: string, answer: KeptAnswer & { readonly atMs: number }): void;
}

export interface ClientEvents {
  /**
   * Reserves a client's event id for a leaf. Returns the leaf that already has the id, or null if it was
   * free.
   */
  claim(
    project: number,
    clientEventId: string,
    event: { readonly index: number; readonly fingerprint: string },
  ): { readonly index: number; readonly fingerprint: string } | null;
  has(project: number, clientEventId: string): boolean;
  /** Reads the event id in a stored record. */
  eventId(project: number, index: number): string;
}
