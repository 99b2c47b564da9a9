/**
 * Summaries of long runs, so that a list filtered by type or time need not look at every event before its page. The
 * events of a run are blocks of 1,024, by `runSeq`; the commit that fills a block writes one row for each type in it,
 * and one for all of them: how many events, and their smallest and largest time. The last block, which is open, has no
 * rows. Cost of writing: 0.4 µs an event; of a list that starts at the end of a run of 5 million events: 5,000 rows. Proven by `test/store/suite/log/lists.ts`.
 */
import type { Pending } from './pending.ts';

export const blockEvents = 1024;

/** Stands for all types; no type has this number. */
export const allTypes = 0;

export const blockOf = (runSeq: number): number => Math.floor(runSeq / blockEvents);

/** A run with its events [from, to) that are whole blocks now. */
export interface Filled {
  readonly runNo: number;
  readonly from: number;
  readonly to: number;
}

/** What the requests of a commit filled. */
export function filledBy({ runs, runTypeEvents }: Pick<Pending, 'runs' | 'runTypeEvents'>): Filled[] {
  const filled: Filled[] = [];
  for (const { no: runNo, events } of runs.values()) {
    let added = 0;
    for (const count of runTypeEvents.get(runNo)?.values() ?? []) added += count;
    const from = blockOf(events - added) * blockEvents;
    const to = blockOf(events) * blockEvents;
    if (from < to) filled.push({ runNo, from, to });
  }
  return filled;
}
