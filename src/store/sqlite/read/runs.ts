/**
 * Reads of runs, and counts of events. The append transaction maintains the rows for both. Only a run that
 * lies partly within a time range is counted by its narrow rows.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunSummary, StoreReader } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { combinedReader, newestEvaluationSql } from './decided.ts';
import { allWithin, boundsReader, factsReader, someWithin, type Bounds, type RunFacts } from './filter.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { ProjectNumber } from './leaves.ts';

/** Rows per step between two turns of the event loop: runs (10 ms), narrow rows of one run (10 ms). */
const runStep = 5000;
const narrowStep = 50_000;

interface RunRow {
  run_no: number;
  run_id: string;
  events: number;
  first_index: number;
  last_index: number;
  first_ms: number;
  last_ms: number;
  last_server_ms: number;
  ai_system_id: string | null;
  sealed: number;
  proofs: number;
  evaluated: number | null;
}

const columns = `run_no, run_id, events, first_index, last_index, first_ms, last_ms, last_server_ms, ai_system_id,
  EXISTS (SELECT 1 FROM run_graph g WHERE g.project = run.project AND g.run_id = run.run_id
    AND g.sealed_ms IS NOT NULL) AS sealed,
  (SELECT count(*) FROM proof p WHERE p.project = run.project AND p.run_id = run.run_id) AS proofs,
  ${newestEvaluationSql} AS evaluated`;

const summaryOf = (row: RunRow, lastDecision: string | null): RunSummary => ({
  no: row.run_no,
  runId: row.run_id,
  events: row.events,
  firstIndex: row.first_index,
  lastIndex: row.last_index,
  firstTimestampMs: row.first_ms,
  lastTimestampMs: row.last_ms,
  lastServerMs: row.last_server_ms,
  aiSystemId: row.ai_system_id,
  sealed: row.sealed === 1,
  proofs: row.proofs,
  lastDecision,
});

/** Builds summaries of runs from their rows; reads the last decision from its leaf. */
function summarizer(db: Connection): (project: number, row: RunRow) => RunSummary {
  const combined = combinedReader(db);
  return (project, row) => summaryOf(row, row.evaluated === null ? null : combined(project, row.evaluated));
}

type RunReads = Pick<StoreReader, 'run' | 'runs' | 'countEvents'>;

export function runReads(db: Connection, numberOf: ProjectNumber): RunReads {
  const selectRun = db.prepare<Value[], RunRow>(
    `SELECT ${columns} FROM run WHERE project = ? AND run_id = ?`,
  );
  const summarize = summarizer(db);
  return {
    run: async (projectId, runId) => {
      const project = numberOf(projectId);
      const row = selectRun.get(project, runId);
      return row === undefined ? null : summarize(project, row);
    },
    runs: runPages(db, numberOf),
    countEvents: counter(db, numberOf),
  };
}

/**
 * Pages backwards by run number, which is the order of creation: pages never miss a run that gets new events.
 */
function runPages(db: Connection, numberOf: ProjectNumber): StoreReader['runs'] {
  const boundsOf = boundsReader(db);
  const summarize = summarizer(db);
  const selectPage = (ofType: string) =>
    db.prepare<Value[], RunRow>(
      `SELECT ${columns} FROM run INDEXED BY run_page
       WHERE run_no < ? AND project = ? AND first_ms <= ? AND last_ms >= ?
         AND (? IS NULL OR ai_system_id = ?) AND (? IS NULL OR run_id = ?) ${ofType}
       ORDER BY run_no DESC LIMIT ?`,
    );
  const select = selectPage('');
  const selectOfType = selectPage(
    `AND EXISTS (SELECT 1 FROM run_type t WHERE t.project = run.project AND t.run_no = run.run_no AND t.type_no = ?)`,
  );
  return async (projectId, filter, { after, limit }) => {
    const project = numberOf(projectId);
    const bounds = boundsOf(project, filter);
    if (bounds === null) return [];
    const [start, end] = bounds.times;
    const { runId = null, aiSystemId = null } = filter;
    const values = [after ?? endOfTime, project, end, start, aiSystemId, aiSystemId, runId, runId];
    const rows =
      filter.eventType === undefined
        ? select.all(...values, limit)
        : selectOfType.all(...values, bounds.types[0], limit);
    return rows.map((row) => summarize(project, row));
  };
}

function counter(db: Connection, numberOf: ProjectNumber): StoreReader['countEvents'] {
  const boundsOf = boundsReader(db);
  const factsOf = factsReader(db);
  const countRun = runCounter(db);
  const total = db
    .prepare<Value[], number>(
      'SELECT coalesce(sum(events), 0) FROM type_total WHERE project = ? AND type_no BETWEEN ? AND ?',
    )
    .pluck();
  const nextRuns = db.prepare<Value[], RunFacts & { runId: string }>(
    `SELECT run_no AS no, run_id AS runId, events, last_index AS lastIndex, first_ms AS firstMs,
       last_ms AS lastMs FROM run
     WHERE project = ? AND run_id > ? ORDER BY run_id LIMIT ${runStep}`,
  );
  return async (projectId, filter) => {
    const project = numberOf(projectId);
    const bounds = boundsOf(project, filter);
    if (bounds === null) return 0;
    if (filter.runId !== undefined) {
      const run = factsOf(project, filter.runId);
      return run === null ? 0 : countRun(project, run, bounds);
    }
    if (bounds.times[0] === 0 && bounds.times[1] === endOfTime)
      return total.get(project, ...bounds.types) ?? 0;
    let count = 0;
    let last = '';
    for (;;) {
      const runs = nextRuns.all(project, last);
      for (const run of runs) {
        if (someWithin(run, bounds.times)) count += await countRun(project, run, bounds);
        last = run.runId;
      }
      if (runs.length < runStep) return count;
      await nextTurn();
    }
  };
}

/** Counts the events of one run within bounds. */
function runCounter(db: Connection) {
  const byType = db
    .prepare<Value[], number>(
      `SELECT coalesce(sum(events), 0) FROM run_type WHERE project = ? AND run_no = ? AND type_no BETWEEN ? AND ?`,
    )
    .pluck();
  const byRow = db
    .prepare<Value[], number>(
      `SELECT count(*) FROM run_event WHERE project = ? AND run_no = ? AND run_seq >= ? AND run_seq < ?
         AND type_no BETWEEN ? AND ? AND at_ms BETWEEN ? AND ?`,
    )
    .pluck();
  return async (project: number, run: RunFacts, { types, times }: Bounds): Promise<number> => {
    if (!someWithin(run, times)) return 0;
    if (allWithin(run, times)) return byType.get(project, run.no, ...types) ?? 0;
    let count = 0;
    for (let from = 0; from < run.events; from += narrowStep) {
      if (from > 0) await nextTurn();
      count += byRow.get(project, run.no, from, from + narrowStep, ...types, ...times) ?? 0;
    }
    return count;
  };
}
