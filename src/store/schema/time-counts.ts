/**
 * Counters of events by their time, for both engines, and what SQLite needs for lists of runs. `type_no` 0
 * means all types, `width` is the power of two of a bucket in milliseconds, and a block is 1,024 numbers of
 * runs (`src/store/append/buckets.ts`).
 * Proven by `test/store/suite/log/counts.ts` and `test/store/file/schema/time-counts.test.ts`.
 */
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
