/**
 * Canonical JSON: RFC 8785 (JCS). Member names are sorted by UTF-16 code units; numbers and strings are spelled as by
 * ECMAScript's `JSON.stringify`, which is the definition of the RFC (§3.2.2).
 *
 * Fast path: a walk refuses other values than JSON and copies only objects whose names are out of order; then one
 * `JSON.stringify` writes the text. An object enumerates integer-like names first, and assigning `__proto__` sets a
 * prototype, so values that need such a copy are spelled piece by piece.
 * Proven by `test/core/json/canonical.test.ts` (official pairs of the RFC; the package `canonicalize` as oracle).
 */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. Names such as `__proto__` are data: own properties, never a prototype. */
export interface JsonObject {
  [name: string]: Json;
}

/**
 * Returns the JCS text of a value; its UTF-8 bytes are hashed and stored. Throws an Error for a value that is not JSON:
 * undefined, NaN, an infinity, a lone surrogate, a hole, an instance of a class. Cost: about 1.8 times `JSON.stringify`,
 * 1.4 times if all names are in order. Recursive: the caller limits the depth.
 */
export function canonicalize(value: Json): string {
  const inOrder = ordered(value);
  const text = inOrder === undefined ? spell(value) : JSON.stringify(inOrder);
  // JSON.stringify writes \ud only for lone surrogates; a backslash followed by the text "ud" looks alike.
  if (text.includes('\\ud')) assertWellFormed(value);
  return text;
}

/** `T` if its type is JSON, readonly arrays and interfaces included; `never` for a type that is not JSON anywhere. */
export type JsonShapeOf<T> = T extends null | boolean | number | string
  ? T
  : T extends ((...args: never) => unknown) | Uint8Array | Date | ReadonlyMap<never, unknown>
    ? never
    : T extends object
      ? { readonly [Name in keyof T]: JsonShapeOf<T[Name]> }
      : never;

/** The value as JSON, by its type; the same object. */
export const jsonOf = <T>(value: T & JsonShapeOf<T>): Json => value as unknown as Json;

/** `canonicalize` for JSON by type: bigint, bytes, undefined or unknown anywhere in the value do not compile. */
export const canonicalText = <T>(value: T & JsonShapeOf<T>): string => canonicalize(jsonOf(value));

/**
 * Returns the value itself if all its names are in order, else an ordered copy that shares the ordered parts; undefined if
 * no copy can have that order.
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

/** Returns whether a name stays the last one when it is assigned: false for integers and `__proto__`. */
function keepsPlace(name: string): boolean {
  const first = name.charCodeAt(0);
  return first <= 0x39 ? first < 0x30 || !/^[0-9]+$/.test(name) : name !== '__proto__';
}

/** Sorts in place by UTF-16 code units. Most objects are small, for which insertion sort is faster. */
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

/** Spells a value by RFC 8785 if it has no ordered copy; it may meet members that no walk has checked. */
function spell(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(ordered(value));
  if (Array.isArray(value)) return `[${Array.from(value, spell).join(',')}]`;
  assertPlain(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${spell(value[name] as Json)}`).join(',')}}`;
}

/** Refuses dates, maps, buffers and boxed values; accepts plain objects of another realm. */
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
  throw new Error(`expected a JSON value to canonicalize, got ${got}`);
}
