/**
 * Task: the terms of the events and evaluations in one block of the log, each with its places. Proven by
 * `test/service/search/handlers.engines.test.ts`.
 */
import { createHmac } from 'node:crypto';
import { blockLeaves, writePlaces } from '../../core/search/places.ts';
import { leafTerms } from '../../core/search/terms.ts';
import type { TermBlock } from '../../store/port/store.ts';
import type { Task } from '../call/work.ts';

/** Leaves of one read. */
const leavesAtOnce = 128;

/** The keyed hash of a term: without the key, the index says nothing about the content of events. */
export const termHash = (key: Uint8Array, term: string): Buffer =>
  createHmac('sha256', key).update(term).digest().subarray(0, 8);

export const searchBlock: Task<'searchBlock'> = async ({ reader, breathe }, { projectId, block, key }) => {
  const found = new Map<string, { firstMs: number; lastMs: number; offsets: number[] }>();
  const start = block * blockLeaves;
  const end = start + blockLeaves;
  const pruned = await reader.prunedBelow(projectId);
  for (let from = Math.max(start, pruned); from < end; from += leavesAtOnce) {
    const to = Math.min(end, from + leavesAtOnce);
    for (const leaf of await reader.leaves(projectId, 'audit', { from, to })) {
      const { terms = [], atMs = 0 } = leafTerms(leaf) ?? {};
      for (const term of terms) {
        const places = found.get(term);
        const offset = leaf.index - start;
        if (places === undefined) found.set(term, { firstMs: atMs, lastMs: atMs, offsets: [offset] });
        else {
          places.firstMs = Math.min(places.firstMs, atMs);
          places.lastMs = Math.max(places.lastMs, atMs);
          places.offsets.push(offset);
        }
      }
    }
    await breathe();
  }
  return [...found].map(([term, { firstMs, lastMs, offsets }]): TermBlock => ({
    term: termHash(key, term),
    firstMs,
    lastMs,
    places: writePlaces(offsets),
  }));
};
