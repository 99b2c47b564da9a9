/**
 * `fsck`: checks the rows of runs, the rows of their events, and counters, all in one transaction.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { checkBlocks } from './blocks.ts';
import { checkTimes } from './times.ts';
import type { Value } from '../../file/connection.ts';

interface Tally {
  readonly run_id: string | null;
  readonly events: number | null;
  readonly first_index: number | null;
  readonly last_index: number | null;
  readonly first_ms: number | null;
  readonly last_ms: number | null;
  readonly rows: number;
  readonly lowest: number;
  readonly highest: number;
  readonly from: number;
  readonly to: number;
  readonly earliest: number;
  readonly latest: number;
}

/** All statements run in one read transaction, so that they read the same state. */
export function checkRuns(check: Check, project: CheckedProject): void {
  check.db.exec('BEGIN');
  try {
    checkTallies(check, project);
    checkCounters(check, project);
    checkBlocks(check, project);
    checkTimes(check, project);
  } finally {
    check.db.exec('COMMIT');
  }
}

/** Checks that `runSeq` is 0, 1, 2 … without a gap, and compares the run's row with its events. */
function checkTallies({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const tallies = db
    .prepare<Value[], Tally>(
      `SELECT run.run_id, run.events, run.first_index, run.last_index, run.first_ms, run.last_ms,
         count(*) AS rows, min(run_seq) AS lowest, max(run_seq) AS highest, min(idx) AS "from", max(idx) AS "to",
         min(at_ms) AS earliest, max(at_ms) AS latest
       FROM run_event e LEFT JOIN run ON run.project = e.project AND run.run_no = e.run_no
       WHERE e.project = ? GROUP BY e.run_no`,
    )
    .iterate(no);
  for (const tally of tallies) {
    const { run_id: runId, rows, events } = tally;
    const position = `${projectId}/run/${runId ?? 'unknown'}`;
    if (tally.lowest !== 0 || tally.highest !== rows - 1 || events !== rows) {
      const got = `${rows} events numbered ${tally.lowest} to ${tally.highest}`;
      problem(position, 'run_mismatch', { expected: `events 0 to ${(events ?? 0) - 1} without a gap`, got });
    }
    const said = [tally.first_index, tally.last_index, tally.first_ms, tally.last_ms].join(', ');
    const found = [tally.from, tally.to, tally.earliest, tally.latest].join(', ');
    if (said !== found)
      problem(position, 'run_mismatch', { expected: `bounds ${found}`, got: `bounds ${said}` });
  }
  const empty = db
    .prepare<Value[], { run_id: string; events: number }>(
      `SELECT run_id, events FROM run WHERE project = ?
         AND NOT EXISTS (SELECT 1 FROM run_event e WHERE e.project = run.project AND e.run_no = run.run_no)`,
    )
    .all(no);
  for (const { run_id: runId, events } of empty) {
    problem(`${projectId}/run/${runId}`, 'run_mismatch', { expected: `${events} events`, got: 'none' });
  }
}

/** Compares the counters of events by type, of runs and of the project. */
function checkCounters({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const counted = `SELECT run_no, type_no, count(*) AS events FROM run_event WHERE project = ? GROUP BY run_no, type_no`;
  const byRun = db
    .prepare<Value[], { run_no: number; type_no: number; got: number | null; expected: number | null }>(
      `SELECT run_no, type_no, max(kept) AS got, max(found) AS expected FROM (
         SELECT run_no, type_no, events AS kept, NULL AS found FROM run_type WHERE project = ?
         UNION ALL SELECT run_no, type_no, NULL, events FROM (${counted}))
       GROUP BY run_no, type_no HAVING got IS NOT expected`,
    )
    .all(no, no);
  for (const { run_no: run, type_no: type, expected, got } of byRun) {
    const position = `${projectId}/run_type/${run}/${type}`;
    problem(position, 'counter_mismatch', { expected: `${expected ?? 0}`, got: `${got ?? 0}` });
  }
  const byProject = db
    .prepare<Value[], { type_no: number; got: number | null; expected: number | null }>(
      `SELECT type_no, max(kept) AS got, max(found) AS expected FROM (
         SELECT type_no, events AS kept, NULL AS found FROM type_total WHERE project = ?
         UNION ALL SELECT type_no, NULL, sum(events) FROM run_type WHERE project = ? GROUP BY type_no)
       GROUP BY type_no HAVING got IS NOT expected`,
    )
    .all(no, no);
  for (const { type_no: type, expected, got } of byProject) {
    const position = `${projectId}/type_total/${type}`;
    problem(position, 'counter_mismatch', { expected: `${expected ?? 0}`, got: `${got ?? 0}` });
  }
}
