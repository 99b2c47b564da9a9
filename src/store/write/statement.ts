/**
 * Writes that both engines share: one text with named values, such as `:policyId`. `:project` is the project of the
 * write; the engine adds its value.
 * Proven by `test/store/write/statement.test.ts`.
 */
import { stored, type Columns, type Value } from '../rules/columns.ts';
import type { CommitTable } from './commit-tables.ts';
import { each, type Sql } from '../read/queries.ts';

/** A statement that takes `Values` by name. */
export interface Write<Values> {
  /** Names the step for tests that let it fail. */
  readonly name: string;
  readonly statement: Sql;
  /** The name of the value of `$1`, `$2` and so on. */
  readonly places: readonly string[];
  /** Names of values that people wrote: PostgreSQL stores them encoded. */
  readonly words: ReadonlySet<string>;
  /** Never set: carries the type of the values. */
  readonly values?: (values: Values) => void;
}

/** Runs a write, or adds it to a commit. */
export type Writer<Done> = <Values extends object>(made: Write<Values>, values: NoInfer<Values>) => Done;

/** Two texts take the same values. Say why they differ next to them. */
type Text = string | Readonly<Record<'postgres' | 'sqlite', string>>;

/** A statement in words of its own. `words`: names of values that people wrote. */
export function write<Values extends object>(
  name: string,
  text: Text,
  words: readonly (keyof Values & string)[] = [],
): Write<Values> {
  const { postgres, sqlite } = typeof text === 'string' ? { postgres: text, sqlite: text } : text;
  const named = [...`${postgres} ${sqlite}`.matchAll(value)].map(([, member = '']) => member);
  const places = [...new Set([...named.filter((member) => member === 'project'), ...named])];
  const numbered = (one: string): string =>
    one.replaceAll(value, (_, member: string) => `$${places.indexOf(member) + 1}`);
  const statement = each({ postgres: numbered(postgres), sqlite: numbered(sqlite) });
  return { name, statement, places, words: new Set(words) };
}

/** `:name`, and no cast. */
const value = /(?<!:):([a-z]\w*)/gi;

type ColumnOf<Row> = keyof Row & string;

const list = <Row>({ names }: Columns<Row>, members: readonly ColumnOf<Row>[]): string =>
  members.map((member) => names[member]).join(', ');
const assigned = <Row>({ names }: Columns<Row>, members: readonly ColumnOf<Row>[]): string[] =>
  members.map((member) => `${names[member]} = :${member}`);
const membersOf = <Row>({ names }: Columns<Row>): ColumnOf<Row>[] => Object.keys(names) as ColumnOf<Row>[];

/** Inserts a row; `only`: these members, the others stay null. `conflict`: SQL that follows. */
export function insert<Row, Member extends ColumnOf<Row> = ColumnOf<Row>>(
  into: Columns<Row>,
  only: readonly Member[] = membersOf(into) as Member[],
  conflict = '',
): Write<Pick<Row, Member>> {
  const values = only.map((member) => `:${member}`).join(', ');
  return write<Pick<Row, Member>>(
    `insert ${into.table}`,
    into.byProject
      ? `INSERT INTO ${into.table} (project, ${list(into, only)}) VALUES (:project, ${values}) ${conflict}`.trim()
      : `INSERT INTO ${into.table} (${list(into, only)}) VALUES (${values}) ${conflict}`.trim(),
    wordsOf(into, only),
  );
}

/** Inserts one row of a table of commits; `conflict`: as in `insert`. */
export function insertOne<Row extends object>(
  { name, columns }: CommitTable<Row>,
  conflict = '',
): Write<Omit<Row, 'project'>> {
  const names = Object.values<readonly [string, string]>(columns).map(([column]) => column);
  const values = Object.keys(columns).map((member) => `:${member}`);
  return write<Omit<Row, 'project'>>(
    `insert ${name}`,
    `INSERT INTO ${name} (${names.join(', ')}) VALUES (${values.join(', ')}) ${conflict}`.trim(),
  );
}

/** Inserts a row, or replaces `set` of the one with this key, whose `also` stays. */
export function upsert<Row, Member extends ColumnOf<Row> = ColumnOf<Row>>(
  into: Columns<Row>,
  { key, set, also = [] }: Readonly<Record<'key' | 'set', readonly Member[]>> & { also?: readonly Member[] },
): Write<Pick<Row, Member>> {
  const { names } = into;
  const replaced = set.map((member) => `${names[member]} = excluded.${names[member]}`).join(', ');
  const unique = ['project', ...key.map((member) => names[member])].join(', ');
  return insert(into, [...key, ...also, ...set], `ON CONFLICT (${unique}) DO UPDATE SET ${replaced}`);
}

interface Change<Set, By> {
  /** Members that get a value. */
  readonly set: readonly Set[];
  /** Members that find the row. */
  readonly by: readonly By[];
  /** More of the SET, such as `revision = revision + 1`. */
  readonly also?: string;
  /** One more condition. */
  readonly where?: string;
}

export function update<Row, Set extends ColumnOf<Row>, By extends ColumnOf<Row>>(
  of: Columns<Row>,
  { set, by, also, where }: Change<Set, By>,
): Write<Pick<Row, Set | By>> {
  const sets = [...assigned(of, set), ...(also === undefined ? [] : [also])].join(', ');
  return write<Pick<Row, Set | By>>(
    `update ${of.table}`,
    `UPDATE ${of.table} SET ${sets} WHERE ${conditions(of, by, where)}`,
    wordsOf(of, set),
  );
}

/** Deletes the rows that `by` finds. */
export const remove = <Row, By extends ColumnOf<Row>>(
  of: Columns<Row>,
  by: readonly By[],
  where?: string,
): Write<Pick<Row, By>> =>
  write<Pick<Row, By>>(`delete ${of.table}`, `DELETE FROM ${of.table} WHERE ${conditions(of, by, where)}`);

const conditions = <Row>(of: Columns<Row>, by: readonly ColumnOf<Row>[], where?: string): string =>
  [
    ...(of.byProject ? ['project = :project'] : []),
    ...assigned(of, by),
    ...(where === undefined ? [] : [where]),
  ].join(' AND ');

const wordsOf = <Row, Member extends ColumnOf<Row>>(
  { words }: Columns<Row>,
  members: readonly Member[],
): Member[] => members.filter((member) => words.includes(member));

/** The values of a write in the order of `places`; a missing one is a mistake of the caller. */
export function valuesOf({ name, places }: Write<never>, project: number, values: object): readonly Value[] {
  const all = values as Readonly<Record<string, unknown>>; // the type of the write names them
  return places.map((member) => {
    const found = member === 'project' ? project : all[member];
    if (found === undefined) throw new Error(`${name}: expected a value for ${member}, got none`);
    return stored(found);
  });
}
