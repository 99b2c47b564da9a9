/**
 * The floor of the PostgreSQL benchmark: inserts the rows of a filled project by multi-row INSERT and by COPY.
 */
import { Client, type Connection } from 'pg';

/** Tables with rows for each event, then tables with one or a few rows for each commit. */
const tables = ['leaf', 'body', 'run_event', 'client_event'] as const;
const others = ['meter', 'tile', 'run', 'run_type'] as const;
type Table = (typeof tables)[number] | (typeof others)[number];
type Value = string | number | Buffer | null;
type Row = Record<string, Value>;

/**
 * The same tables and indexes without policies and triggers, and the rows of a project in memory. Each call
 * inserts the rows again under new keys. One durable transaction has `size` events.
 */
export class BarePostgres {
  readonly #client: Client;
  readonly #rows = new Map<Table, Row[]>();
  #round = 0;

  constructor(superuser: string) {
    this.#client = new Client({ connectionString: superuser });
  }

  async open(): Promise<void> {
    const client = this.#client;
    await client.connect();
    await client.query('DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; SET search_path = gov');
    for (const table of [...tables, ...others]) {
      await client.query(`CREATE TABLE bare.${table} (LIKE ${table} INCLUDING ALL)`);
      const { rows } = await client.query<Row>(`SELECT * FROM ${table}`);
      const key = ['idx', 'position'].find((name) => name in (rows[0] ?? {}));
      if (key !== undefined) rows.sort((a, b) => Number(a[key]) - Number(b[key]));
      this.#rows.set(table, rows);
    }
    await client.query('SET search_path = bare');
  }

  get events(): number {
    return this.#rows.get('run_event')?.length ?? 0;
  }

  /** Events a second. */
  async insert(size: number): Promise<number> {
    return this.#measure(size, async (table, rows) => {
      const columns = Object.keys(rows[0] ?? {});
      const places = rows.map(
        (_, at) => `(${columns.map((__, column) => `$${at * columns.length + column + 1}`)})`,
      );
      const text = `INSERT INTO ${table} (${columns.join()}) VALUES ${places.join()}`;
      await this.#client.query({ name: `${table}${rows.length}`, text, values: rows.flatMap(Object.values) });
    });
  }

  async copy(size: number): Promise<number> {
    return this.#measure(size, async (table, rows) => {
      const lines = rows.map((row) => `${Object.values(row).map(copyText).join('\t')}\n`);
      const columns = Object.keys(rows[0] ?? {}).join();
      await new Promise<void>((resolve, reject) => {
        this.#client.query(
          new CopyIn(`COPY ${table} (${columns}) FROM STDIN`, lines.join(''), { resolve, reject }),
        );
      });
    });
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #measure(size: number, write: (table: Table, rows: Row[]) => Promise<void>): Promise<number> {
    this.#round += 1;
    const renewed = new Map(
      [...this.#rows].map(([table, rows]) => [table, rows.map((row) => this.#renewed(row))]),
    );
    const start = performance.now();
    for (let from = 0; from < this.events; from += size) {
      await this.#client.query('BEGIN');
      for (const table of tables) {
        const rows = renewed.get(table)?.slice(from, from + size) ?? [];
        if (rows.length > 0) await write(table, rows);
      }
      if (from + size >= this.events) {
        for (const table of others) await write(table, renewed.get(table) ?? []);
      }
      await this.#client.query('COMMIT');
    }
    return (this.events / (performance.now() - start)) * 1000;
  }

  #renewed(row: Row): Row {
    const round = this.#round;
    const shift = round * 100_000;
    const value = (name: string, old: Value): Value => {
      if (name === 'position') return String(BigInt(old as string) + BigInt(shift));
      if (['idx', 'first_index', 'run_no', 'n'].includes(name)) return Number(old) + shift;
      return name === 'run_id' || name === 'client_event_id' ? `${String(old)}-${round}` : old;
    };
    return Object.fromEntries(Object.entries(row).map(([name, old]) => [name, value(name, old)]));
  }
}

const copyText = (value: Value): string => {
  if (value === null) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return String(value)
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r');
};

interface Done {
  resolve(): void;
  reject(error: unknown): void;
}

/** COPY through `pg`. */
class CopyIn {
  readonly #text: string;
  readonly #data: string;
  readonly #done: Done;

  constructor(text: string, data: string, done: Done) {
    this.#text = text;
    this.#data = data;
    this.#done = done;
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(
    connection: Connection & { sendCopyFromChunk?(chunk: Buffer): void; endCopyFrom?(): void },
  ): void {
    connection.sendCopyFromChunk?.(Buffer.from(this.#data));
    connection.endCopyFrom?.();
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}

  handleError(error: unknown): void {
    this.#done.reject(error);
  }

  handleReadyForQuery(): void {
    this.#done.resolve();
  }
}
