/**
 * Statements and how reads run them. A read that says the same on both engines is one text in this folder,
 * in PostgreSQL's words; SQLite gets the text with its own placeholders.
 * Proven by `test/store/read/queries.test.ts`.
 */

/** A `Buffer` is sent to PostgreSQL as binary: `bytea`, or an array from `arrays.ts`. All others are sent as text. */
export type Param = string | number | null | Buffer;

/** A statement; `Row` is the type of its rows, by column name. */
export interface Sql<Row = unknown> {
  /** PostgreSQL prepares it under this name, once per connection. */
  readonly name: string;
  /** For PostgreSQL. */
  readonly text: string;
  /** For SQLite; null if it has nothing to run, undefined for a statement of PostgreSQL alone. */
  readonly sqlite?: SqliteText | null;
  /** Never set: carries the type of a row. */
  readonly row?: Row;
}

interface SqliteText {
  readonly text: string;
  /** For each `?`, the place of its value. */
  readonly places: readonly number[];
}

const statements: Sql[] = [];

/** All statements that were named so far, for tests that check each of them. */
export const namedStatements = (): readonly Sql[] => statements;

function named<Row>(text: string, more: Pick<Sql, 'sqlite'> = {}): Sql<Row> {
  const statement = { name: `gov${statements.length}`, text, ...more };
  statements.push(statement);
  return statement;
}

/** A statement of PostgreSQL alone. Call it, and the next three, once per statement, not per use. */
export const sql = <Row = unknown>(text: string): Sql<Row> => named(text);

/** One text for both engines. */
export const both = <Row = unknown>(text: string): Sql<Row> => named(text, { sqlite: sqliteOf(text) });

/** A text for each engine, with the same values, where the plans must differ. Say why next to it. */
export const each = <Row = unknown>({ postgres, sqlite }: Record<'postgres' | 'sqlite', string>): Sql<Row> =>
  named(postgres, { sqlite: sqliteOf(sqlite) });

/** What only row-level security needs: SQLite answers without rows. */
export const enter = (text: string): Sql => named(text, { sqlite: null });

/** `?` for `$1`, and no casts: SQLite needs no type of a parameter. */
function sqliteOf(text: string): SqliteText {
  const places: number[] = [];
  const own = text.replaceAll(/\$(\d+)|::\w+/g, (_, number: string | undefined) => {
    if (number === undefined) return '';
    places.push(Number(number) - 1);
    return '?';
  });
  return { text: own, places };
}

export interface Step<Row = unknown> {
  readonly statement: Sql<Row>;
  readonly values: readonly Param[];
}

export const step = <Row>(statement: Sql<Row>, ...values: Param[]): Step<Row> => ({ statement, values });

export interface Result<Row = unknown> {
  readonly rows: Row[];
  /** How many rows a write touched. */
  readonly count: number;
}

/** The results of steps, in their order. */
export type Results<Steps extends readonly Step[]> = {
  [At in keyof Steps]: Steps[At] extends Step<infer Row> ? Result<Row> : never;
};

/**
 * The rows that a transaction sees on PostgreSQL; the policies of the tables read it
 * (`src/store/postgres/schema/rules.ts`). SQLite has no row-level security and ignores it.
 */
export type Scope =
  | { readonly project: number }
  /** Only the row of this project, to find its number. */
  | { readonly projectId: string }
  /** An organization with its people, sessions and projects, without the content of the projects. */
  | { readonly organizationId: string }
  /** The one person with this issuer and subject. */
  | { readonly issuer: string; readonly subject: string }
  /**
   * The one key or session with this digest, or the data plane with this key: the credential names its
   * tenant.
   */
  | { readonly digest: Uint8Array }
  /** The one data plane with this verifier key, or the one report with this challenge. */
  | { readonly lookup: string }
  /** Rows that belong to no caller: jobs of all projects, expired responses, sizes of logs. */
  | { readonly duty: 'jobs' | 'sweep' | 'check' | 'watch' | 'installation' | 'operator' };

/** Runs the reads of this folder on one engine. */
export interface Queries {
  /** Runs statements in one round trip. */
  read<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>>;
  /** Runs statements in one snapshot. */
  readAtOnce<const Steps extends readonly Step[]>(scope: Scope, steps: Steps): Promise<Results<Steps>>;
  /** Returns the number of a project; NOT_FOUND for an unknown project. */
  numberOf(projectId: string): Promise<number>;
  /** Decodes a text that people wrote (`src/store/postgres/effects/texts.ts`). */
  text<Text extends string | null>(stored: Text): Text;
}

/** Runs one statement about a project; its number is `$1`. */
export async function rowsOf<Row>(
  queries: Queries,
  projectId: string,
  statement: Sql<Row>,
  ...values: Param[]
): Promise<Row[]> {
  const project = await queries.numberOf(projectId);
  const [{ rows }] = await queries.read({ project }, [step(statement, project, ...values)]);
  return rows;
}

/** The only row, or null. */
export const firstOf = <Row, Value>(rows: readonly Row[], valueOf: (row: Row) => Value): Value | null =>
  rows[0] === undefined ? null : valueOf(rows[0]);
