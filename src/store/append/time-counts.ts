/**
 * Counters by time, so that a count with a time window reads few rows. Times are those of the events. Each
 * event counts in a bucket of 2^16 ms (66 s) and in one of 2^24 ms (4.7 h), of its type and of all types. A
 * window is at most 510 fine buckets, 1,881 coarse ones for each year, and two rests shorter than 66 s, which
 * an index of events counts. Cost of writing: four rows for each type and bucket of a commit.
 * A span has the first and last time of any of 1,024 consecutive runs, so that a list of runs by time skips
 * the others. Neither erasure nor pruning changes these rows: both leave the rows of events.
 * Proven by `test/store/append/time-counts.test.ts` and `test/store/suite/log/counts.ts`.
 */
import { allTypes } from './blocks.ts';
import { coarseWidth, fineWidth, spanRuns } from './buckets.ts';
import type { PendingCommit } from './pending.ts';

type CountRow = readonly [typeNo: number, width: number, bucket: number, events: number];

/** The events that a commit adds to each bucket. */
export function addedCounts({ typeTimes }: Pick<PendingCommit, 'typeTimes'>): CountRow[] {
  const rows: CountRow[] = [];
  const all = new Map<number, number>();
  const add = (typeNo: number, fine: ReadonlyMap<number, number>): void => {
    const coarse = new Map<number, number>();
    for (const [bucket, events] of fine) {
      rows.push([typeNo, fineWidth, bucket, events]);
      const wider = Math.floor(bucket / 2 ** (coarseWidth - fineWidth));
      coarse.set(wider, (coarse.get(wider) ?? 0) + events);
    }
    for (const [bucket, events] of coarse) rows.push([typeNo, coarseWidth, bucket, events]);
  };
  for (const [typeNo, fine] of typeTimes) {
    add(typeNo, fine);
    for (const [bucket, events] of fine) all.set(bucket, (all.get(bucket) ?? 0) + events);
  }
  add(allTypes, all);
  return rows;
}

type SpanRow = readonly [block: number, firstMs: number, lastMs: number];

/** The times of the runs that a commit changes, by block. */
export function changedSpans({ runs }: Pick<PendingCommit, 'runs'>): SpanRow[] {
  const spans = new Map<number, SpanRow>();
  for (const { no, firstMs, lastMs } of runs.values()) {
    const block = Math.floor(no / spanRuns);
    const [, first, last] = spans.get(block) ?? [block, firstMs, lastMs];
    spans.set(block, [block, Math.min(first, firstMs), Math.max(last, lastMs)]);
  }
  return [...spans.values()];
}
