/**
 * Strict JSON parser: RFC 8259 text in the I-JSON profile (RFC 7493) of contract A6. Input is attacker controlled.
 * Every reader reads the accepted text alike, and JCS of the parsed value is JCS of the text.
 *
 * One pass over the bytes (`scan.ts`) checks grammar, limits, escapes and numbers, without building or recursing. Then
 * the bytes are decoded and `JSON.parse` builds the value. Member names are counted in the text and in the value: fewer in
 * the value means a repeated name.
 *
 * Danger: `JSON.parse` of V8 12.8 and later can confuse a member name that is spelled with an escape (see `build.ts`).
 * Texts with such names are therefore built here. Never give a text with foreign names to `JSON.parse` or
 * `Response.json()`: use `parseJson`, or `readJson` for stored texts.
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

/** Limits of a request body. */
export const defaultBounds: JsonBounds = {
  depth: limits.jsonDepth,
  values: limits.jsonValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

/** Limits of bodies with many items: event batches, graphs, imports. */
export const largeBounds: JsonBounds = { ...defaultBounds, values: limits.jsonValuesLarge };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses strict JSON. Names such as `__proto__` become own properties. Throws GovError with the byte `offset` as
 * extension: INVALID_JSON for a text outside of the profile, JSON_TOO_COMPLEX beyond a limit. Cost: linear in the bytes
 * for any content, about 1.5 times decoding and `JSON.parse`.
 */
export function parseJson(bytes: Uint8Array, bounds: JsonBounds = defaultBounds): Json {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    malformed(0, 'a JSON value', 'a byte order mark');
  }
  const names = scan(bytes, bounds);
  const text = decodeJson(bytes);
  const value = names.escaped === 0 ? (JSON.parse(text) as Json) : buildJson(bytes);
  if (countNames(value) !== names.all) refuseRepeatedName(bytes, bounds);
  return value;
}

/**
 * Returns the same as `parseJson`, in a third of its time for a text in the spelling of `JSON.stringify`. A text that
 * `JSON.stringify` reproduces has no repeated name, no number that a double changes, and no confused name. Useful in a
 * process that reads one text, before the scan is compiled.
 */
export function parseSpelledJson(bytes: Uint8Array, bounds: JsonBounds): Json {
  // JSON.parse has no depth limit; this length limit bounds its memory to 50 bytes per byte.
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
 * Parses a JSON text that we wrote and stored ourselves. The profile applies, with limits for an envelope around a body.
 * As fast as `JSON.parse` for a text without backslash, half as fast with one.
 */
export function readJson(text: string): Json {
  if (!text.includes('\\')) return JSON.parse(text) as Json;
  return readSpelled(text) ?? parseJson(Buffer.from(text), storedBounds);
}

/** Returns the value of a text that `JSON.stringify` reproduces; undefined for every other text. */
function readSpelled(text: string): Json | undefined {
  // JSON.stringify would reproduce lone surrogates and U+0000; the scan decides about texts that look like them.
  if (text.includes('\\ud') || text.includes('\\u0000')) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined; // malformed or too deep: the scan reports where
  }
}

/** Compares a value with limits, conservatively: the scan decides about a value that does not fit. */
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

/** Decodes UTF-8. INVALID_JSON for other bytes. */
export function decodeJson(bytes: Uint8Array): string {
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

/** Returns the offset at which decoding and encoding first changes bytes that are not UTF-8. */
function invalidUtf8At(bytes: Uint8Array): number {
  const repaired = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === repaired[at]) at++;
  return at;
}

/** Counts the member names in a value; the scan has limited its depth. */
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
  throw new Error('expected a repeated member name, because text and value have different counts, got none');
}
