/**
 * Rows of one table, inserted by one statement with one array argument per column.
 * Source: PostgreSQL 18, chapter 9.19 (`unnest`).
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { arrayOf, type Cell, type ColumnType } from '../connection/arrays.ts';
import { sql, step, type Sql, type Step } from '../../read/queries.ts';

type Columns = Readonly<Record<string, ColumnType>>;

/** A statement that inserts rows from arrays into a table. */
export class Table {
  readonly types: readonly ColumnType[];
  readonly #insert: Sql;

  constructor(name: string, columns: Columns, onConflict = '') {
    const names = Object.keys(columns);
    this.types = Object.values(columns);
    const arrays = this.types.map((type, at) => `$${at + 1}::${type === 'position' ? 'int8' : type}[]`);
    this.#insert = sql(
      `INSERT INTO ${name} (${names.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')}) ${onConflict}`,
    );
  }

  step(cells: readonly (readonly Cell[])[]): Step {
    return step(this.#insert, ...this.types.map((type, at) => arrayOf(type, cells[at] ?? [])));
  }
}

/** Rows for one table; `cut` removes the rows of a refused request. */
export class Rows {
  readonly #table: Table;
  readonly #cells: Cell[][];

  constructor(table: Table) {
    this.#table = table;
    this.#cells = table.types.map(() => []);
  }

  get count(): number {
    return this.#cells[0]?.length ?? 0;
  }

  /** `row` has one value per column, in their order. */
  add(...row: readonly Cell[]): void {
    for (let at = 0; at < this.#cells.length; at++) this.#cells[at]?.push(row[at] ?? null);
  }

  cut(count: number): void {
    for (const column of this.#cells) column.length = count;
  }

  steps(): Step[] {
    return this.count === 0 ? [] : [this.#table.step(this.#cells)];
  }
}
