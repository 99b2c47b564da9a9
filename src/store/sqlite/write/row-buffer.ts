/**
 * Rows of one table of a commit, inserted many at once.
 * Proven by `test/store/sqlite/faults.long.test.ts`.
 */
import type { Value } from '../../file/connection.ts';
import { positionOf } from '../../file/position.ts';
import type { Prepare, Statement } from '../../file/statement.ts';
import type { Cell, CommitTable } from '../../write/commit-tables.ts';

/** Rows per statement: 16 halve the cost of a row; more gain nothing. */
const rowsAtOnce = 16;

/** Collects rows of one table and inserts them sixteen at a time. `flush` inserts the rest. */
export class RowBuffer<Row extends object> {
  readonly #many: Statement;
  readonly #one: Statement;
  readonly #members: readonly string[];
  #values: Value[] = [];

  constructor(prepare: Prepare, { name, columns, exists }: CommitTable<Row>) {
    const names = Object.values<readonly [string, string]>(columns).map(([column]) => column);
    const row = `(${names.map(() => '?').join(', ')})`;
    const insert = `INSERT INTO ${name} (${names.join(', ')}) VALUES `;
    // without the key: that of a run has other columns here
    const change = exists === undefined ? '' : ` ON CONFLICT DO UPDATE SET ${exists.set}`;
    this.#one = prepare(`insert ${name}`, insert + row + change);
    this.#many = prepare(`insert ${name}`, insert + Array(rowsAtOnce).fill(row).join(', ') + change);
    this.#members = Object.keys(columns);
  }

  add(row: Row): void {
    const cells = row as Readonly<Record<string, Cell>>; // the members of its table
    for (const member of this.#members) this.#values.push(valueOf(cells[member] ?? null));
    if (this.#values.length < rowsAtOnce * this.#members.length) return;
    this.#many.run(...this.#values);
    this.#values = [];
  }

  flush(): void {
    const width = this.#members.length;
    for (let at = 0; at < this.#values.length; at += width) {
      this.#one.run(...this.#values.slice(at, at + width));
    }
    this.#values = [];
  }

  /** Call it after a failed transaction. */
  clear(): void {
    this.#values = [];
  }
}

const valueOf = (cell: Cell): Value =>
  typeof cell !== 'object' || cell === null || cell instanceof Uint8Array
    ? cell
    : positionOf(cell.project, cell.index);
