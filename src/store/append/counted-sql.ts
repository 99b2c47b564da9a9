/**
 * SQL that computes the counters of events by time, and the times of blocks of runs, from their rows: for databases
 * that have events already, and for checks.
 * Proven by `test/store/file/schema/time-counts.test.ts` and `test/store/fsck/tamper.test.ts`.
 */
import { allTypes } from './blocks.ts';
import { coarseWidth, fineWidth, spanRuns } from './buckets.ts';

const [fine, coarse] = [2 ** fineWidth, 2 ** (coarseWidth - fineWidth)];

/** SQL: the fine buckets by type of events, as in `run_event` or, with a condition, a part of it. */
export const countedByTime = (events: string): string => `
  SELECT project, type_no, ${fineWidth} AS width, at_ms / ${fine} AS bucket, count(*) AS events
  FROM ${events} GROUP BY project, type_no, at_ms / ${fine}`;
/** SQL: the rows of `run_span`, from those of runs. */
export const spansOfRuns = (runs: string): string => `
  SELECT project, run_no / ${spanRuns} AS block, min(first_ms) AS first_ms, max(last_ms) AS last_ms
  FROM ${runs} GROUP BY project, run_no / ${spanRuns}`;

/** SQL: the wider buckets of the rows in `from`, and all types together. */
const sumsOf = (from: string, type: string, bucket: string, width: number): string =>
  `SELECT project, ${type} AS type_no, ${width} AS width, ${bucket} AS bucket, sum(events) AS events
   FROM ${from} GROUP BY project, ${bucket}${type === 'type_no' ? ', type_no' : ''}`;

/** SQL: what `event_count` has, from the rows of fine buckets by type in `from`. */
export const countsSql = (from: string): string =>
  [
    `SELECT project, type_no, width, bucket, events FROM ${from}`,
    sumsOf(from, `${allTypes}`, 'bucket', fineWidth),
    sumsOf(from, 'type_no', `bucket / ${coarse}`, coarseWidth),
    sumsOf(from, `${allTypes}`, `bucket / ${coarse}`, coarseWidth),
  ].join('\n UNION ALL ');

/** SQL: inserts what `event_count` has for these events. */
export const countTimes = (events: string): string =>
  `INSERT INTO event_count (project, type_no, width, bucket, events)
   WITH fine AS (${countedByTime(events)}) ${countsSql('fine')}`;

export const fillSpans = `
INSERT INTO run_span (project, block, first_ms, last_ms) ${spansOfRuns('run')};`;
