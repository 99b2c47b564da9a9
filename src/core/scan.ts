/**
 * The scan that stands before `JSON.parse`: one pass over the bytes of a JSON text that refuses, with the byte
 * offset, whatever is malformed (RFC 8259), not I-JSON (`jsontoken.ts`), too deep, too many or too long.
 * It builds nothing, keeps one byte per level, and reads each byte a bounded number of times, whatever comes.
 * UTF-8 and repeated names are left to `json.ts`. Proven by `test/core/json.test.ts`.
 */
import { GovError } from '../contract/problems.ts';
import {
  afterScalar,
  afterSpace,
  byteAt,
  closingQuote,
  malformed,
  shown,
  stringBetween,
} from './jsontoken.ts';

/** How large a JSON text may be beyond its bytes; strings are measured decoded, each scalar is a value. */
export interface JsonBounds {
  readonly depth: number;
  readonly values: number;
  readonly nameChars: number;
  readonly stringBytes: number;
}

/** Called for each member name: offset of its quote, depth of its object, whether it is the first there. */
export type VisitName = (at: number, depth: number, first: boolean) => void;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;

/** Checks a text and returns how many member names stand in it. Throws INVALID_JSON or JSON_TOO_COMPLEX. */
export function scan(bytes: Uint8Array, bounds: JsonBounds, visit?: VisitName): number {
  const ends = new Uint8Array(bounds.depth + 1); // ends[depth]: the byte that closes the container open there
  let depth = 0;
  let values = 0;
  let names = 0;
  let first = true;
  let at = 0;
  for (;;) {
    at = afterSpace(bytes, at);
    if (ends[depth] === OBJECT_END) {
      visit?.(at, depth, first);
      at = afterName(bytes, at, bounds);
      names++;
    }
    if (++values > bounds.values) tooComplex(at, `${bounds.values} values`);
    const start = byteAt(bytes, at);
    if (start === OBJECT || start === ARRAY) {
      if (depth === bounds.depth) tooComplex(at, `${bounds.depth} levels`);
      const end = start + 2; // { and }, [ and ] stand two apart in ASCII
      ends[++depth] = end;
      at = afterSpace(bytes, at + 1);
      first = true;
      if (byteAt(bytes, at) !== end) continue;
    } else {
      at = start === QUOTE ? afterString(bytes, at, bounds) : afterScalar(bytes, at);
    }
    // a value, or an empty container but for its end, is behind: close what ends here, up to a comma
    for (;;) {
      at = afterSpace(bytes, at);
      if (depth === 0) {
        if (at < bytes.length) malformed(at, 'the end of the text', shown(bytes, at));
        return names;
      }
      const next = byteAt(bytes, at);
      const end = byteAt(ends, depth);
      if (next !== end && next !== COMMA)
        malformed(at, `',' or '${String.fromCharCode(end)}'`, shown(bytes, at));
      at++;
      if (next === COMMA) break;
      depth--;
    }
    first = false;
  }
}

function tooComplex(offset: number, bound: string): never {
  const detail = `expected at most ${bound}, got more at byte ${offset}`;
  throw new GovError('JSON_TOO_COMPLEX', detail, { extensions: { offset } });
}

/** Passes a member name, its colon and the space around it. */
function afterName(bytes: Uint8Array, at: number, bounds: JsonBounds): number {
  if (byteAt(bytes, at) !== QUOTE) malformed(at, 'a member name', shown(bytes, at));
  const end = closingQuote(bytes, at + 1);
  if (end - at > bounds.nameChars && isNameTooLong(bytes, { at, end, max: bounds.nameChars })) {
    tooComplex(at, `${bounds.nameChars} characters in a member name`);
  }
  const colon = afterSpace(bytes, end + 1);
  if (byteAt(bytes, colon) !== COLON) malformed(colon, "':'", shown(bytes, colon));
  return afterSpace(bytes, colon + 1);
}

/** Passes a string that is a value. */
function afterString(bytes: Uint8Array, at: number, bounds: JsonBounds): number {
  const end = closingQuote(bytes, at + 1);
  if (end - at > bounds.stringBytes && isStringTooLong(bytes, { at, end, max: bounds.stringBytes })) {
    tooComplex(at, `${bounds.stringBytes} bytes in a string`);
  }
  return end + 1;
}

interface Span {
  readonly at: number;
  readonly end: number;
  readonly max: number;
}

/** In characters (code points). One takes at most 12 bytes of a text, as an escaped pair of surrogates. */
const isNameTooLong = (bytes: Uint8Array, { at, end, max }: Span): boolean =>
  end - at - 1 > 12 * max || [...stringBetween(bytes, at, end)].length > max;

/** In bytes of UTF-8. One takes at most 6 bytes of a text, as an escaped ASCII character. */
const isStringTooLong = (bytes: Uint8Array, { at, end, max }: Span): boolean =>
  end - at - 1 > 6 * max || Buffer.byteLength(stringBetween(bytes, at, end)) > max;
