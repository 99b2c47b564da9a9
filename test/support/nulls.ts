/** Optional members of the contract's schemas that accept no null, and bodies that have null for them. */
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
