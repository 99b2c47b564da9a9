/**
 * How the members of a row are columns of its table: declared once, for the reads and writes of both engines. The type
 * asks for each member, so a new one without a column does not compile.
 * Proven by `test/store/write/statement.test.ts`.
 */

/** `words`: a text that people wrote. PostgreSQL stores it encoded (`src/store/postgres/effects/texts.ts`). */
interface Words {
  readonly column: string;
  readonly is: 'words';
}
/** A boolean, stored as 0 or 1. */
interface Flag {
  readonly column: string;
  readonly is: 'flag';
}

/** Any other value than a text, a number, bytes and a boolean: stored as JSON. */
interface JsonText {
  readonly column: string;
  readonly is: 'json';
}

type ColumnOf<Value> = [Value] extends [boolean]
  ? Flag
  : [Value] extends [string | null]
    ? string | Words
    : [Value] extends [number | Uint8Array | null]
      ? string
      : JsonText;

export interface Columns<Row> {
  readonly table: string;
  /** Whether the column `project` comes first. */
  readonly byProject: boolean;
  /** The name of the column of each member. */
  readonly names: Readonly<Record<keyof Row & string, string>>;
  readonly words: readonly string[];
  readonly flags: readonly string[];
  readonly json: readonly string[];
}

export const words = (column: string): Words => ({ column, is: 'words' });
export const flag = (column: string): Flag => ({ column, is: 'flag' });
export const json = (column: string): JsonText => ({ column, is: 'json' });

/** `of`: the column of each member. */
export function columnsOf<Row extends object>(
  table: string,
  of: { readonly [Member in keyof Row & string]-?: ColumnOf<Row[Member]> },
  { byProject = true }: { readonly byProject?: boolean } = {},
): Columns<Row> {
  const all = Object.entries<string | Words | Flag | JsonText>(of);
  const those = (kind: 'words' | 'flag' | 'json') =>
    all.flatMap(([member, column]) => (typeof column !== 'string' && column.is === kind ? [member] : []));
  const names = Object.fromEntries(
    all.map(([member, column]) => [member, typeof column === 'string' ? column : column.column]),
  ) as Columns<Row>['names']; // the members of `of`
  return { table, byProject, names, words: those('words'), flags: those('flag'), json: those('json') };
}

/** SQL: the columns as members of a row. `from`: the name of the table in the statement. `not`: members left out. */
export const selected = <Row>(
  { names }: Columns<Row>,
  { from, not = [] }: { readonly from?: string; readonly not?: readonly (keyof Row & string)[] } = {},
): string =>
  Object.entries<string>(names)
    .filter(([member]) => !(not as readonly string[]).includes(member))
    .map(([member, column]) => {
      const place = from === undefined ? column : `${from}.${column}`;
      return column === member ? place : `${place} AS "${member}"`;
    })
    .join(', ');

/** A row as the engines return it. */
export type Raw<Row> = {
  readonly [Member in keyof Row]: [Row[Member]] extends [boolean]
    ? number
    : [Row[Member]] extends [string | number | Uint8Array | null]
      ? Row[Member]
      : string;
};

/** A value as it is stored. */
export type Value = string | number | null | Uint8Array;

/** Returns a member in the form of its column. */
export const stored = (value: unknown): Value => {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value as Value; // by `ColumnOf`
  return JSON.stringify(value);
};

/** Returns a function that decodes a row. `text` decodes a text that people wrote. */
export const decoder =
  <Row>({ words: texts, flags, json: jsons }: Columns<Row>, text: (stored: string | null) => string | null) =>
  (raw: Raw<Row>): Row => {
    const row: Record<string, unknown> = { ...raw };
    for (const member of texts) row[member] = text(row[member] as string | null); // `words` are texts
    for (const member of flags) row[member] = row[member] === 1;
    for (const member of jsons) row[member] = JSON.parse(String(row[member]));
    return row as Row; // the members of `Row`, decoded
  };
