/**
 * The floor of the append benchmarks: inserts the same final rows and indexes by plain statements of the same
 * driver.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { pageBytes } from '../../src/store/file/connection.ts';
import { mainMigrations } from '../../src/store/file/schema/tables.ts';
import { discard, scratch } from './harness.ts';

/** Tables with rows for each event. */
const tables = ['leaf', 'body', 'run_event', 'client_event'] as const;
/** Tables with one or a few rows for each commit. */
const others = ['meter', 'tile', 'run', 'run_type'] as const;
type Table = (typeof tables)[number] | (typeof others)[number];
type Row = Record<string, string | number | Buffer | null>;

/**
 * The floor: inserts the rows of a filled store into an empty file by plain statements, one row a call, with
 * the driver's own checkpoints. Each call inserts the rows again under new keys.
 */
export class Bare {
  readonly #db: Database.Database;
  readonly #rows: Record<Table, Row[]>;
  readonly #folder = scratch();
  /** Above the number of every run and of every tile. */
  readonly #numbers: number;
  #round = 0;

  constructor(filled: string) {
    const source = new Database(filled, { readonly: true });
    const all = (table: Table) => [table, source.prepare<[], Row>(`SELECT * FROM ${table}`).all()];
    this.#rows = Object.fromEntries([...tables, ...others].map(all)) as Record<Table, Row[]>;
    for (const table of tables) this.#rows[table].sort((a, b) => Number(a['idx']) - Number(b['idx']));
    source.close();
    const numbers = [
      ...this.#rows.run.map((row) => row['run_no']),
      ...this.#rows.tile.map((row) => row['n']),
    ];
    this.#numbers = numbers.reduce<number>((most, number) => Math.max(most, Number(number)), 0) + 1;
    this.#db = new Database(join(this.#folder, 'bare.db'));
    this.#db.pragma(`page_size = ${pageBytes}`);
    this.#db.pragma('journal_mode = WAL');
    this.#db.pragma('synchronous = FULL');
    for (const { sql } of mainMigrations) this.#db.exec(sql);
  }

  /** Durable rows a second. `count`: rows of each event table, all where absent. */
  insert(size: number, count = this.#rows.leaf.length): number {
    const prepared = tables.map((table) => this.#prepared(table));
    const rest = others.map((table) => this.#prepared(table));
    this.#round += 1;
    const start = performance.now();
    for (let from = 0; from < count; from += size) {
      this.#db.exec('BEGIN IMMEDIATE');
      for (const { insert, values } of prepared) {
        for (const row of values.splice(0, size)) insert.run(...row);
      }
      if (from + size >= count)
        for (const { insert, values } of rest) for (const row of values) insert.run(...row);
      this.#db.exec('COMMIT');
    }
    return (count / (performance.now() - start)) * 1000;
  }

  close(): void {
    this.#db.close();
    discard(this.#folder);
  }

  #prepared(table: Table) {
    const names = Object.keys(this.#rows[table][0] ?? {});
    const generated = names.includes('position') ? ['project', 'idx'] : [];
    const columns = names.filter((name) => !generated.includes(name));
    const insert = this.#db.prepare(
      `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`,
    );
    const values = this.#rows[table].map((row) =>
      columns.map((column) => this.#renewed(column, row[column] ?? null)),
    );
    return { insert, values };
  }

  #renewed(column: string, value: Row[string]): Row[string] {
    const round = this.#round;
    if (['idx', 'position', 'first_index'].includes(column)) {
      return Number(value) + round * this.#rows.leaf.length;
    }
    if (column === 'run_no' || column === 'n') return Number(value) + round * this.#numbers;
    return column === 'run_id' || column === 'client_event_id' ? `${String(value)}-${round}` : value;
  }
}
