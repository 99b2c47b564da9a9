/**
 * Runs the reads that both engines share (`src/store/read/`) over one connection. SQLite answers at once, so
 * several statements are one read transaction.
 * Proven by `test/store/read/queries.test.ts`.
 */
import type { Connection, Value } from '../../file/connection.ts';
import type { Queries, Result, Sql, Step } from '../../read/queries.ts';
import type { ProjectNumber } from './leaves.ts';

type Run = (values: Step['values']) => Result;

export function queriesOf(db: Connection, numberOf: ProjectNumber): Queries {
  const prepared = new Map<Sql, Run>();
  const run = ({ statement, values }: Step): Result => {
    let ready = prepared.get(statement);
    if (ready === undefined) prepared.set(statement, (ready = prepare(db, statement)));
    return ready(values);
  };
  const runAll = db.transaction((steps: readonly Step[]) => steps.map(run));
  const read: Queries['read'] = async (_scope, steps) =>
    // the columns of each statement define the type of its rows
    (steps.length === 1 ? steps.map(run) : runAll(steps)) as never;
  return {
    read,
    readAtOnce: read,
    numberOf: async (projectId) => numberOf(projectId),
    text: (stored) => stored,
  };
}

function prepare(db: Connection, { name, sqlite }: Sql): Run {
  if (sqlite === null) return () => ({ rows: [], count: 0 });
  if (sqlite === undefined) throw new Error(`expected a statement for SQLite, got ${name} of PostgreSQL`);
  const statement = db.prepare<Value[], unknown>(sqlite.text);
  const inOrder = (values: Step['values']) => sqlite.places.map((place) => values[place] ?? null);
  return (values) => ({ rows: statement.all(...inOrder(values)), count: 0 });
}
