/**
 * The search index of each log: for each term, the blocks of leaves in which it occurs; and events by their times. Terms are keyed hashes. A cache: it
 * is made from the log and may be dropped at any time. Proven by `test/store/suite/log/event-terms.ts`.
 */

export interface TermBlock {
  /** Keyed hash of the term, 8 bytes. */
  readonly term: Uint8Array;
  /** Smallest and largest client timestamp of the events, Unix milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** Offsets in the block (`src/core/search/places.ts`). */
  readonly places: Uint8Array;
}

export interface TermHead {
  /** How many blocks are indexed, from the first one on. */
  readonly blocks: number;
  /** Grows with each erasure, so that no block that was read before it is saved after it. */
  readonly changes: number;
}

export interface EventTermReader {
  termHead(projectId: string): Promise<TermHead>;
  /** The places of a term in the blocks of [from, to), newest first, if its events there overlap the times. */
  termBlocks(
    projectId: string,
    term: Uint8Array,
    range: { readonly from: number; readonly to: number; readonly startMs: number; readonly endMs: number },
  ): Promise<{ readonly block: number; readonly places: Buffer }[]>;
  /**
   * Indexes of the events of [from, to) whose client timestamps are within the times, both included, newest recording
   * first. Cost: a row of the index of times for each event within the times, so the caller counts them first.
   */
  eventsWithin(
    projectId: string,
    range: { readonly from: number; readonly to: number; readonly startMs: number; readonly endMs: number },
  ): Promise<number[]>;
}

export interface EventTermStore {
  /** Saves the terms of the block after `head`. False, and nothing saved, unless that is still the head. */
  saveTermBlock(projectId: string, head: TermHead, terms: readonly TermBlock[]): Promise<boolean>;
}
