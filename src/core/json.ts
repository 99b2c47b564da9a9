/**
 * Strict JSON in: RFC 8259 text in the I-JSON profile (RFC 7493) of contract A6, so that what was read is
 * what a second reader reads, and what JCS writes of it is what was sent. The input is an attacker's.
 *
 * One pass over the bytes (`scan.ts`) checks grammar, bounds, escapes and numbers, without building or
 * recursing; then the bytes are decoded and `JSON.parse` builds the value. Names are counted in the text and
 * in the value: fewer in the value means that a name stood twice.
 *
 * Danger: the `JSON.parse` of V8 12.8 and later can mistake a member name that is spelled with an escape
 * (`jsonbuild.ts` says how). So texts with such names are built here, and no text with names that we did not
 * choose may be given to `JSON.parse`, or to `Response.json()`: use `parseJson`, or `readJson` for stored ones.
 *
 * Proven by `test/core/json.test.ts` (hostile vectors, `JSON.parse` as oracle).
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import type { Json } from './jcs.ts';
import { buildJson } from './jsonbuild.ts';
import { closingQuote, malformed, quoted, stringBetween } from './jsontoken.ts';
import { scan } from './scan.ts';
import type { JsonBounds } from './scan.ts';

export { canonicalize } from './jcs.ts';
export type { Json, JsonObject } from './jcs.ts';
export type { JsonBounds } from './scan.ts';

/** Bounds of a body. */
export const defaultBounds: JsonBounds = {
  depth: limits.jsonDepth,
  values: limits.jsonValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

/** Bounds of the bodies that carry many items: event batches, graphs, imports. */
export const largeBounds: JsonBounds = { ...defaultBounds, values: limits.jsonValuesLarge };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses strict JSON. Names such as `__proto__` become own properties. Throws a GovError with the byte
 * `offset` as extension: INVALID_JSON for what is not JSON in our profile, JSON_TOO_COMPLEX beyond a bound.
 * Cost: linear in the bytes whatever they hold, about 1.5 times decoding and `JSON.parse`.
 */
export function parseJson(bytes: Uint8Array, bounds: JsonBounds = defaultBounds): Json {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    malformed(0, 'a JSON value', 'a byte order mark');
  }
  const names = scan(bytes, bounds);
  const text = decode(bytes);
  const value = names.escaped === 0 ? (JSON.parse(text) as Json) : buildJson(bytes);
  if (countNames(value) !== names.all) refuseRepeatedName(bytes, bounds);
  return value;
}

/**
 * Parses a JSON text that we wrote ourselves and stored: the profile holds, bounds are those of an envelope
 * around a body. As fast as `JSON.parse` where the text holds no backslash, as `parseJson` where it does.
 */
export function readJson(text: string): Json {
  return text.includes('\\') ? parseJson(Buffer.from(text), storedBounds) : (JSON.parse(text) as Json);
}

const storedBounds: JsonBounds = {
  depth: 2 * limits.jsonDepth,
  values: Infinity,
  nameChars: Infinity,
  stringBytes: Infinity,
};

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    const offset = invalidUtf8At(bytes);
    throw new GovError('INVALID_JSON', `expected UTF-8, got an invalid sequence at byte ${offset}`, {
      cause,
      extensions: { offset },
    });
  }
}

/** Where bytes that are not UTF-8 first differ from what decoding and encoding makes of them. */
function invalidUtf8At(bytes: Uint8Array): number {
  const repaired = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === repaired[at]) at++;
  return at;
}

/** Member names in a value; its depth is bounded by the scan. */
function countNames(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Array.isArray(value) ? value : Object.values(value);
  let count = members === value ? 0 : members.length;
  for (const member of members) {
    if (typeof member === 'object' && member !== null) count += countNames(member);
  }
  return count;
}

function refuseRepeatedName(bytes: Uint8Array, bounds: JsonBounds): never {
  const seen: Set<string>[] = [];
  scan(bytes, bounds, (at, depth, first) => {
    const names = (first ? undefined : seen[depth]) ?? new Set<string>();
    const name = stringBetween(bytes, at, closingQuote(bytes, at + 1));
    if (names.has(name)) malformed(at, 'each member name once', `a second ${quoted(name)}`);
    seen[depth] = names.add(name);
  });
  throw new Error('the names counted in a text and in its value differ, but none stands twice');
}
