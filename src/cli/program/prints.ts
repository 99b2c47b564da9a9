/**
 * The JSON that a hand-made command prints, from one line of its declaration to a JSON Schema:
 *
 *   'file rowCount:integer|null sha256?'  an object: members are strings unless they name a type; `?` may be absent
 *   '=getJob|createJob'                   the response of an operation of the contract
 *   '=getIdentity baseUrl'                the response, and more members
 *   'settings[] key value:any'            a list: the member `settings`, and `nextCursor`
 *   'ok:boolean | error'                  one of several
 *   'any'                                 any JSON
 *   'none'                                no JSON value
 *
 * With `-o ndjson` a list prints its items. Members may be added in later releases.
 * Tested by `test/cli/program/prints.test.ts`.
 */
import type { Operation } from '../../contract/operation.ts';
import { table } from '../../contract/table.ts';
import { schemaOf, type Schema } from './schema.ts';
import type { CommandSpec } from './spec.ts';

/** What a command prints: the response of its row, or what its declaration says; null if it prints no JSON. */
export function outputOf({ operation, prints = 'none' }: CommandSpec): Schema | null {
  return operation === undefined ? schemaOfPrinted(prints) : (answersOf(operation)[0] ?? null);
}

/** The members that `--json=FIELDS` may name: those of the value, or of each item of a list. */
export function fieldsOf(output: Schema | null): string[] {
  const all = output?.anyOf ?? [output ?? {}];
  const fields = all.flatMap(({ properties = {} }) => {
    const [items] = Object.entries(properties).flatMap(([name, { items: each }]) =>
      each !== undefined && (name === 'data' || properties['nextCursor'] !== undefined) ? [each] : [],
    );
    return items === undefined ? Object.keys(properties) : fieldsOf(items);
  });
  return [...new Set(fields)];
}

/** Null for a command that prints no JSON. Errors: an unknown operation or type, of the declaration. */
export function schemaOfPrinted(prints: string): Schema | null {
  if (prints === 'none') return null;
  if (prints === 'any') return {};
  const several = prints.split(' | ');
  return several.length === 1 ? oneOf(prints) : { anyOf: several.map(oneOf) };
}

function oneOf(prints: string): Schema {
  const [first = '', ...rest] = prints.split(' ');
  if (!first.endsWith('[]')) return itemOf(prints);
  const list = { type: 'array', items: itemOf(rest.join(' ')) };
  const nextCursor = { anyOf: [{ type: 'string' }, { type: 'null' }] };
  const name = first.slice(0, -2);
  const properties = { [name]: list, data: list, nextCursor };
  return { type: 'object', properties, required: Object.keys(properties) };
}

function itemOf(text: string): Schema {
  const words = text.split(' ').filter((word) => word !== '');
  const [first = ''] = words;
  if (!first.startsWith('=')) return objectOf(words);
  const answers = first.slice(1).split('|').flatMap(answersOf);
  const more = words.slice(1);
  if (more.length > 0) {
    const { properties, required = [] } = objectOf(more);
    const [answer = {}] = answers;
    return {
      ...answer,
      properties: { ...answer.properties, ...properties },
      required: [...(answer.required ?? []), ...required],
    };
  }
  return answers.length === 1 ? (answers[0] ?? {}) : { anyOf: answers };
}

/** The bodies of the success responses of an operation. */
function answersOf(id: string): Schema[] {
  const row = (table as Readonly<Record<string, Operation>>)[id];
  if (row === undefined) throw new Error(`expected an operation of the contract, got ${id}`);
  return Object.values(row.success).map((body) => withData(schemaOf(body)));
}

/** A list of events has `data` too, as `Out.list` prints it. */
function withData(schema: Schema): Schema {
  const { properties = {}, required = [] } = schema;
  const { events, data, nextCursor } = properties;
  if (events === undefined || nextCursor === undefined || data !== undefined) return schema;
  return { ...schema, properties: { ...properties, data: events }, required: [...required, 'data'] };
}

function objectOf(words: readonly string[]): Schema {
  const members = words.map((word) => {
    const [name = '', type = 'string'] = word.split(':');
    return { name: name.replace(/\?$/, ''), isOptional: name.endsWith('?'), schema: typeOf(type) };
  });
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
    required: members.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
  };
}

const types: ReadonlySet<string> = new Set([
  'string',
  'integer',
  'number',
  'boolean',
  'object',
  'array',
  'null',
]);

function typeOf(text: string): Schema {
  if (text === 'any') return {};
  const all = text.split('|').map((type) => {
    if (!types.has(type)) throw new Error(`expected a JSON type, got ${type}`);
    return { type };
  });
  return all.length === 1 ? (all[0] ?? {}) : { anyOf: all };
}
