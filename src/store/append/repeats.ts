/** Rows that make a repeat the same as the first time, as the sequencer knows them: kept answers, and clients' own event ids. */
import type { StoredResponse } from '../port/store.ts';

export interface Kept {
  readonly fingerprint: string;
  readonly response: StoredResponse;
}

export interface KeptAnswers {
  find(project: number, key: string): Kept | null;
  save(project: number, key: string, answer: Kept & { readonly atMs: number }): void;
}

export interface ClientEvents {
  /** Takes a client's event id for a leaf; answers the leaf that has it already, null where it was free. */
  claim(
    project: number,
    clientEventId: string,
    event: { readonly index: number; readonly fingerprint: string },
  ): { readonly index: number; readonly fingerprint: string } | null;
  has(project: number, clientEventId: string): boolean;
  /** The event id in a stored record. */
  eventId(project: number, index: number): string;
}
