/**
 * The rows that detect repeats: stored answers, and the clients' own event ids.
 * Proven by `test/store/suite/log/repeats.ts`.
 */
import { hashText } from '../../core/hash.ts';
import { leafHash } from '../../core/merkle/tree.ts';
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

/** Among the stored headers: the leaves of the answer. No answer has this header. */
const leavesHeader = 'gov-leaves';

/** The column `headers` of an answer. */
export const keptHeaders = ({ headers, leaves }: StoredResponse): string =>
  JSON.stringify(
    leaves === undefined ? headers : { ...headers, [leavesHeader]: `${leaves.first}-${leaves.last}` },
  );

export function keptOf({ fingerprint, status, headers: text, body }: KeptRow): KeptAnswer {
  const { [leavesHeader]: leaves, ...headers } = JSON.parse(text) as StoredResponse['headers'];
  if (leaves === undefined) return { fingerprint, response: { status, body, headers } };
  const [first = 0, last = 0] = leaves.split('-').map(Number);
  return { fingerprint, response: { status, body, headers, leaves: { first, last } } };
}

export interface KeptAnswers {
  find(project: number, key: string): KeptAnswer | null;
  save(project: number, key: string, answer: KeptAnswer & { readonly atMs: number }): void;
}

/** What an answer names of an event. */
export interface StoredEventId {
  readonly eventId: string;
  /** `sha256:…` */
  readonly leafHash: string;
}

export const eventIdOf = (record: string): StoredEventId => ({
  // a record of an event
  eventId: (JSON.parse(record) as { eventId: string }).eventId,
  leafHash: hashText(leafHash(record)),
});

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
  /** Reads a stored record. */
  event(project: number, index: number): StoredEventId;
}
