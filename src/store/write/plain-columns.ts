/**
 * The columns of tables to which each commit adds rows, with their types. Proven by
 * `test/store/write/plain-columns.test.ts`.
 */
import type { Columns } from '../rules/columns.ts';

/** Types of PostgreSQL; `position` is a number of up to 63 bits there, and a row id in SQLite. */
export type ColumnType = 'int4' | 'int8' | 'text' | 'bytea' | 'position';

/** The column of each member and its type. */
export type TypedColumns<Row> = {
  readonly [Member in keyof Row & string]-?: readonly [column: string, type: ColumnType];
};

/** Throws for a column of another form: commits write values as they are. */
export function plainColumns<Row>(
  { names, table, words, flags, json }: Columns<Row>,
  types: Readonly<Record<keyof Row & string, ColumnType>>,
): TypedColumns<Row> {
  const [formed] = [...words, ...flags, ...json];
  if (formed !== undefined)
    throw new Error(`expected a plain column for ${table}.${formed}, got words, flag or json`);
  return Object.fromEntries<readonly [string, ColumnType]>(
    Object.entries<string>(names).map(([member, column]) => [
      member,
      [column, types[member as keyof Row & string]],
    ]),
  ) as TypedColumns<Row>; // the members of `names`
}
