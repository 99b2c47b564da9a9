/**
 * Null for an optional member of a request body means the same as no member (contract A5). This removes such members
 * before the body is checked, so that handlers, hashes and the log see one form. Members whose schema accepts null keep
 * it, and so does free-form content. Bodies that a data plane signs are left as they were signed.
 * Proven by `test/contract/nulls.test.ts` and `test/http/nulls.engines.test.ts`.
 */
import type { TSchema } from 'typebox';
import type { Operation } from './operation.ts';

/** The keywords that say which members may be absent or null. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
}

/** Removes such members from a parsed body, in place. An attacker controls the body. */
export type DropNulls = (body: unknown) => void;

/** The removal for the body of an operation; null where no member is concerned or a data plane signed the body. */
export const rowNullDropper = ({ body, signed }: Operation): DropNulls | null =>
  body === undefined || signed === true ? null : nullDropper(body);

/** Returns the removal for a schema, or null where no member of it is concerned. Cost of one run: the members it names. */
export function nullDropper(schema: TSchema): DropNulls | null {
  return dropperOf(schema as Shape); // a TypeBox schema is a JSON Schema
}

function dropperOf(shape: Shape): DropNulls | null {
  const { type, anyOf, items } = shape;
  if (anyOf !== undefined) return all(anyOf.map(dropperOf));
  if (type === 'array') return ofItems(items);
  return type === 'object' ? ofObject(shape) : null;
}

function ofItems(items: Shape | undefined): DropNulls | null {
  const drop = items === undefined ? null : dropperOf(items);
  if (drop === null) return null;
  return (value) => {
    if (!Array.isArray(value)) return;
    for (const item of value) drop(item);
  };
}

function ofObject({ properties = {}, required = [], patternProperties = {} }: Shape): DropNulls | null {
  const named = Object.entries(properties);
  const optional = named.filter(([name, inner]) => !required.includes(name) && !acceptsNull(inner));
  const inner = named.flatMap(([name, schema]) => {
    const drop = dropperOf(schema);
    return drop === null ? [] : [{ name, drop }];
  });
  const ofRest = all(Object.values(patternProperties).map(dropperOf));
  if (optional.length === 0 && inner.length === 0 && ofRest === null) return null;
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const members = value as Record<string, unknown>;
    for (const [name] of optional) {
      if (members[name] === null && Object.hasOwn(members, name)) delete members[name];
    }
    for (const { name, drop } of inner) if (Object.hasOwn(members, name)) drop(members[name]);
    if (ofRest !== null) for (const member of Object.values(members)) ofRest(member);
  };
}

function all(drops: readonly (DropNulls | null)[]): DropNulls | null {
  const some = drops.filter((drop) => drop !== null);
  if (some.length === 0) return null;
  return (value) => {
    for (const drop of some) drop(value);
  };
}

/** A schema without a type accepts anything. */
function acceptsNull({ type, const: only, anyOf }: Shape): boolean {
  if (anyOf !== undefined) return anyOf.some(acceptsNull);
  return type === 'null' || (type === undefined && (only === undefined || only === null));
}
