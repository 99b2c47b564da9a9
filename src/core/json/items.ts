/**
 * Reads an object whose list is judged item by item (contract P2): an item outside the profile of `parse.ts` becomes a
 * `RefusedItem`, and the others are values. The text must be JSON (RFC 8259), and everything outside the list must be in
 * the profile. Input is attacker controlled.
 * Proven by `test/core/json/items.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../hash.ts';
import { decodeJson, parseJson, type Json, type JsonBounds } from './parse.ts';
import { scan } from './scan.ts';
import { afterScalar, afterSpace, byteAt, closingQuote, malformed, quoted, stringBetween } from './token.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** Marks a refused item. No text can have such a member. */
const refused = Symbol('refused');

/** An item outside the profile, in its place in the list. It is JSON itself, so that a body can be fingerprinted. */
export interface RefusedItem {
  readonly [refused]: true;
  /** `unsafe`: readers could read it differently. The others: beyond a limit. */
  readonly kind: 'unsafe' | 'too_complex' | 'too_large';
  readonly detail: string;
  /** SHA-256 of its bytes, in hex. */
  readonly digest: string;
}

export const isRefused = (item: unknown): item is RefusedItem =>
  typeof item === 'object' && item !== null && refused in item;

/** Lets other work run in between; `service/call/slices.ts` implements it. */
export interface Pace {
  isOver(): boolean;
  next(): Promise<void>;
}

/**
 * Returns the object, in whose list `member` each item is a value or a `RefusedItem`. Throws INVALID_JSON for a text that is
 * not JSON and for an envelope outside the profile; JSON_TOO_COMPLEX where the items have too many values together.
 * `bounds` hold for each item and for the envelope without the items. Cost: about twice `parseJson`, in slices of `pace`.
 */
export async function parseItems(
  bytes: Uint8Array,
  { bounds, member, pace }: { readonly bounds: JsonBounds; readonly member: string; readonly pace: Pace },
): Promise<Json> {
  await pace.next();
  scan(bytes, {
    depth: bytes.length,
    values: Infinity,
    nameChars: Infinity,
    stringBytes: Infinity,
    profile: 'json',
  });
  await pace.next();
  decodeJson(bytes);
  const list = listAt(bytes, member);
  if (list === null) return parseJson(bytes, bounds);
  const { spans, start, end } = list;
  const rest = Buffer.concat([bytes.subarray(0, start), Buffer.from('[]'), bytes.subarray(end)]);
  const envelope = parseJson(rest, bounds) as Record<string, Json>;
  let values = countValues(envelope);
  const items: (Json | RefusedItem)[] = [];
  for (const [from, to] of spans) {
    if (pace.isOver()) await pace.next();
    const item = itemOf(bytes.subarray(from, to), bounds);
    values += isRefused(item) ? 1 : countValues(item);
    items.push(item);
  }
  if (values > bounds.values) {
    const detail = `expected at most ${bounds.values} values in all, got ${values}`;
    throw new GovError('JSON_TOO_COMPLEX', detail);
  }
  // a refused item has the form of a value
  return { ...envelope, [member]: items as unknown as Json };
}

function itemOf(bytes: Uint8Array, bounds: JsonBounds): Json | RefusedItem {
  try {
    return parseJson(bytes, bounds);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const digest = sha256(bytes).toString('hex');
    return { [refused]: true, kind: kindOf(error, bytes, bounds), detail: error.message, digest };
  }
}

function kindOf({ code }: GovError, bytes: Uint8Array, bounds: JsonBounds): RefusedItem['kind'] {
  if (code === 'INVALID_JSON') return 'unsafe';
  try {
    scan(bytes, { ...bounds, stringBytes: Infinity });
    return 'too_large';
  } catch {
    return 'too_complex';
  }
}

interface List {
  /** The bytes of each item, from and to. */
  readonly spans: readonly (readonly [from: number, to: number])[];
  /** The bytes of the list with its brackets. */
  readonly start: number;
  readonly end: number;
}

/** The list that an object has as `member`, in a text that is JSON. Null where it has none. */
function listAt(bytes: Uint8Array, member: string): List | null {
  let at = afterSpace(bytes, 0);
  if (byteAt(bytes, at) !== OBJECT) return null;
  at = afterSpace(bytes, at + 1);
  let list: List | null = null;
  while (byteAt(bytes, at) !== OBJECT_END) {
    if (byteAt(bytes, at) === COMMA) at = afterSpace(bytes, at + 1);
    const nameEnd = closingQuote(bytes, at + 1);
    const isList = stringBetween(bytes, at, nameEnd) === member;
    if (isList && list !== null) malformed(at, 'each member name once', `a second ${quoted(member)}`);
    at = afterSpace(bytes, afterSpace(bytes, nameEnd + 1) + 1);
    if (isList && byteAt(bytes, at) === ARRAY) {
      list = itemsAt(bytes, at);
      at = list.end;
    } else at = valueEnd(bytes, at);
    at = afterSpace(bytes, at);
  }
  return list;
}

function itemsAt(bytes: Uint8Array, start: number): List {
  const spans: (readonly [number, number])[] = [];
  let at = afterSpace(bytes, start + 1);
  while (byteAt(bytes, at) !== ARRAY_END) {
    if (byteAt(bytes, at) === COMMA) at = afterSpace(bytes, at + 1);
    const end = valueEnd(bytes, at);
    spans.push([at, end]);
    at = afterSpace(bytes, end);
  }
  return { spans, start, end: at + 1 };
}

/** The end of the value at an offset, in a text that is JSON. */
function valueEnd(bytes: Uint8Array, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) at = closingQuote(bytes, at + 1, 'json') + 1;
    else {
      if (byte === OBJECT || byte === ARRAY) depth++;
      else if (byte === OBJECT_END || byte === ARRAY_END) depth--;
      else if (depth === 0) return afterScalar(bytes, at, 'json');
      at++;
    }
  } while (depth > 0);
  return at;
}

/** Counts as `scan` does: each container and each scalar. */
function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) count += countValues(member);
  return count;
}
