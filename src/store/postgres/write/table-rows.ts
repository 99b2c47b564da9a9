/**
 * Rows of one table, inserted by one statement with one array argument per column.
 * Source: PostgreSQL 18, chapter 9.19 (`unnest`).
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { arrayOf } from '../connection/arrays.ts';
import type { Cell, CommitTable } from '../../write/commit-tables.ts';
import type { ColumnType } from '../../write/plain-columns.ts';
import { sql, step, type Sql, type Step } from '../../read/queries.ts';

/** A statement that inserts rows from arrays into a table. */
export class Table<Row> {
  readonly members: readonly string[];
  readonly #types: readonly ColumnType[];
  readonly #insert: Sql;

  constructor({ name, columns, exists }: CommitTable<Row>) {
    this.members = Object.keys(columns);
    const all = Object.values<readonly [string, ColumnType]>(columns);
    this.#types = all.map(([, type]) => type);
    const names = all.map(([column]) => column).join(', ');
    const arrays = this.#types.map((type, at) => `$${at + 1}::${type === 'position' ? 'int8' : type}[]`);
    const change = exists === undefined ? '' : ` ON CONFLICT (${exists.key}) DO UPDATE SET ${exists.set}`;
    this.#insert = sql(`INSERT INTO ${name} (${names}) SELECT * FROM unnest(${arrays.join(', ')})${change}`);
  }

  step(cells: readonly (readonly Cell[])[]): Step {
    return step(this.#insert, ...this.#types.map((type, at) => arrayOf(type, cells[at] ?? [])));
  }
}

/** Rows for one table; `cut` removes the rows of a refused request. */
export class Rows<Row extends object> {
  readonly #table: Table<Row>;
  readonly #cells: Cell[][];

  constructor(table: Table<Row>) {
    this.#table = table;
    this.#cells = table.members.map(() => []);
  }

  get count(): number {
    return this.#cells[0]?.length ?? 0;
  }

  add(row: Row): void {
    const cells = row as Readonly<Record<string, Cell>>; // the members of its table
    const { members } = this.#table;
    for (let at = 0; at < members.length; at++) this.#cells[at]?.push(cells[members[at] ?? ''] ?? null);
  }

  cut(count: number): void {
    for (const column of this.#cells) column.length = count;
  }

  steps(): Step[] {
    return this.count === 0 ? [] : [this.#table.step(this.#cells)];
  }
}
