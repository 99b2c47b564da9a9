/**
 * Canonical JSON: RFC 8785 (JCS). Member names are sorted by UTF-16 code units; numbers and strings are
 * spelled as ECMAScript's `JSON.stringify` spells them, which is the RFC's own definition (§3.2.2).
 *
 * Fast path: a walk refuses what is not JSON and copies only the objects whose names are out of order; then
 * one `JSON.stringify` writes everything. An object enumerates integer-like names first, and assigning
 * `__proto__` sets a prototype, so values that would need such a copy are spelled piece by piece instead.
 * Proven by `test/core/json/canonical.test.ts` (the RFC's official pairs; the package `canonicalize` as oracle).
 */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. Names such as `__proto__` are data: own properties, never a prototype. */
export interface JsonObject {
  [name: string]: Json;
}

/**
 * The JCS text of a value; its UTF-8 bytes are what is hashed and stored. Throws an Error where the value is
 * not JSON: undefined, NaN, an infinity, a lone surrogate, a hole, an instance of a class. Cost: about 1.8
 * times `JSON.stringify`, 1.4 times where all names are in order already. Recursive: the caller bounds depth.
 */
export function canonicalize(value: Json): string {
  const inOrder = ordered(value);
  const text = inOrder === undefined ? spell(value) : JSON.stringify(inOrder);
  // JSON.stringify writes \ud for lone surrogates only; text that holds a backslash before "ud" looks alike
  if (text.includes('\\ud')) assertWellFormed(value);
  return text;
}

/** `T` where it is JSON by its type, as interfaces and readonly arrays are; `never` for what is none anywhere in it. */
export type JsonShaped<T> = T extends null | boolean | number | string
  ? T
  : T extends ((...args: never) => unknown) | Uint8Array | Date | ReadonlyMap<never, unknown>
    ? never
    : T extends object
      ? { readonly [Name in keyof T]: JsonShaped<T[Name]> }
      : never;

/** As `canonicalize`, of what is JSON by its type: a bigint, bytes, undefined or unknown in it does not compile. */
export const canonicalText = <T>(value: T & JsonShaped<T>): string => canonicalize(value as unknown as Json);

/**
 * The value itself where all names in it are in order, else a copy in order that shares what was in order;
 * undefined where no copy can have that order.
 */
function ordered(value: Json): Json | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : notJson(value);
    case 'object':
      if (value === null) return null;
      return Array.isArray(value) ? orderedArray(value) : orderedObject(value);
    default:
      return notJson(value);
  }
}

function orderedArray(array: Json[]): Json[] | undefined {
  let result = array;
  for (let at = 0; at < array.length; at++) {
    const item = array[at] as Json; // a hole is undefined, which `ordered` refuses
    const inOrder = ordered(item);
    if (inOrder === undefined) return undefined;
    if (inOrder === item) continue;
    if (result === array) result = array.slice();
    result[at] = inOrder;
  }
  return result;
}

function orderedObject(object: JsonObject): JsonObject | undefined {
  assertPlain(object);
  if (!namesInOrder(object)) return sortedCopy(object);
  let result = object;
  for (const name in object) {
    const member = object[name] as Json; // `name` is a name of `object`
    const inOrder = ordered(member);
    if (inOrder === undefined) return undefined;
    if (inOrder === member) continue;
    if (name === '__proto__') return undefined;
    if (result === object) result = { ...object };
    result[name] = inOrder;
  }
  return result;
}

function namesInOrder(object: JsonObject): boolean {
  let previous = '';
  for (const name in object) {
    if (name < previous) return false;
    previous = name;
  }
  return true;
}

function sortedCopy(object: JsonObject): JsonObject | undefined {
  const copy: JsonObject = {};
  for (const name of sortNames(Object.keys(object))) {
    const inOrder = ordered(object[name] as Json); // `name` is a name of `object`
    if (inOrder === undefined || !keepsPlace(name)) return undefined;
    copy[name] = inOrder;
  }
  return copy;
}

/** Whether assigning a name to an object makes it the last one: not so for integers and `__proto__`. */
function keepsPlace(name: string): boolean {
  const first = name.charCodeAt(0);
  return first <= 0x39 ? first < 0x30 || !/^[0-9]+$/.test(name) : name !== '__proto__';
}

/** Sorts in place by UTF-16 code units. Most objects are small: insertion beats the general sort there. */
function sortNames(names: string[]): string[] {
  if (names.length > 16) return names.sort();
  for (let at = 1; at < names.length; at++) {
    const name = names[at] ?? '';
    let to = at;
    for (; to > 0 && (names[to - 1] ?? '') > name; to--) names[to] = names[to - 1] ?? '';
    names[to] = name;
  }
  return names;
}

/** RFC 8785 as it stands, for what cannot be copied in order; it meets members that no walk has seen yet. */
function spell(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(ordered(value));
  if (Array.isArray(value)) return `[${Array.from(value, spell).join(',')}]`;
  assertPlain(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${spell(value[name] as Json)}`).join(',')}}`;
}

/** Dates, maps, buffers and boxed values are not JSON; objects of another realm are. */
function assertPlain(object: JsonObject): void {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === Object.prototype || prototype === null) return;
  if (Object.getPrototypeOf(prototype) !== null) notJson(object);
}

function assertWellFormed(value: Json): void {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new Error('expected well-formed Unicode, got a lone surrogate');
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      assertWellFormed(name);
      assertWellFormed(member);
    }
  }
}

function notJson(value: unknown): never {
  const got = typeof value === 'object' ? Object.prototype.toString.call(value) : String(value);
  throw new Error(`expected a JSON value to canonicalise, got ${got}`);
}
