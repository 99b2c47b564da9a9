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
import type { JsonBounds, NameCount } from './scan.ts';

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
  const names = scanJson(bytes, bounds);
  const text = decodeJson(bytes);
  const value = names.escaped === 0 ? (JSON.parse(text) as Json) : buildJson(bytes);
  if (countNames(value) !== names.all) refuseRepeatedName(bytes, bounds);
  return value;
}

/** The checks of `parseJson` before it builds a value: all but UTF-8 and repeated names. */
export function scanJson(bytes: Uint8Array, bounds: JsonBounds): NameCount {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    malformed(0, 'a JSON value', 'a byte order mark');
  }
  return scan(bytes, bounds);
}

/**
 * Parses a JSON text that we wrote and stored ourselves. The profile applies, with limits for an envelope around a body.
 * As fast as `JSON.parse` for a text without backslash, half as fast with one: only escapes can confuse a name.
 */
export function readJson(text: string): Json {
  if (!text.includes('\\')) return JSON.parse(text) as Json;
  return parseJson(Buffer.from(text), storedBounds);
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

/** Counts as `scan` does: each container and each scalar. */
export function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) count += countValues(member);
  return count;
}

/** INVALID_JSON with the offset of the second of two equal names in an object. */
export function refuseRepeatedName(bytes: Uint8Array, bounds: JsonBounds): never {
  const seen: Set<string>[] = [];
  scan(bytes, bounds, (at, depth, first) => {
    const names = (first ? undefined : seen[depth]) ?? new Set<string>();
    const name = stringBetween(bytes, at, closingQuote(bytes, at + 1));
    if (names.has(name)) malformed(at, 'each member name once', `a second ${quoted(name)}`);
    seen[depth] = names.add(name);
  });
  throw new Error('expected a repeated member name, because text and value have different counts, got none');
}
