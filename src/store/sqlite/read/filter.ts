/**
 * Turns event filters into bounds for columns, and reads the few columns of a run that reads start from.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { endOfTime } from '../../port/bounds.ts';
import type { EventFilter } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';

/** Inclusive, for `BETWEEN`. */
export interface Bounds {
  readonly types: readonly [low: number, high: number];
  readonly times: readonly [low: number, high: number];
}

/** Whether the bounds include every event. */
export const isUnbounded = ({ types, times }: Bounds): boolean =>
  types[0] === 0 && types[1] === endOfTime && times[0] === 0 && times[1] === endOfTime;

/** Returns the bounds of a filter in a project; null if nothing can match. */
export type BoundsOf = (project: number, filter: EventFilter) => Bounds | null;

export function boundsReader(db: Connection): BoundsOf {
  const findType = db
    .prepare<Value[], number>('SELECT type_no FROM event_type WHERE project = ? AND name = ?')
    .pluck();
  return (project, { eventType, startMs = 0, endMs = endOfTime }) => {
    if (startMs > endMs) return null;
    if (eventType === undefined) return { types: [0, endOfTime], times: [startMs, endMs] };
    const type = findType.get(project, eventType);
    return type === undefined ? null : { types: [type, type], times: [startMs, endMs] };
  };
}

export interface RunFacts {
  readonly no: number;
  readonly events: number;
  readonly lastIndex: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export type FactsOf = (project: number, runId: string) => RunFacts | null;

export function factsReader(db: Connection): FactsOf {
  const select = db.prepare<Value[], RunFacts>(
    `SELECT run_no AS no, events, last_index AS lastIndex, first_ms AS firstMs, last_ms AS lastMs
     FROM run WHERE project = ? AND run_id = ?`,
  );
  return (project, runId) => select.get(project, runId) ?? null;
}

/** Whether some of a run's events can lie within the times, and whether all do. */
export const someWithin = ({ firstMs, lastMs }: RunFacts, [start, end]: Bounds['times']): boolean =>
  firstMs <= end && lastMs >= start;
export const allWithin = ({ firstMs, lastMs }: RunFacts, [start, end]: Bounds['times']): boolean =>
  firstMs >= start && lastMs <= end;
