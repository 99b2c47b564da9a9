/**
 * Pages of runs, newest first. A page goes backwards by run number, which is the order of creation, so pages
 * never miss a run that gets new events. It skips runs by the index of the filter that fits fewest, and by
 * the times of blocks of runs (`src/store/append/buckets.ts`). It goes in steps of at most 1,000 runs.
 * Proven by `test/store/suite/log/counts.ts`.
 */
import { spanRuns } from '../../append/buckets.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { Statement } from '../../file/statement.ts';
import type { Bounds } from './filter.ts';
import type { Turns } from './turns.ts';

/** Runs per step, 1 ms; blocks per step, 1 ms. */
const runStep = 1000;
const blockStep = 20_000;
/** Up to here the runs of two filters are counted to find the rarer one. */
const rareRuns = 2000;

export interface WantedRuns {
  readonly project: number;
  readonly times: Bounds['times'];
  /** Number of an event type that a run must have. */
  readonly type: number | null;
  readonly system: string | null;
}

/** A way to find runs: all of them, those with a type, or those of a system. */
interface Way {
  /** SQL: their numbers; conditions on project and number follow. */
  readonly numbers: string;
  readonly values: readonly Value[];
  /** SQL: their rows, of numbers from `?` to before `?` of project `?`; another condition on the project follows. */
  readonly rows: string;
}

const range = 'project = ? AND run_no >= ? AND run_no < ?';
const ofType = 'run_type INDEXED BY run_type_runs WHERE type_no = ? AND';
const ofSystem = 'run INDEXED BY run_system WHERE ai_system_id = ? AND';
const ofAll = 'run INDEXED BY run_page WHERE';

const wayOfType = (type: number): Way => ({
  numbers: ofType,
  values: [type],
  rows: `${ofAll} run_no IN (SELECT run_no FROM ${ofType} ${range})`,
});
const wayOfSystem = (system: string): Way => ({
  numbers: ofSystem,
  values: [system],
  rows: `${ofSystem} ${range}`,
});
const allRuns: Way = { numbers: ofAll, values: [], rows: `${ofAll} ${range}` };

/** Runs of numbers from `from` to before `before`; `rows` and `values` as in `Way`. */
export interface RunRange {
  readonly rows: string;
  readonly values: readonly Value[];
}

export const everyRun = (project: number, from: number, before: number): RunRange => ({
  rows: allRuns.rows,
  values: [project, from, before],
});

/** Prepares each statement at its first use: an older database, which only a check opens, lacks the indexes. */
export function preparedOnce<Row>(
  prepare: (text: string) => Statement<Row>,
): (text: string) => Statement<Row> {
  const statements = new Map<string, Statement<Row>>();
  return (text) => {
    let statement = statements.get(text);
    if (statement === undefined) statements.set(text, (statement = prepare(text)));
    return statement;
  };
}

/** Ranges that have all matching runs below a number, newest first, one per step. */
export function runRanges(db: Connection, turns: Turns) {
  const prepared = preparedOnce((text) => db.prepare<Value[], number>(text).pluck());
  const sizeOf = (project: number, { numbers, values }: Way): number =>
    prepared(`SELECT count(*) FROM (SELECT 1 FROM ${numbers} project = ? LIMIT ${rareRuns})`).get(
      ...values,
      project,
    ) ?? 0;

  const wayOf = ({ project, type, system }: WantedRuns): Way => {
    const ways = [
      ...(type === null ? [] : [wayOfType(type)]),
      ...(system === null ? [] : [wayOfSystem(system)]),
    ];
    const [first = allRuns, second] = ways;
    if (second === undefined) return first;
    return sizeOf(project, first) <= sizeOf(project, second) ? first : second;
  };

  /** The number after the newest block below `before` that can have runs within the times; 0 for none. */
  const skip = async (project: number, times: Bounds['times'], before: number): Promise<number> => {
    if (times[0] === 0 && times[1] === endOfTime) return before;
    const newest = prepared(
      `SELECT max(block) FROM (SELECT block, first_ms, last_ms FROM run_span
         WHERE project = ? AND block <= ? ORDER BY block DESC LIMIT ${blockStep}) WHERE first_ms <= ? AND last_ms >= ?`,
    );
    const lowest = prepared(
      `SELECT min(block) FROM (SELECT block FROM run_span WHERE project = ? AND block <= ? ORDER BY block DESC LIMIT ${blockStep})`,
    );
    for (let block = Math.floor((before - 1) / spanRuns); ; await turns.next(project)) {
      const found = newest.get(project, block, times[1], times[0]);
      if (typeof found === 'number') return Math.min(before, (found + 1) * spanRuns);
      const last = lowest.get(project, block);
      if (typeof last !== 'number') return 0;
      block = last - 1;
    }
  };

  return async function* ranges(wanted: WantedRuns, after: number): AsyncGenerator<RunRange> {
    const { project, times } = wanted;
    const { numbers, values, rows } = wayOf(wanted);
    // the oldest of the next runs, and null where there are none
    const next = prepared(
      `SELECT min(run_no) FROM (SELECT run_no FROM ${numbers} project = ? AND run_no < ? ORDER BY run_no DESC LIMIT ${runStep})`,
    );
    for (let before = after; ;) {
      before = await skip(project, times, before);
      const first = before === 0 ? null : next.get(...values, project, before);
      if (typeof first !== 'number') return;
      yield { rows, values: [...values, project, first, before] };
      before = first;
      await turns.next(project);
    }
  };
}
