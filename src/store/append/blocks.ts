/**
 * Summaries of long runs, so that a list filtered by type or time skips events before its page.
 * A block is 1,024 events of a run, by `runSeq`. The commit that fills a block writes one row for each type
 * in it, and one row for all types. A row has the number of events and their smallest and largest time. The
 * last block is open and has no rows. Cost of writing: 0.4 µs an event. Cost of a list that starts at the end
 * of a run of 5 million events: 5,000 rows.
 * Proven by `test/store/suite/log/lists.ts`.
 */
import type { PendingCommit } from './pending.ts';

export const blockEvents = 1024;

/** Means all types; no type has this number. */
export const allTypes = 0;

export const blockOf = (runSeq: number): number => Math.floor(runSeq / blockEvents);

/** A run and its events [from, to) that now form whole blocks. */
export interface FilledBlocks {
  readonly runNo: number;
  readonly from: number;
  readonly to: number;
}

/** The blocks that the requests of a commit filled. */
export function filledBy({
  runs,
  runTypeEvents,
}: Pick<PendingCommit, 'runs' | 'runTypeEvents'>): FilledBlocks[] {
  const filled: FilledBlocks[] = [];
  for (const { no: runNo, events } of runs.values()) {
    let added = 0;
    for (const count of runTypeEvents.get(runNo)?.values() ?? []) added += count;
    const from = blockOf(events - added) * blockEvents;
    const to = blockOf(events) * blockEvents;
    if (from < to) filled.push({ runNo, from, to });
  }
  return filled;
}
