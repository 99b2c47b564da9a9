/**
 * Strict readers of JSON values: every member has its type, and unknown members are refused, with the pointer of the wrong
 * member. Attacker controlled. Proven by `test/core/proofs/hostile.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { isCount } from '../count.ts';
import type { Json, JsonObject } from './parse.ts';

/** The members of an object; every other member is refused. */
export interface Shape {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
}

/**
 * Position of a value, as a list up to the root: its JSON pointer is spelled only for an error. The root is null in a
 * bundle, and has the kind of any other file.
 */
export type Location =
  | { readonly file: string }
  | { readonly up: Location; readonly name: string | number }
  | null;

export function anyObject(value: Json | undefined, at: Location): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse(at, 'an object', value);
  return value;
}

export function object(
  value: Json | undefined,
  at: Location,
  { required, optional = [] }: Shape,
): JsonObject {
  const read = anyObject(value, at);
  const names = Object.keys(read);
  // Most objects of a bundle have their members in JCS order: one comparison suffices.
  if (names.length === required.length && names.every((name, position) => name === required[position])) {
    return read;
  }
  let found = 0;
  for (const name of required) {
    if (!Object.hasOwn(read, name)) refuse({ up: at, name }, 'a member', undefined);
    found++;
  }
  for (const name of optional) if (Object.hasOwn(read, name)) found++;
  if (names.length === found) return read;
  const unknown = names.find((name) => !required.includes(name) && !optional.includes(name)) ?? '';
  refuse({ up: at, name: unknown.slice(0, limits.echoChars) }, 'no such member', read[unknown]);
}

export interface Items<Item> {
  readonly max: number;
  readonly read: (item: Json, at: Location) => Item;
}

export function list<Item>(
  parent: JsonObject,
  name: string,
  up: Location,
  { max, read }: Items<Item>,
): Item[] {
  const value = parent[name];
  const at: Location = { up, name };
  if (!Array.isArray(value)) refuse(at, 'an array', value);
  if (value.length > max) refuse(at, `at most ${max} items`, value.length);
  return value.map((item, position) => read(item, { up: at, name: position }));
}

/** A pattern of texts, and its description in errors. */
export interface Form {
  readonly pattern: RegExp;
  readonly expected: string;
}

export const hashForm: Form = { pattern: /^sha256:[0-9a-f]{64}$/, expected: 'sha256: and 64 hex digits' };

export function text(parent: JsonObject, name: string, up: Location, form?: Form): string {
  const value = parent[name];
  if (typeof value !== 'string' || !value.isWellFormed()) refuse({ up, name }, 'text', value);
  if (form !== undefined && !form.pattern.test(value)) refuse({ up, name }, form.expected, value);
  return value;
}

export function count(parent: JsonObject, name: string, up: Location): number {
  const value = parent[name];
  if (!isCount(value)) refuse({ up, name }, 'an integer from 0 to 2^53-1', value);
  return value;
}

export function hash(value: Json, at: Location): string {
  if (typeof value !== 'string' || !hashForm.pattern.test(value)) refuse(at, hashForm.expected, value);
  return value;
}

export function plainText(value: Json, at: Location): string {
  if (typeof value !== 'string') refuse(at, 'text', value);
  return value;
}

export function refuse(at: Location, expected: string, value: Json | undefined): never {
  const got = typeof value === 'string' ? JSON.stringify(value.slice(0, limits.echoChars)) : kind(value);
  throw new GovError(
    'VALIDATION_ERROR',
    `${fileOf(at)} ${pointer(at) || '/'}: expected ${expected}, got ${got}`,
  );
}

const pointer = (at: Location): string => (at === null || 'file' in at ? '' : `${pointer(at.up)}/${at.name}`);

function fileOf(at: Location): string {
  if (at === null) return 'bundle';
  return 'file' in at ? at.file : fileOf(at.up);
}

function kind(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}
