/**
 * Builds the value of a JSON text whose member names `JSON.parse` may confuse.
 *
 * V8 12.8 and later (Node 24 and 26; nodejs/node#63785) compares a name with an escape, as spelled in the text, with the
 * name that it expects from earlier objects of the same shape in the same process. After `{"a":1,"\\":1}` was parsed,
 * `{"a":1,"\n":1}` has the name `\` instead of a line feed. One caller could so change the evidence of another one. Names
 * without escapes are not affected.
 *
 * This slow path is for the rare text with such names: two to five times the cost of `JSON.parse`.
 * Proven by `test/core/json/build.test.ts`.
 */
import type { Json } from './canonical.ts';
import { afterScalar, afterSpace, byteAt, closingQuote, stringBetween, textBetween } from './token.ts';

const QUOTE = 0x22;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

interface BuiltValue {
  readonly value: Json;
  readonly end: number;
}

/**
 * Returns the value of a text that `scan` has accepted; it does not check grammar or depth again. The last of two equal
 * names counts, as in `JSON.parse`.
 */
export const buildJson = (bytes: Uint8Array): Json => build(bytes, 0).value;

function build(bytes: Uint8Array, from: number): BuiltValue {
  const start = afterSpace(bytes, from);
  const first = byteAt(bytes, start);
  if (first === OBJECT) return buildObject(bytes, start);
  if (first === ARRAY) return buildArray(bytes, start);
  if (first === QUOTE) {
    const end = closingQuote(bytes, start + 1);
    return { value: stringBetween(bytes, start, end), end: end + 1 };
  }
  const end = afterScalar(bytes, start);
  return { value: JSON.parse(textBetween(bytes, start, end)) as Json, end }; // true, false, null or a number
}

function buildObject(bytes: Uint8Array, start: number): BuiltValue {
  const members: [string, Json][] = [];
  let at = afterSpace(bytes, start + 1);
  while (byteAt(bytes, at) !== OBJECT_END) {
    if (members.length > 0) at = afterSpace(bytes, at + 1); // the comma
    const nameEnd = closingQuote(bytes, at + 1);
    const colon = afterSpace(bytes, nameEnd + 1);
    const { value, end } = build(bytes, colon + 1);
    members.push([stringBetween(bytes, at, nameEnd), value]);
    at = afterSpace(bytes, end);
  }
  return { value: Object.fromEntries(members), end: at + 1 };
}

function buildArray(bytes: Uint8Array, start: number): BuiltValue {
  const items: Json[] = [];
  let at = afterSpace(bytes, start + 1);
  while (byteAt(bytes, at) !== ARRAY_END) {
    const { value, end } = build(bytes, items.length > 0 ? at + 1 : at);
    items.push(value);
    at = afterSpace(bytes, end);
  }
  return { value: items, end: at + 1 };
}
