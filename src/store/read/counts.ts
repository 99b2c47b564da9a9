/**
 * Counts of a project's events within a time window: whole buckets from the counters, and what is left at
 * both ends from the index of times. Cost: a few hundred rows, whatever the number of runs.
 * Proven by `test/store/suite/log/counts.ts`.
 */
import { allTypes } from '../append/blocks.ts';
import { piecesOf } from '../append/buckets.ts';
import { both, step, type Queries, type Step } from './queries.ts';

interface CountRow {
  n: number;
}

/** The number of a type; -1 for a type that the project does not have. */
const typeNo = (name: string): string =>
  `coalesce((SELECT type_no FROM event_type WHERE project = $1 AND name = ${name}), -1)`;

const counted = (type: string) =>
  both<CountRow>(
    `SELECT coalesce(sum(events), 0)::int8 AS n FROM event_count
     WHERE project = $1 AND width = $2 AND bucket >= $3 AND bucket < $4 AND type_no = ${type}`,
  );
const rest = (condition: string) =>
  both<CountRow>(
    `SELECT count(*) AS n FROM run_event WHERE project = $1 AND at_ms >= $2 AND at_ms < $3 ${condition}`,
  );

const ofAll = { counted: counted(`${allTypes}`), rest: rest('') };
const ofType = { counted: counted(typeNo('$5')), rest: rest(`AND type_no = ${typeNo('$4')}`) };

/** The times are inclusive. */
interface TimeWindow {
  readonly eventType?: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
}

export async function countWindow(
  queries: Queries,
  projectId: string,
  { eventType, startMs, endMs }: TimeWindow,
): Promise<number> {
  const project = await queries.numberOf(projectId);
  const statements = eventType === undefined ? ofAll : ofType;
  const type = eventType === undefined ? [] : [eventType];
  const steps = piecesOf(startMs, endMs + 1).map(({ width, from, to }): Step<CountRow> =>
    width === 0
      ? step(statements.rest, project, from, to, ...type)
      : step(statements.counted, project, width, from, to, ...type),
  );
  if (steps.length === 0) return 0;
  const results = await queries.readAtOnce({ project }, steps);
  return results.reduce((sum, { rows }) => sum + (rows[0]?.n ?? 0), 0);
}
