/**
 * The saved map of a log (`src/core/completeness/log-map.ts`): a cache, so that a process need not read the whole log again.
 * The reader checks it against the log: the root of `parts` is in a `gov.index/1` leaf, and each part and list has
 * its hash. It may be dropped at any time, except while the records that it came from are pruned.
 * Proven by `test/store/suite/log/index-map.ts`.
 */
import type { ChangedList } from '../../core/completeness/log-map.ts';
import type { StoredList } from '../../core/completeness/key-list.ts';
import type { PathEnd } from '../../core/completeness/map.ts';

export interface SavedMap {
  /** How many leaves the map covers, and the server time there. */
  readonly size: number;
  readonly ms: number;
  /** Index of a `gov.index/1` leaf with this size and the root of `parts`. */
  readonly leafIndex: number;
  readonly parts: Uint8Array;
}

export interface IndexMapReader {
  savedMap(projectId: string): Promise<SavedMap | null>;
  /** The entries with a key hash between two bounds, both included. */
  mapPart(projectId: string, range: { readonly from: Buffer; readonly to: Buffer }): Promise<PathEnd[]>;
  /** The lists with these key hashes, by hash in hex; those that are missing are absent. */
  mapLists(projectId: string, keyHashes: readonly Buffer[]): Promise<ReadonlyMap<string, StoredList>>;
}

export interface IndexMapStore {
  /**
   * Saves a map and its lists that changed since `since`, the size at which they were last read or saved; 0 for all lists.
   * Writes nothing if the saved map is as new as this one, or older than `since`.
   */
  saveMap(
    projectId: string,
    saved: { readonly map: SavedMap; readonly since: number; readonly lists: readonly ChangedList[] },
  ): Promise<void>;
  dropMap(projectId: string): Promise<void>;
}
