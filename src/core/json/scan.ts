/**
 * The scan before `JSON.parse`: one pass over the bytes of a JSON text that refuses, with the byte offset, a text that is
 * malformed (RFC 8259), not I-JSON (`token.ts`), too deep, too large or too long. It builds nothing, stores one byte per
 * level, and reads each byte a bounded number of times. `parse.ts` checks UTF-8 and repeated names.
 * Proven by `test/core/json/scan.test.ts` and `test/core/json/parse.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  afterScalar,
  afterSpace,
  byteAt,
  closingQuote,
  plainEnd,
  stringBetween,
  unexpected,
  type Profile,
} from './token.ts';

/** Limits of a JSON text besides its bytes; strings are measured decoded, and each scalar counts as a value. */
export interface JsonBounds {
  readonly depth: number;
  readonly values: number;
  readonly nameChars: number;
  readonly stringBytes: number;
  /** Default `i-json`. */
  readonly profile?: Profile;
}

/** Called for each member name: offset of its quote, depth of its object, whether it is the first member. */
export type VisitName = (at: number, depth: number, first: boolean) => void;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;

/** The number of member names of a text, and of those with an escape. */
export interface NameCount {
  all: number;
  escaped: number;
}

/**
 * Checks the text from an offset on and counts its member names. Throws INVALID_JSON or JSON_TOO_COMPLEX, with the offset
 * in `bytes`.
 */
export function scan(bytes: Uint8Array, bounds: JsonBounds, visit?: VisitName, from = 0): NameCount {
  const names: NameCount = { all: 0, escaped: 0 };
  const { depth: maxDepth, values: maxValues, stringBytes, profile = 'i-json' } = bounds;
  const naming = { names, maxChars: bounds.nameChars, profile };
  const ends = new Uint8Array(maxDepth + 1); // ends[depth]: the byte that closes the container open there
  let end = 0; // ends[depth]
  let depth = 0;
  let values = 0;
  let first = true;
  let at = from;
  for (;;) {
    at = afterSpace(bytes, at);
    if (end === OBJECT_END) {
      visit?.(at, depth, first);
      at = afterName(bytes, at, naming);
    }
    if (++values > maxValues) tooComplex(at, maxValues, 'values');
    const start = byteAt(bytes, at);
    if (start === QUOTE) {
      at = afterString(bytes, at, stringBytes, profile);
    } else if (start === OBJECT || start === ARRAY) {
      if (depth === maxDepth) tooComplex(at, maxDepth, 'levels');
      end = start + 2; // the codes of { and }, [ and ] differ by two in ASCII
      ends[++depth] = end;
      at = afterSpace(bytes, at + 1);
      first = true;
      if (byteAt(bytes, at) !== end) continue;
    } else {
      at = afterScalar(bytes, at, profile);
    }
    // After a value or an empty container: close the containers that end here, up to a comma.
    for (;;) {
      at = afterSpace(bytes, at);
      if (depth === 0) {
        if (at < bytes.length) unexpected(bytes, at, 'the end of the text');
        return names;
      }
      const next = byteAt(bytes, at);
      if (next !== COMMA && next !== end) unexpected(bytes, at, `',' or '${String.fromCharCode(end)}'`);
      at++;
      if (next === COMMA) break;
      end = ends[--depth] ?? 0;
    }
    first = false;
  }
}

function tooComplex(offset: number, max: number, what: string): never {
  const detail = `expected at most ${max} ${what}, got more at byte ${offset}`;
  throw new GovError('JSON_TOO_COMPLEX', detail, { extensions: { offset } });
}

interface NameRules {
  readonly names: NameCount;
  readonly maxChars: number;
  readonly profile: Profile;
}

/** Skips and counts a member name, its colon and the space after it. */
function afterName(bytes: Uint8Array, at: number, { names, maxChars, profile }: NameRules): number {
  if (byteAt(bytes, at) !== QUOTE) unexpected(bytes, at, 'a member name');
  let end = plainEnd(bytes, at + 1);
  if (byteAt(bytes, end) !== QUOTE) {
    end = closingQuote(bytes, end, profile);
    names.escaped++;
  }
  names.all++;
  if (end - at - 1 > maxChars && charsBetween(bytes, at, end) > maxChars) {
    tooComplex(at, maxChars, 'characters in a member name');
  }
  const colon = afterSpace(bytes, end + 1);
  if (byteAt(bytes, colon) !== COLON) unexpected(bytes, colon, "':'");
  return afterSpace(bytes, colon + 1);
}

/** Skips a string value. */
function afterString(bytes: Uint8Array, at: number, maxBytes: number, profile: Profile): number {
  const end = closingQuote(bytes, at + 1, profile);
  if (end - at - 1 > maxBytes && Buffer.byteLength(stringBetween(bytes, at, end)) > maxBytes) {
    tooComplex(at, maxBytes, 'bytes in a string');
  }
  return end + 1;
}

/** Counts the characters (code points) of a string. */
function charsBetween(bytes: Uint8Array, start: number, end: number): number {
  const text = stringBetween(bytes, start, end);
  let chars = 0;
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) chars++;
  return chars;
}
