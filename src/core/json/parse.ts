/**
 * Strict JSON in: RFC 8259 text in the I-JSON profile (RFC 7493) of contract A6, so that what was read is
 * what a second reader reads, and what JCS writes of it is what was sent. The input is an attacker's.
 *
 * One pass over the bytes (`scan.ts`) checks grammar, bounds, escapes and numbers, without building or
 * recursing; then the bytes are decoded and `JSON.parse` builds the value. Names are counted in the text and
 * in the value: fewer in the value means that a name stood twice.
 *
 * Danger: the `JSON.parse` of V8 12.8 and later can mistake a member name that is spelled with an escape
 * (`build.ts` says how). So texts with such names are built here, and no text with names that we did not
 * choose may be given to `JSON.parse`, or to `Response.json()`: use `parseJson`, or `readJson` for stored ones.
 *
 * Proven by `test/core/json/parse.test.ts` (hostile vectors, `JSON.parse` as oracle).
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Json } from './canonical.ts';
import { buildJson } from './build.ts';
import { closingQuote, malformed, quoted, stringBetween } from './token.ts';
import { scan } from './scan.ts';
import type { JsonBounds } from './scan.ts';

export { canonicalize, canonicalText } from './canonical.ts';
export type { Json, JsonObject } from './canonical.ts';
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
 * The same answers as `parseJson`, in a third of its time where the text is spelled as `JSON.stringify` spells
 * it: what gives the same text again holds no name twice, no number that a double changes, and no name that
 * `JSON.parse` mistook. Worth it in a process that reads one text, before the scan is compiled.
 */
export function parseSpelledJson(bytes: Uint8Array, bounds: JsonBounds): Json {
  // JSON.parse has no bound of depth; this one holds its memory below 50 bytes for each of these
  if (bytes.length > maxSpelledBytes) return parseJson(bytes, bounds);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return parseJson(bytes, bounds);
  }
  const value = readSpelled(text);
  return value !== undefined && new Measure(bounds).fits(value, 0) ? value : parseJson(bytes, bounds);
}

const maxSpelledBytes = 4 * 1024 * 1024;

/**
 * Parses a JSON text that we wrote ourselves and stored: the profile holds, bounds are those of an envelope
 * around a body. As fast as `JSON.parse` where the text holds no backslash, half as fast where it does.
 */
export function readJson(text: string): Json {
  if (!text.includes('\\')) return JSON.parse(text) as Json;
  return readSpelled(text) ?? parseJson(Buffer.from(text), storedBounds);
}

/** The value of a text that `JSON.stringify` writes for it, undefined for every other text. */
function readSpelled(text: string): Json | undefined {
  // it would write lone surrogates and U+0000 as they came; what only looks like one is left to the scan
  if (text.includes('\\ud') || text.includes('\\u0000')) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined; // no JSON, or too deep: the scan says where
  }
}

/** Holds a value against bounds, on the safe side: what it refuses is for the scan to judge. */
class Measure {
  private readonly bounds: JsonBounds;
  private values = 0;

  constructor(bounds: JsonBounds) {
    this.bounds = bounds;
  }

  fits(value: Json, depth: number): boolean {
    this.values++;
    if (typeof value === 'string') return value.length * 3 <= this.bounds.stringBytes;
    if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
    if (typeof value !== 'object' || value === null) return true;
    if (depth === this.bounds.depth) return false;
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at++) {
        if (!this.fits(value[at] ?? null, depth + 1)) return false;
      }
      return this.values <= this.bounds.values;
    }
    for (const name in value) {
      if (name.length > this.bounds.nameChars || !this.fits(value[name] ?? null, depth + 1)) return false;
    }
    return this.values <= this.bounds.values;
  }
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
