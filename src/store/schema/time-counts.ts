/**
 * Counters of events by their time, for both engines, and what SQLite needs for lists of runs. `type_no` 0
 * means all types, `width` is the power of two of a bucket in milliseconds, and a block is 1,024 numbers of
 * runs (`src/store/append/time-counts.ts`). The filling statements serve databases that have events already.
 * Proven by `test/store/suite/log/counts.ts` and `test/store/file/schema/time-counts.test.ts`.
 */
import { allTypes } from '../append/blocks.ts';
import { coarseWidth, fineWidth, spanRuns } from '../append/time-counts.ts';

export const timeCountTables = `
CREATE TABLE event_count (
  project integer NOT NULL,
  type_no integer NOT NULL,
  width smallint NOT NULL,
  bucket bigint NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project, type_no, width, bucket)
) WITHOUT ROWID WITH (fillfactor = 70);

CREATE INDEX run_event_time ON run_event (project, at_ms, type_no);
CREATE INDEX run_system ON run (project, ai_system_id, run_no) WHERE ai_system_id IS NOT NULL;
CREATE INDEX run_type_runs ON run_type (project, type_no, run_no);
`;

/** For SQLite, which scans runs in the thread that serves. */
export const runSpans = `
CREATE TABLE run_span (
  project INTEGER NOT NULL,
  block INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (project, block)
) STRICT, WITHOUT ROWID;
`;

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
export const countsFrom = (from: string): string =>
  [
    `SELECT project, type_no, width, bucket, events FROM ${from}`,
    sumsOf(from, `${allTypes}`, 'bucket', fineWidth),
    sumsOf(from, 'type_no', `bucket / ${coarse}`, coarseWidth),
    sumsOf(from, `${allTypes}`, `bucket / ${coarse}`, coarseWidth),
  ].join('\n UNION ALL ');

/** SQL: inserts what `event_count` has for these events. */
export const countTimes = (events: string): string =>
  `INSERT INTO event_count (project, type_no, width, bucket, events)
   WITH fine AS (${countedByTime(events)}) ${countsFrom('fine')}`;

export const fillSpans = `
INSERT INTO run_span (project, block, first_ms, last_ms) ${spansOfRuns('run')};`;
