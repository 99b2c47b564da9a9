/** Optional members of the contract's schemas that accept no null, bodies that have null for them, and members that null erases. */
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import type { JsonSchema } from '../../src/service/call/explain.ts';
import { explain } from '../../src/service/call/explain.ts';

const acceptsNull = (schema: JsonSchema): boolean =>
  explain(schema, null, { in: 'body' }).errors.length === 0;

const optionalOf = ({ properties = {}, required = [] }: JsonSchema): string[] =>
  Object.entries(properties).flatMap(([name, inner]) =>
    required.includes(name) || acceptsNull(inner) ? [] : [name],
  );

/** Pointers of all such members; `*` is any item or name. */
export function optionalMembers(schema: JsonSchema): string[] {
  const { properties = {}, patternProperties = {}, items, anyOf = [] } = schema;
  const below = (name: string, inner: JsonSchema): string[] =>
    optionalMembers(inner).map((pointer) => `/${name}${pointer}`);
  return [
    ...optionalOf(schema).map((name) => `/${name}`),
    ...Object.entries(properties).flatMap(([name, inner]) => below(name, inner)),
    ...Object.values(patternProperties).flatMap((inner) => below('*', inner)),
    ...(items === undefined ? [] : below('*', items)),
    ...anyOf.flatMap(optionalMembers),
  ];
}

/** The value with null for each such member that it lacks; the value itself where there is none. */
export function withNulls(schema: JsonSchema, value: unknown): unknown {
  const { anyOf, items } = schema;
  if (anyOf !== undefined) {
    const branch = anyOf.find((each) => explain(each, value, { in: 'body' }).errors.length === 0);
    return branch === undefined ? value : withNulls(branch, value);
  }
  if (Array.isArray(value))
    return items === undefined
      ? value
      : changed(
          value,
          value.map((item) => withNulls(items, item)),
        );
  if (typeof value !== 'object' || value === null) return value;
  const { properties = {}, patternProperties = {} } = schema;
  const [rest] = Object.values(patternProperties);
  const members = Object.entries(value).map(([name, member]) => {
    const inner = Object.hasOwn(properties, name) ? properties[name] : rest;
    return [name, inner === undefined ? member : withNulls(inner, member)];
  });
  const missing = optionalOf(schema).filter((name) => !Object.hasOwn(value, name));
  return changed(value, Object.fromEntries([...members, ...missing.map((name) => [name, null])]));
}

/** The old value where the new one says the same. */
const changed = (from: object, to: object): object =>
  JSON.stringify(from) === JSON.stringify(to) ? from : to;

/** Pointers of the members that a body can set, and whether each accepts null. */
export function settable(schema: JsonSchema, at = ''): (readonly [pointer: string, isNullable: boolean])[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const isReadOnly = Object.keys(inner).every((keyword) => keyword === 'description');
    if (isReadOnly) return [];
    const own = [`${at}/${name}`, acceptsNull(inner)] as const;
    return inner.properties === undefined ? [own] : settable(inner, `${at}/${name}`);
  });
}

/** Members of a PUT that null erases. */
export const erasableOf = (id: OperationId): string[] =>
  settable((table[id] as Operation).body as JsonSchema)
    .filter(([, isNullable]) => isNullable)
    .map(([pointer]) => pointer);

const namesOf = (pointer: string): string[] => pointer.split('/').slice(1);

export const valueAt = (value: unknown, pointer: string): unknown =>
  namesOf(pointer).reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);

/** The members that a body requires, and null at the pointer. */
export function withNull(id: OperationId, body: unknown, pointer: string): unknown {
  const { required = [] } = (table[id] as Operation).body as JsonSchema;
  const kept = Object.entries(body as object).filter(([name]) => required.includes(name));
  const erased = namesOf(pointer).reduceRight<unknown>((inner, name) => ({ [name]: inner }), null);
  return { ...Object.fromEntries(kept), ...(erased as object) };
}
