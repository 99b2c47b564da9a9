/**
 * Reads of runs, and counts of events. The append transaction maintains the rows for both.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { RunSummary, StoreReader } from '../../port/store.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { endOfTime } from '../../port/bounds.ts';
import { altered } from '../../append/altered.ts';
import type { RunState } from '../../append/ledger.ts';
import { runColumns, summaryOf } from '../../append/run-row.ts';
import { selected } from '../../rules/columns.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { checkLeaves, leafColumns, leafJoins, located, type LeafRow } from './leaves.ts';
import { countWindow } from '../../read/counts.ts';
import { sql, step, type Queries, type Step } from '../../read/queries.ts';

interface RunRow extends RunState {
  sealed: boolean;
  proofs: number;
  evaluated: number | null;
}

const columns = `${selected(runColumns)},
  EXISTS (SELECT FROM run_graph g WHERE g.project = $1 AND g.run_id = run.run_id AND g.sealed_ms IS NOT NULL) AS sealed,
  (SELECT count(*) FROM proof p WHERE p.project = $1 AND p.run_id = run.run_id) AS proofs,
  (SELECT idx FROM decided d WHERE d.project = $1 AND d.type = ${typeNumbers['gov.evaluation/1']}
     AND d.run_id = run.run_id ORDER BY idx DESC LIMIT 1) AS evaluated`;

const selectRun = sql<RunRow>(`SELECT ${columns} FROM run WHERE project = $1 AND run_id = $2`);

/**
 * Pages backwards by run number, which is the order of creation: pages never miss a run that gets new events.
 */
const selectPage = (conditions: string) =>
  sql<RunRow>(
    `SELECT ${columns} FROM run WHERE project = $1 AND run_no < $2 AND first_ms <= $3 AND last_ms >= $4
       ${conditions} ORDER BY run_no DESC LIMIT $5`,
  );
const ofType = (name: string): string =>
  `EXISTS (SELECT FROM run_type t WHERE t.project = $1 AND t.run_no = run.run_no
     AND t.type_no = (SELECT type_no FROM event_type WHERE project = $1 AND name = ${name}))`;
const page = selectPage('');
const pageOfType = selectPage(`AND ${ofType('$6')}`);
const pageOfSystem = selectPage('AND ai_system_id = $6');
const pageOfBoth = selectPage(`AND ai_system_id = $6 AND ${ofType('$7')}`);
const pageOfRun = selectPage(
  `AND run_id = $6 AND ($7::text IS NULL OR ai_system_id = $7) AND ($8::text IS NULL OR ${ofType('$8')})`,
);

const evaluations = sql<LeafRow>(
  `SELECT ${leafColumns('i', false)} FROM ${located('SELECT idx FROM unnest($2::int8[]) AS u(idx)')} i
   ${leafJoins('i', false)}`,
);

type RunReads = Pick<StoreReader, 'run' | 'runs' | 'countEvents'>;

export function runReads(database: Database, queries: Queries): RunReads {
  const { numberOf } = queries;
  /** Builds summaries of runs from their rows; reads the last decision from its leaf. */
  const summarize = async (project: number, rows: readonly RunRow[]): Promise<RunSummary[]> => {
    const indexes = rows.flatMap(({ evaluated }) => (evaluated === null ? [] : [evaluated]));
    const combined = new Map<number, string>();
    if (indexes.length > 0) {
      const [found] = await database.read({ project }, [
        step(evaluations, project, arrayOf('int8', indexes)),
      ]);
      for (const { index, record } of checkLeaves('audit', found.rows)) {
        combined.set(index, combinedOf(index, record));
      }
    }
    return rows.map(({ sealed, proofs, evaluated, ...run }) => {
      const lastDecision = evaluated === null ? null : (combined.get(evaluated) ?? null);
      return summaryOf(run, { sealed, proofs, lastDecision });
    });
  };
  return {
    run: async (projectId, runId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(selectRun, project, runId)]);
      return (await summarize(project, rows))[0] ?? null;
    },
    runs: async (projectId, filter, { after = endOfTime, limit }) => {
      const project = await numberOf(projectId);
      const { runId, eventType, startMs = 0, endMs = endOfTime, aiSystemId } = filter;
      if (startMs > endMs) return [];
      const values = [project, after, endMs, startMs, limit];
      const wanted = (): Step<RunRow> => {
        if (runId !== undefined)
          return step(pageOfRun, ...values, runId, aiSystemId ?? null, eventType ?? null);
        if (aiSystemId === undefined) {
          return eventType === undefined ? step(page, ...values) : step(pageOfType, ...values, eventType);
        }
        return eventType === undefined
          ? step(pageOfSystem, ...values, aiSystemId)
          : step(pageOfBoth, ...values, aiSystemId, eventType);
      };
      const [{ rows }] = await database.read({ project }, [wanted()]);
      return summarize(project, rows);
    },
    countEvents: counter(database, queries),
  };
}

/** Returns the combined decision of an evaluation, from its leaf. */
function combinedOf(index: number, record: string): string {
  const { combined } = JSON.parse(record) as { combined?: unknown };
  if (typeof combined === 'string') return combined;
  throw altered('audit', index, 'is not an evaluation, as the index of decisions says');
}

const isOfType = `($2::text IS NULL OR type_no = (SELECT type_no FROM event_type WHERE project = $1 AND name = $2))`;
const total = sql<{ n: number }>(
  `SELECT coalesce(sum(events), 0)::int8 AS n FROM type_total WHERE project = $1 AND ${isOfType}`,
);

/** A run that lies fully within the times is counted by its counters, otherwise by its events. */
const countedRun = sql<{ n: number }>(
  `SELECT coalesce(sum(CASE WHEN first_ms >= $3::int8 AND last_ms <= $4::int8
         THEN (SELECT sum(t.events) FROM run_type t WHERE t.project = $1 AND t.run_no = run.run_no AND ${isOfType})
         ELSE (SELECT count(*) FROM run_event e WHERE e.project = $1 AND e.run_no = run.run_no AND ${isOfType}
           AND e.at_ms BETWEEN $3::int8 AND $4::int8) END), 0)::int8 AS n
     FROM run WHERE project = $1 AND first_ms <= $4::int8 AND last_ms >= $3::int8 AND run_id = $5`,
);

function counter(database: Database, queries: Queries): StoreReader['countEvents'] {
  return async (projectId, { runId, eventType = null, startMs = 0, endMs = endOfTime }) => {
    const project = await queries.numberOf(projectId);
    if (startMs > endMs) return 0;
    const values = [project, eventType, startMs, endMs];
    const isWindow = startMs > 0 || endMs < endOfTime;
    if (runId === undefined && isWindow) {
      return countWindow(queries, projectId, { eventType: eventType ?? undefined, startMs, endMs });
    }
    const wanted = runId === undefined ? step(total, project, eventType) : step(countedRun, ...values, runId);
    const [{ rows }] = await database.read({ project }, [wanted]);
    return rows[0]?.n ?? 0;
  };
}
