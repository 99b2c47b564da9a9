/**
 * Explains why an input is invalid (contract C2): walks the JSON Schema (the draft-07 keywords that the
 * contract uses) and a value that Ajv rejected. Lists for each finding its place, rule, expected and actual
 * value. Ajv decides, this file explains; `test/contract/schema.test.ts` proves that both agree on what is
 * valid.
 */
import type { Static, TSchema } from 'typebox';
import { limits } from '../../contract/limits.ts';
import type { FieldCode } from '../../contract/field-codes.ts';
import type { FieldError } from '../../contract/problems.ts';
import { clientIdPattern, httpsPattern, namePattern, textPattern } from '../../contract/text-patterns.ts';
import { parseTimestamp } from '../../core/time.ts';
import { pointerToken } from '../../core/json/pointer.ts';

/** The keywords in use. Every other member of a schema is annotation. */
export interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly propertyNames?: JsonSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface Findings {
  readonly errors: readonly FieldError[];
  /** Whether there were more than `limits.fieldErrors` findings. */
  readonly truncated: boolean;
}

interface Walk {
  readonly in: FieldError['in'];
  readonly readOnly: readonly string[];
  readonly errors: FieldError[];
}

/** A value for use in a message: at most `limits.echoChars` characters of JSON (contract C10). */
export function echo(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= limits.echoChars ? text : `${text.slice(0, limits.echoChars - 1)}…`;
}

/** The JSON type of a value. */
export const jsonType = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

/** The length of a text as JSON Schema counts it. */
export const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/**
 * Every finding about `value`, in document order; empty where it is valid. An attacker controls the value.
 */
export function explain(
  schema: JsonSchema,
  value: unknown,
  options: { in: FieldError['in']; readOnly?: readonly string[]; pointer?: string },
): Findings {
  const walk: Walk = { in: options.in, readOnly: options.readOnly ?? [], errors: [] };
  visit(walk, schema, value, options.pointer ?? '');
  const truncated = walk.errors.length > limits.fieldErrors;
  return { errors: truncated ? walk.errors.slice(0, limits.fieldErrors) : walk.errors, truncated };
}

/** Whether a value matches a row's schema, without a compiled check. An attacker controls the value. */
export function fits<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  // a TypeBox schema is a JSON Schema
  return explain(schema as unknown as JsonSchema, value, { in: 'body' }).errors.length === 0;
}

const patterns = new Map<string, RegExp>();

/**
 * The pattern, compiled once. Patterns come from the contract only: they are few, and no attacker controls
 * one.
 */
function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const fresh = new RegExp(pattern, 'u');
  patterns.set(pattern, fresh);
  return fresh;
}

/** Words for patterns that a reader could not follow. */
const inWords: ReadonlyMap<string, string> = new Map([
  [clientIdPattern, '1 to 128 characters of A-Z, a-z, 0-9 and . _ : -, the first one a letter or a digit'],
  [httpsPattern, 'an address that begins with https://'],
  [
    namePattern,
    'a name with at least one visible character, without control characters and marks of the direction of writing',
  ],
  [
    textPattern,
    'text with at least one visible character, without marks of the direction of writing and control characters other than line feeds',
  ],
]);

const full = (walk: Walk): boolean => walk.errors.length > limits.fieldErrors;

function report(
  walk: Walk,
  pointer: string,
  problem: { code: FieldCode; detail: string; limit?: number },
): void {
  if (!full(walk)) walk.errors.push({ pointer, in: walk.in, ...problem });
}

function visit(walk: Walk, schema: JsonSchema, value: unknown, pointer: string): void {
  if (full(walk)) return;
  if (schema.anyOf !== undefined) return visitUnion(walk, schema.anyOf, value, pointer);
  if (schema.const !== undefined && value !== schema.const) {
    return report(walk, pointer, {
      code: 'NOT_ALLOWED',
      detail: `expected ${echo(schema.const)}, got ${echo(value)}`,
    });
  }
  if (schema.type !== undefined && !hasType(schema.type, value)) {
    // every query parameter is text, so the message shows the value, not its type
    const came = walk.in === 'query' ? echo(value) : jsonType(value);
    const detail = `expected ${typeName(schema)}, got ${came}`;
    return report(walk, pointer, { code: 'WRONG_TYPE', detail });
  }
  if (typeof value === 'string') visitString(walk, schema, value, pointer);
  else if (typeof value === 'number') visitNumber(walk, schema, value, pointer);
  else if (Array.isArray(value)) visitArray(walk, schema, value, pointer);
  else if (typeof value === 'object' && value !== null) {
    visitObject(walk, schema, value as Record<string, unknown>, pointer);
  }
}

function typeName({ type = '', minimum }: JsonSchema): string {
  if (type !== 'integer') return type;
  return minimum === undefined ? 'an integer' : `an integer ≥ ${minimum}`;
}

const hasType = (type: string, value: unknown): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === jsonType(value);

