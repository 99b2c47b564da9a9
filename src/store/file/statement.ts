/**
 * Named prepared statements of the write path.
 * Proven by `test/store/sqlite/faults.long.test.ts`.
 */
import type Database from 'better-sqlite3';
import type { Connection, Value } from './connection.ts';
import type { Faults } from './faults.ts';

export type Statement<Row = unknown> = Pick<Database.Statement<Value[], Row>, 'run' | 'get' | 'all'>;

/** Prepares a named statement. `Faults.before` gets the name. */
export type Prepare = <Row = unknown>(name: string, sql: string) => Statement<Row>;

export function preparer(db: Connection, faults: Faults | undefined): Prepare {
  return <Row>(name: string, sql: string) => {
    const statement = db.prepare<Value[], Row>(sql);
    if (faults === undefined) return statement;
    return {
      run: (...values: Value[]) => (faults.before(name), statement.run(...values)),
      get: (...values: Value[]) => (faults.before(name), statement.get(...values)),
      all: (...values: Value[]) => (faults.before(name), statement.all(...values)),
    };
  };
}
