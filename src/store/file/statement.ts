/**
 * Named prepared statements of the write path, and inserts of many rows at once.
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

/** Inserts a new row. */
export const insertInto = (prepare: Prepare, table: string, columns: readonly string[]): Statement =>
  prepare(
    `insert ${table}`,
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );

/** Rows per statement: 16 halve the cost of a row; more gain nothing. */
const rowsAtOnce = 16;

/** Collects rows of one table and inserts them sixteen at a time. `flush` inserts the rest. */
export class RowBuffer {
  readonly #many: Statement;
  readonly #one: Statement;
  readonly #width: number;
  #values: Value[] = [];

  constructor(prepare: Prepare, table: string, columns: readonly string[]) {
    const row = `(${columns.map(() => '?').join(', ')})`;
    const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES `;
    this.#one = prepare(`insert ${table}`, insert + row);
    this.#many = prepare(`insert ${table}`, insert + Array(rowsAtOnce).fill(row).join(', '));
    this.#width = columns.length;
  }

  /** `row` has a value for each column, in their order. */
  add(row: readonly Value[]): void {
    for (const value of row) this.#values.push(value);
    if (this.#values.length < rowsAtOnce * this.#width) return;
    this.#many.run(...this.#values);
    this.#values = [];
  }

  flush(): void {
    for (let at = 0; at < this.#values.length; at += this.#width) {
      this.#one.run(...this.#values.slice(at, at + this.#width));
    }
    this.#values = [];
  }

  /** Call it after a failed transaction. */
  clear(): void {
    this.#values = [];
  }
}
