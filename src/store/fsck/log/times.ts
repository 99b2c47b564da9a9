/**
 * `fsck`: recomputes the counters of events by time, and the times of blocks of runs. A database of an older
 * release has neither.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import { countedByTime, countsSql, spansOfRuns } from '../../append/counted-sql.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { schemaVersion } from '../../file/migrate.ts';
import type { Value } from '../../file/connection.ts';

interface Difference {
  readonly at: string;
  readonly got: string | null;
  readonly expected: string | null;
}

/** SQL: rows whose `value` differs between what is kept and what is found; each has its place in `at`. */
const differences = (kept: string, found: string): string =>
  `SELECT at, max(kept) AS got, max(found) AS expected FROM (
     SELECT at, value AS kept, NULL AS found FROM (${kept}) UNION ALL SELECT at, NULL, value FROM (${found}))
   GROUP BY at HAVING got IS NOT expected`;

const count = `type_no || '/' || width || '/' || bucket AS at, CAST(events AS TEXT) AS value`;
const counts = differences(
  `SELECT ${count} FROM event_count WHERE project = ?`,
  `WITH fine AS (${countedByTime('run_event WHERE project = ?')}) SELECT ${count} FROM (${countsSql('fine')})`,
);
const span = `CAST(block AS TEXT) AS at, first_ms || ' to ' || last_ms AS value`;
const spans = differences(
  `SELECT ${span} FROM run_span WHERE project = ?`,
  `SELECT ${span} FROM (${spansOfRuns('run WHERE project = ?')})`,
);

export function checkTimes({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  if (schemaVersion(db) < 3) return;
  for (const [table, sql] of [
    ['event_count', counts],
    ['run_span', spans],
  ] as const) {
    for (const { at, got, expected } of db.prepare<Value[], Difference>(sql).all(no, no)) {
      const values = { expected: expected ?? 'none', got: got ?? 'none' };
      problem(`${projectId}/${table}/${at}`, 'counter_mismatch', values);
    }
  }
}