/** Explains the branch that fits the value's type. A union of constants is listed. */
function visitUnion(walk: Walk, branches: readonly JsonSchema[], value: unknown, pointer: string): void {
  const constants = branches.filter((branch) => branch.const !== undefined);
  if (constants.length === branches.length) {
    if (constants.some((branch) => branch.const === value)) return;
    const allowed = constants.map((branch) => String(branch.const)).join(', ');
    return report(walk, pointer, {
      code: 'NOT_ALLOWED',
      detail: `expected one of ${allowed}; got ${echo(value)}`,
    });
  }
  const fitting = branches.find((branch) => branch.type === undefined || hasType(branch.type, value));
  if (fitting !== undefined) return visit(walk, fitting, value, pointer);
  const types = branches.map((branch) => branch.type).join(' or ');
  report(walk, pointer, { code: 'WRONG_TYPE', detail: `expected ${types}, got ${jsonType(value)}` });
}

function visitString(walk: Walk, schema: JsonSchema, value: string, pointer: string): void {
  const { minLength, maxLength, pattern, format } = schema;
  const length = codePoints(value);
  if (minLength !== undefined && length < minLength) {
    const detail = `expected at least ${minLength} characters, got ${length}`;
    return report(walk, pointer, { code: 'TOO_SHORT', limit: minLength, detail });
  }
  if (maxLength !== undefined && length > maxLength) {
    const detail = `expected at most ${maxLength} characters, got ${length}`;
    return report(walk, pointer, { code: 'TOO_LONG', limit: maxLength, detail });
  }
  if (pattern !== undefined && !compiled(pattern).test(value)) {
    const detail = `expected ${inWords.get(pattern) ?? `text that matches ${pattern}`}, got ${echo(value)}`;
    return report(walk, pointer, { code: 'BAD_FORMAT', detail });
  }
  if (format === 'date-time' && parseTimestamp(value) === null) {
    const isUnescaped = walk.in === 'query' && / [0-9]{2}:[0-9]{2}$/.test(value);
    const hint = isUnescaped ? '; write the + of an offset as %2B in a query' : '';
    const detail = `expected an RFC 3339 time with offset, such as 2026-01-31T09:30:00Z, got ${echo(value)}${hint}`;
    report(walk, pointer, { code: 'BAD_FORMAT', detail });
  }
}

function visitNumber(walk: Walk, schema: JsonSchema, value: number, pointer: string): void {
  const { type, minimum, maximum } = schema;
  if (minimum !== undefined && value < minimum) {
    const least = type === 'integer' ? typeName(schema) : `at least ${minimum}`;
    const detail = `expected ${least}, got ${value}`;
    report(walk, pointer, { code: 'TOO_SMALL', limit: minimum, detail });
  }
  if (maximum !== undefined && value > maximum) {
    const detail = `expected at most ${maximum}, got ${value}`;
    report(walk, pointer, { code: 'TOO_LARGE', limit: maximum, detail });
  }
}

function visitArray(walk: Walk, schema: JsonSchema, value: readonly unknown[], pointer: string): void {
  const { minItems, maxItems, items } = schema;
  if (minItems !== undefined && value.length < minItems) {
    const detail = `expected at least ${minItems} items, got ${value.length}`;
    report(walk, pointer, { code: 'TOO_FEW', limit: minItems, detail });
  }
  if (maxItems !== undefined && value.length > maxItems) {
    const detail = `expected at most ${maxItems} items, got ${value.length}`;
    return report(walk, pointer, { code: 'TOO_MANY', limit: maxItems, detail });
  }
  if (schema.uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
    report(walk, pointer, { code: 'DUPLICATE_ITEM', detail: 'expected each item once' });
  }
  if (items === undefined) return;
  for (let at = 0; at < value.length && !full(walk); at++) visit(walk, items, value[at], `${pointer}/${at}`);
}

function visitObject(
  walk: Walk,
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  pointer: string,
): void {
  const names = Object.keys(value);
  const { minProperties, maxProperties, properties = {} } = schema;
  if (minProperties !== undefined && names.length < minProperties) {
    const detail = `expected at least ${minProperties} members, got ${names.length}`;
    report(walk, pointer, { code: 'TOO_FEW', limit: minProperties, detail });
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    const detail = `expected at most ${maxProperties} members, got ${names.length}`;
    return report(walk, pointer, { code: 'TOO_MANY', limit: maxProperties, detail });
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(value, name)) continue;
    report(walk, `${pointer}/${pointerToken(name)}`, {
      code: 'MISSING_FIELD',
      detail: `expected a member ${name}`,
    });
  }
  for (const name of names) {
    if (full(walk)) return;
    visitMember(walk, schema, { name, value: value[name], known: properties }, pointer);
  }
}

function visitMember(
  walk: Walk,
  schema: JsonSchema,
  member: { name: string; value: unknown; known: Readonly<Record<string, JsonSchema>> },
  pointer: string,
): void {
  const { name, value, known } = member;
  const at = `${pointer}/${pointerToken(name.length > limits.echoChars ? name.slice(0, limits.echoChars) : name)}`;
  if (schema.propertyNames !== undefined) visit(walk, schema.propertyNames, name, at);
  const own = Object.hasOwn(known, name) ? known[name] : undefined;
  if (own !== undefined) return visit(walk, own, value, at);
  if (schema.additionalProperties === false) {
    const readOnly = walk.readOnly.includes(name);
    return report(walk, at, {
      code: readOnly ? 'READ_ONLY_FIELD' : 'UNKNOWN_FIELD',
      detail: readOnly ? `${name} is set by the service` : `no member ${echo(name)} is known here`,
    });
  }
  for (const inner of Object.values(schema.patternProperties ?? {})) visit(walk, inner, value, at);
}
