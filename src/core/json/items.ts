/**
 * Reads an object whose list is judged item by item (contract P2): an item outside the profile of `parse.ts` becomes a
 * `RefusedItem`, and the others are values. The text must be JSON (RFC 8259), and everything outside the list must be in
 * the profile. Large lists are read in slices, so that other requests are answered in between. Input is attacker controlled.
 * Proven by `test/core/json/items.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { countValues, decodeJson, parseJson, type Json, type JsonBounds } from './parse.ts';
import { scan } from './scan.ts';
import {
  afterSpace,
  byteAt,
  closingQuote,
  malformed,
  quoted,
  stringBetween,
  unexpected,
  valueEnd,
} from './token.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
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
export interface TimeSlices {
  isOver(): boolean;
  next(): Promise<void>;
}

interface ItemsOptions {
  readonly bounds: JsonBounds;
  /** The member that has the list. */
  readonly member: string;
  readonly pace: TimeSlices;
}

/**
 * Returns the object, in whose list `member` each item is a value or a `RefusedItem`. Throws INVALID_JSON for a text that is
 * not JSON and for an envelope outside the profile, JSON_TOO_COMPLEX where the items have too many values together, and
 * PAYLOAD_TOO_LARGE for a large envelope. `bounds` hold for each item and for the envelope without the items.
 * Cost: 1.5 times `parseJson`, in slices of `pace`. A slice reads one item at least, so 16 MiB in one item take 60 ms.
 */
export async function parseItems(bytes: Uint8Array, options: ItemsOptions): Promise<Json> {
  const { bounds, member, pace } = options;
  await pace.next();
  const list = await listAt(bytes, options);
  if (list === null) return parseJson(bytes, bounds);
  const { items, start, end, objectEnd } = list;
  const restBytes = objectEnd - (end - start);
  if (restBytes > limits.bodyBytes) {
    const detail = `expected at most ${limits.bodyBytes} bytes besides ${quoted(member)}, got ${restBytes}`;
    throw new GovError('PAYLOAD_TOO_LARGE', detail);
  }
  const rest = Buffer.concat([bytes.subarray(0, start), Buffer.from('[]'), bytes.subarray(end, objectEnd)]);
  const envelope = parseJson(rest, bounds) as Record<string, Json>;
  refuseBeyond(bounds, list.values + countValues(envelope));
  // a refused item has the form of a value
  return { ...envelope, [member]: items as unknown as Json };
}

function refuseBeyond({ values: most }: JsonBounds, values: number): void {
  if (values <= most) return;
  throw new GovError('JSON_TOO_COMPLEX', `expected at most ${most} values in all, got more`);
}

function itemOf(bytes: Uint8Array, [from, to]: Span, bounds: JsonBounds): Json | RefusedItem {
  const item = bytes.subarray(from, to);
  try {
    // an event of this size is refused in a request of its own, too
    if (item.length > limits.bodyBytes) {
      throw new GovError(
        'JSON_TOO_COMPLEX',
        `expected at most ${limits.bodyBytes} bytes, got ${item.length}`,
      );
    }
    return parseJson(item, bounds);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    requireJson(bytes, [from, to]);
    const digest = hash('sha256', item, 'hex');
    return { [refused]: true, kind: kindOf(error, item, bounds), detail: error.message, digest };
  }
}

/** INVALID_JSON for bytes that are not JSON in any profile. */
function requireJson(bytes: Uint8Array, [from, to]: Span): void {
  const text = bytes.subarray(0, to);
  scan(text, { ...unbounded, depth: to - from, profile: 'json' }, undefined, from);
  try {
    decodeJson(text.subarray(from));
  } catch {
    decodeJson(text); // says the offset in the whole text
  }
}

const unbounded = { values: Infinity, nameChars: Infinity, stringBytes: Infinity };

function kindOf({ code }: GovError, bytes: Uint8Array, bounds: JsonBounds): RefusedItem['kind'] {
  if (code === 'INVALID_JSON') return 'unsafe';
  try {
    scan(bytes, { ...bounds, stringBytes: Infinity });
    return 'too_large';
  } catch {
    return 'too_complex';
  }
}

type Span = readonly [from: number, to: number];

interface List {
  readonly items: readonly (Json | RefusedItem)[];
  /** How many values they have. */
  readonly values: number;
  /** The bytes of the list with its brackets. */
  readonly start: number;
  readonly end: number;
}

/**
 * The list that an object has as `member`. Null where it has none. Checks the list alone; the caller parses the rest.
 */
async function listAt(
  bytes: Uint8Array,
  options: ItemsOptions,
): Promise<(List & { readonly objectEnd: number }) | null> {
  const { member } = options;
  let at = afterSpace(bytes, 0);
  if (byteAt(bytes, at) !== OBJECT) return null;
  at = afterSpace(bytes, at + 1);
  let list: List | null = null;
  for (let isFirst = true; byteAt(bytes, at) !== OBJECT_END; isFirst = false) {
    if (!isFirst) at = afterComma(bytes, at, '}');
    if (byteAt(bytes, at) !== QUOTE) unexpected(bytes, at, 'a member name');
    const nameEnd = closingQuote(bytes, at + 1);
    const isList = stringBetween(bytes, at, nameEnd) === member;
    if (isList && list !== null) malformed(at, 'each member name once', `a second ${quoted(member)}`);
    at = afterSpace(bytes, nameEnd + 1);
    if (byteAt(bytes, at) !== COLON) unexpected(bytes, at, "':'");
    at = afterSpace(bytes, at + 1);
    if (isList && byteAt(bytes, at) === ARRAY) {
      list = await itemsAt(bytes, at, options);
      at = list.end;
    } else at = valueEnd(bytes, at);
    at = afterSpace(bytes, at);
  }
  const objectEnd = at + 1;
  at = afterSpace(bytes, objectEnd);
  if (at < bytes.length) unexpected(bytes, at, 'the end of the text');
  return list === null ? null : { ...list, objectEnd };
}

function afterComma(bytes: Uint8Array, at: number, end: string): number {
  if (byteAt(bytes, at) !== COMMA) unexpected(bytes, at, `',' or '${end}'`);
  return afterSpace(bytes, at + 1);
}

/** Throws JSON_TOO_COMPLEX at the first item too many. */
async function itemsAt(bytes: Uint8Array, start: number, { bounds, pace }: ItemsOptions): Promise<List> {
  const items: (Json | RefusedItem)[] = [];
  let values = 0;
  let at = afterSpace(bytes, start + 1);
  for (let isFirst = true; byteAt(bytes, at) !== ARRAY_END; isFirst = false) {
    if (!isFirst) at = afterComma(bytes, at, ']');
    if (pace.isOver()) await pace.next();
    const end = valueEnd(bytes, at);
    const item = itemOf(bytes, [at, end], bounds);
    values += isRefused(item) ? 1 : countValues(item);
    refuseBeyond(bounds, values);
    items.push(item);
    at = afterSpace(bytes, end);
  }
  return { items, values, start, end: at + 1 };
}
