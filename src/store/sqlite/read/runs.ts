/**
 * Reads of runs, and counts of events. The append transaction maintains the rows for both.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import type { RunSummary, StoreReader } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { combinedReader, newestEvaluationSql } from './decided.ts';
import { allWithin, boundsReader, factsReader, someWithin, type Bounds, type RunFacts } from './filter.ts';
import { endOfTime } from '../../port/bounds.ts';
import { allTypes, blockEvents, blockOf } from '../../append/blocks.ts';
import type { RunState } from '../../append/ledger.ts';
import { runColumns, summaryOf } from '../../append/run-row.ts';
import { selected } from '../../rules/columns.ts';
import { countWindow } from '../../read/counts.ts';
import type { Queries } from '../../read/queries.ts';
import type { ProjectNumber } from './leaves.ts';
import { everyRun, preparedOnce, runRanges, type RunRange } from './run-pages.ts';
import type { Turns } from './turns.ts';

/** Blocks of a run that are counted between two turns of the event loop: 2 ms. */
const blocksAtOnce = 10;

interface RunRow extends RunState {
  sealed: number;
  proofs: number;
  evaluated: number | null;
}

const columns = `${selected(runColumns)},
  EXISTS (SELECT 1 FROM run_graph g WHERE g.project = run.project AND g.run_id = run.run_id
    AND g.sealed_ms IS NOT NULL) AS sealed,
  (SELECT count(*) FROM proof p WHERE p.project = run.project AND p.run_id = run.run_id) AS proofs,
  ${newestEvaluationSql} AS evaluated`;

/** Builds summaries of runs from their rows; reads the last decision from its leaf. */
function summarizer(db: Connection): (project: number, row: RunRow) => RunSummary {
  const combined = combinedReader(db);
  return (project, { sealed, proofs, evaluated, ...run }) => {
    const lastDecision = evaluated === null ? null : combined(project, evaluated);
    return summaryOf(run, { sealed: sealed === 1, proofs, lastDecision });
  };
}

type RunReads = Pick<StoreReader, 'run' | 'runs' | 'countEvents'>;

interface RunParts {
  readonly numberOf: ProjectNumber;
  readonly turns: Turns;
  readonly queries: Queries;
}

export function runReads(db: Connection, parts: RunParts): RunReads {
  const { numberOf } = parts;
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
    runs: runPages(db, parts),
    countEvents: counter(db, parts),
  };
}

/** A page may take several steps; each reads the runs of one range. */
function runPages(db: Connection, { numberOf, turns }: RunParts): StoreReader['runs'] {
  const boundsOf = boundsReader(db);
  const summarize = summarizer(db);
  const ranges = runRanges(db, turns);
  const prepared = preparedOnce((text) => db.prepare<Value[], RunRow>(text));
  const select = ({ rows }: RunRange) =>
    prepared(
      `SELECT ${columns} FROM ${rows} AND project = ? AND first_ms <= ? AND last_ms >= ?
         AND (? IS NULL OR ai_system_id = ?)
         AND (? IS NULL OR EXISTS (SELECT 1 FROM run_type t WHERE t.project = run.project AND t.run_no = run.run_no
           AND t.type_no = ?))
       ORDER BY run_no DESC LIMIT ?`,
    );
  const numberOfRun = db
    .prepare<Value[], number>('SELECT run_no FROM run WHERE project = ? AND run_id = ?')
    .pluck();
  return async (projectId, filter, { after = endOfTime, limit }) => {
    const project = numberOf(projectId);
    const bounds = boundsOf(project, filter);
    if (bounds === null) return [];
    const { runId, aiSystemId: system = null } = filter;
    const type = filter.eventType === undefined ? null : bounds.types[0];
    const [start, end] = bounds.times;
    const values = [project, end, start, system, system, type, type];
    const found: RunSummary[] = [];
    const read = (range: RunRange): boolean => {
      const rows = select(range).all(...range.values, ...values, limit - found.length);
      found.push(...rows.map((row) => summarize(project, row)));
      return found.length >= limit;
    };
    if (runId !== undefined) {
      const no = numberOfRun.get(project, runId);
      if (no !== undefined && no < after) read(everyRun(project, no, no + 1));
      return found;
    }
    const isFiltered = type !== null || system !== null || start > 0 || end < endOfTime;
    if (!isFiltered) {
      read(everyRun(project, 0, after));
      return found;
    }
    for await (const range of ranges({ project, times: bounds.times, type, system }, after)) {
      if (read(range)) break;
    }
    return found;
  };
}

function counter(db: Connection, { numberOf, turns, queries }: RunParts): StoreReader['countEvents'] {
  const boundsOf = boundsReader(db);
  const factsOf = factsReader(db);
  const countRun = runCounter(db, turns);
  const total = db
    .prepare<Value[], number>(
      'SELECT coalesce(sum(events), 0) FROM type_total WHERE project = ? AND type_no BETWEEN ? AND ?',
    )
    .pluck();
  return async (projectId, filter) => {
    const project = numberOf(projectId);
    const bounds = boundsOf(project, filter);
    if (bounds === null) return 0;
    if (filter.runId !== undefined) {
      const run = factsOf(project, filter.runId);
      return run === null ? 0 : countRun(project, run, bounds);
    }
    const [startMs, endMs] = bounds.times;
    if (startMs === 0 && endMs === endOfTime) return total.get(project, ...bounds.types) ?? 0;
    return countWindow(queries, projectId, { eventType: filter.eventType, startMs, endMs });
  };
}

/**
 * Counts the events of one run within bounds. Blocks that lie within the times are counted by their
 * summaries, blocks that do so in part, and the open block, by their rows.
 */
function runCounter(db: Connection, turns: Turns) {
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
  const ofBlocks = 'FROM run_block WHERE project = ? AND run_no = ? AND type_no = ? AND block < ?';
  const within = db
    .prepare<Value[], number>(
      `SELECT coalesce(sum(events), 0) ${ofBlocks} AND first_ms >= ? AND last_ms <= ?`,
    )
    .pluck();
  const partial = db
    .prepare<Value[], number>(
      `SELECT block ${ofBlocks} AND first_ms <= ? AND last_ms >= ? AND (first_ms < ? OR last_ms > ?)`,
    )
    .pluck();
  return async (project: number, run: RunFacts, { types, times }: Bounds): Promise<number> => {
    if (!someWithin(run, times)) return 0;
    if (allWithin(run, times)) return byType.get(project, run.no, ...types) ?? 0;
    const [start, end] = times;
    const open = blockOf(run.events);
    const blocks = [project, run.no, types[0] === types[1] ? types[0] : allTypes, open];
    let count = within.get(...blocks, start, end) ?? 0;
    const partly = partial.all(...blocks, end, start, start, end);
    for (const [at, block] of [...partly, open].entries()) {
      if (at % blocksAtOnce === blocksAtOnce - 1) await turns.next(project);
      const rows = [block * blockEvents, Math.min((block + 1) * blockEvents, run.events)];
      count += byRow.get(project, run.no, ...rows, ...types, ...times) ?? 0;
    }
    return count;
  };
}
