/**
 * Task: the terms of the events in one block of the log, each with its places. Proven by
 * `test/service/search/handlers.engines.test.ts`.
 */
import { createHmac } from 'node:crypto';
import { openEvent } from '../../core/event/record.ts';
import { blockLeaves, writePlaces } from '../../core/search/places.ts';
import { eventTerms } from '../../core/search/terms.ts';
import { parseTimestamp } from '../../core/time.ts';
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
    for (const { index, record, disclosures, erased } of await reader.leaves(projectId, 'audit', {
      from,
      to,
    })) {
      if (!record.endsWith('"type":"gov.event/1"}')) continue;
      const event = openEvent(index, record, disclosures ?? '[]', erased ?? null);
      const ms = parseTimestamp(event.timestamp) ?? 0;
      for (const term of eventTerms(event)) {
        const places = found.get(term);
        if (places === undefined) found.set(term, { firstMs: ms, lastMs: ms, offsets: [index - start] });
        else {
          places.firstMs = Math.min(places.firstMs, ms);
          places.lastMs = Math.max(places.lastMs, ms);
          places.offsets.push(index - start);
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
