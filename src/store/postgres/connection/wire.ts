/**
 * Sends many statements in one round trip: pipelining in PostgreSQL's extended protocol. One Sync ends the
 * pipeline, so the statements are one transaction unless BEGIN is among them, and none runs after the first
 * that fails. Each connection prepares a statement once; `pg` does sockets, TLS and authentication.
 * Source: PostgreSQL 18, chapter 54.2.4 (pipelining).
 * Proven by `test/store/postgres/connection/wire.test.ts`.
 */
import type { Client, Connection, FieldDef } from 'pg';
import type { EventEmitter } from 'node:events';
import type { Result, Results, Sql, Step } from '../../read/queries.ts';

/**
 * Runs steps in one round trip. Rejects with the error of the first step that failed; later steps did not
 * run.
 */
export function pipeline<const Steps extends readonly Step[]>(
  client: Client,
  steps: Steps,
): Promise<Results<Steps>> {
  return new Promise((resolve, reject) => {
    // the columns of each statement define the type of its rows
    const settle = { resolve: resolve as (results: Result[]) => void, reject };
    client.query(new Pipeline(steps, knownTo(client), settle));
  });
}

type Columns = readonly { readonly name: string; readonly read: (text: string) => unknown }[];

/** Columns of the statements that a connection has prepared; null for a statement without result rows. */
type PreparedColumns = Map<string, Columns | null>;

const known = new WeakMap<Client, PreparedColumns>();

function knownTo(client: Client): PreparedColumns {
  let statementsOf = known.get(client);
  if (statementsOf === undefined) known.set(client, (statementsOf = new Map()));
  return statementsOf;
}

interface Settle {
  readonly resolve: (results: Result[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The query object that `pg` passes to its connection, which calls it for each message. */
class Pipeline {
  readonly #steps: readonly Step[];
  readonly #known: PreparedColumns;
  readonly #settle: Settle;
  readonly #results: Result[] = [];
  readonly #fresh: string[] = [];
  readonly #columns = new Map<string, Columns>();
  #rows: unknown[] = [];
  #parsed = 0;
  #failed: unknown = null;

  constructor(steps: readonly Step[], statementsOf: PreparedColumns, settle: Settle) {
    this.#steps = steps;
    this.#known = statementsOf;
    this.#settle = settle;
  }

  submit(connection: Connection): void {
    const { stream } = connection;
    (connection as EventEmitter).on('parseComplete', this.#onParsed);
    stream.cork();
    try {
      for (const { statement, values } of this.#steps) {
        const { name, text } = statement;
        if (!this.#known.has(name) && !this.#fresh.includes(name)) {
          connection.parse({ name, text, types: [] }, true);
          connection.describe({ type: 'S', name }, true);
          this.#fresh.push(name);
        }
        const texts = values.map((value) => (typeof value === 'number' ? String(value) : value));
        connection.bind({ statement: name, values: texts }, true);
        connection.execute({}, true);
      }
      connection.sync();
    } finally {
      stream.uncork();
    }
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#columns.set(
      this.#current.name,
      fields.map(({ name, dataTypeID }) => ({ name, read: readers[dataTypeID] ?? asText })),
    );
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { name } = this.#current;
    const columns = this.#columns.get(name) ?? this.#known.get(name) ?? [];
    const row: Record<string, unknown> = {};
    for (let at = 0; at < columns.length; at++) {
      const column = columns[at];
      const text = fields[at];
      if (column !== undefined)
        row[column.name] = text === null || text === undefined ? null : column.read(text);
    }
    this.#rows.push(row);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#results.push({ rows: this.#rows, count: Number(/ (\d+)$/.exec(text)?.[1] ?? 0) });
    this.#rows = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  /**
   * An error of the server, after which `handleReadyForQuery` follows only inside `pg`; or the end of the
   * connection.
   */
  handleError(error: unknown, connection: Connection): void {
    if (this.#failed !== null) return;
    this.#failed = error;
    this.#end(connection);
    this.#settle.reject(error);
  }

  handleReadyForQuery(connection: Connection): void {
    this.#end(connection);
    this.#settle.resolve(this.#results);
  }

  handlePortalSuspended(): void {
    // no step asks for rows in parts
  }

  get #current(): Sql {
    const at = this.#steps[this.#results.length];
    if (at === undefined) throw new Error(`expected at most ${this.#steps.length} results, got one more`);
    return at.statement;
  }

  readonly #onParsed = (): void => {
    this.#parsed += 1;
  };

  /** A parsed statement stays prepared, also after a later step failed. */
  #end(connection: Connection): void {
    (connection as EventEmitter).off('parseComplete', this.#onParsed);
    for (const name of this.#fresh.slice(0, this.#parsed)) {
      // Described directly after its parse. A statement without known columns after a failure is closed again
      const described = this.#columns.get(name) ?? null;
      if (described === null && this.#failed !== null) connection.close({ type: 'S', name }, true);
      else this.#known.set(name, described);
    }
  }
}

const asText = (text: string): string => text;

/**
 * Readers by type: bigint, smallint, integer, oid, boolean, bytea. Integers are exact: all stay below 2^53.
 */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  21: Number,
  23: Number,
  26: Number,
  16: (text) => text === 't',
  17: (text) => Buffer.from(text.slice(2), 'hex'),
};
