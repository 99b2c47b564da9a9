/**
 * `parseJson` and `canonicalize` for large values, in slices, so that other requests are answered in between. Results and
 * errors are the same. An attacker controls the input.
 * Proven by `test/core/json/sliced.test.ts`, with the two functions as oracles.
 */
import { GovError } from '../../contract/problems.ts';
import type { TimeSlices } from './items.ts';
import { canonicalize, decodeJson, parseJson, refuseRepeatedName, scanJson } from './parse.ts';
import type { Json, JsonBounds, JsonObject } from './parse.ts';
import { afterSpace, byteAt, closingQuote, valueEnd } from './token.ts';

/** Bytes that are parsed at once: 1 ms. */
const pieceBytes = 64 * 1024;

const COMMA = 0x2c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

const unbounded: JsonBounds = {
  depth: Infinity,
  values: Infinity,
  nameChars: Infinity,
  stringBytes: Infinity,
};

/**
 * Parses strict JSON like `parseJson`. Cost: 1.5 times as much, and 2 µs for each member of an object above 64 KiB.
 * One slice scans the whole text: 4 ms for 4 MB.
 */
export async function parseJsonInSlices(
  bytes: Uint8Array,
  bounds: JsonBounds,
  pace: TimeSlices,
): Promise<Json> {
  await pace.next();
  scanJson(bytes, bounds);
  const text = { bytes, pace, depth: bounds.depth };
  try {
    const [value] = await valueAt(text, afterSpace(bytes, 0));
    return value;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    // a piece has other UTF-8 or a repeated name; these say where in the whole text
    await pace.next();
    decodeJson(bytes);
    await pace.next();
    refuseRepeatedName(bytes, bounds);
  }
}

/** A text that `scanJson` accepted. */
interface ScannedText {
  readonly bytes: Uint8Array;
  readonly pace: TimeSlices;
  readonly depth: number;
}

/** A value and its end. */
type ReadValue<Value> = readonly [value: Value, end: number];

async function valueAt(text: ScannedText, start: number): Promise<ReadValue<Json>> {
  const { bytes, pace } = text;
  if (pace.isOver()) await pace.next();
  const end = valueEnd(bytes, start, pieceBytes);
  const first = byteAt(bytes, start);
  if (end - start > pieceBytes && first === ARRAY) return arrayAt(text, start);
  if (end - start > pieceBytes && first === OBJECT) return objectAt(text, start);
  return [piece(text, bytes.subarray(start, end)), end];
}

const piece = ({ depth }: ScannedText, bytes: Uint8Array): Json => parseJson(bytes, { ...unbounded, depth });

/** Parses small items together, and each large one by itself. */
async function arrayAt(text: ScannedText, start: number): Promise<ReadValue<Json[]>> {
  const { bytes, pace } = text;
  const items: Json[] = [];
  let at = afterSpace(bytes, start + 1);
  let [from, to] = [at, at]; // of the small items that are not parsed yet
  const takeSmall = async (): Promise<void> => {
    if (to === from) return;
    if (pace.isOver()) await pace.next();
    const list = Buffer.concat([brackets.subarray(0, 1), bytes.subarray(from, to), brackets.subarray(1)]);
    for (const item of piece(text, list) as Json[]) items.push(item);
  };
  while (byteAt(bytes, at) !== ARRAY_END) {
    const end = valueEnd(bytes, at, pieceBytes);
    if (end - from > pieceBytes) {
      await takeSmall();
      from = at;
    }
    if (end - at > pieceBytes) {
      const [item, itemEnd] = await valueAt(text, at);
      items.push(item);
      at = afterComma(bytes, itemEnd);
      [from, to] = [at, at];
    } else {
      to = end;
      at = afterComma(bytes, end);
    }
  }
  await takeSmall();
  return [items, at + 1];
}

const brackets = Buffer.from('[]');

async function objectAt(text: ScannedText, start: number): Promise<ReadValue<JsonObject>> {
  const { bytes } = text;
  const object: JsonObject = {};
  let at = afterSpace(bytes, start + 1);
  while (byteAt(bytes, at) !== OBJECT_END) {
    const nameEnd = closingQuote(bytes, at + 1) + 1;
    const name = piece(text, bytes.subarray(at, nameEnd)) as string;
    if (Object.hasOwn(object, name)) throw new GovError('INVALID_JSON', 'expected each member name once');
    const [value, end] = await valueAt(text, afterSpace(bytes, afterSpace(bytes, nameEnd) + 1));
    // assigning `__proto__` would set a prototype
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    at = afterComma(bytes, end);
  }
  return [object, at + 1];
}

/** The start of the next item or member, or the end of the list. */
function afterComma(bytes: Uint8Array, end: number): number {
  const at = afterSpace(bytes, end);
  return byteAt(bytes, at) === COMMA ? afterSpace(bytes, at + 1) : at;
}

/** Values and characters that are spelled at once: 1 ms. */
const spelledAtOnce = { values: 2000, chars: pieceBytes };

/** Returns the JCS text of a value, as `canonicalize` does. Cost: twice as much. */
export async function canonicalInSlices(value: Json, pace: TimeSlices): Promise<string> {
  const pieces: string[] = [];
  await eachPiece(value, { pace, take: (piece) => void pieces.push(piece) });
  if (pace.isOver()) await pace.next(); // joining takes 2 ms for 4 MB
  return pieces.join('');
}

interface TextSink {
  readonly pace: TimeSlices;
  readonly take: (text: string) => void;
}

/** Calls `take` with the JCS text of a value, in pieces of about 64 KiB or of one long string. */
export async function eachPiece(value: Json, { pace, take }: TextSink): Promise<void> {
  let piece = '';
  const collect = (text: string): void => {
    piece += text;
    if (piece.length < pieceBytes) return;
    take(piece);
    piece = '';
  };
  await spell(value, { pace, take: collect });
  take(piece);
}

async function spell(value: Json, spelling: TextSink): Promise<void> {
  const { pace, take } = spelling;
  if (pace.isOver()) await pace.next();
  if (typeof value !== 'object' || value === null || isSmall(value)) return take(canonicalize(value));
  const isArray = Array.isArray(value);
  const members = isArray ? value.map((item) => ['', item] as const) : sortedMembers(value);
  take(isArray ? '[' : '{');
  for (const [at, [name, member]] of members.entries()) {
    take((at > 0 ? ',' : '') + name);
    // makes no promise for a small value
    if (pace.isOver() || !isSmall(member)) await spell(member, spelling);
    else take(canonicalize(member));
  }
  take(isArray ? ']' : '}');
}

/** The members in the order of RFC 8785, each with its name as text. */
const sortedMembers = (object: JsonObject): (readonly [name: string, member: Json])[] =>
  Object.keys(object)
    .sort()
    // `name` is a name of `object`
    .map((name) => [`${JSON.stringify(name)}:`, object[name] as Json]);

/** Whether a value has few values and characters. Reads a bounded number of either. */
function isSmall(value: Json): boolean {
  let { values, chars } = spelledAtOnce;
  const fits = (each: Json): boolean => {
    values -= 1;
    if (typeof each === 'string') chars -= each.length;
    if (values < 0 || chars < 0) return false;
    if (typeof each !== 'object' || each === null) return true;
    if (Array.isArray(each)) return each.length <= values && each.every(fits);
    for (const name in each) {
      chars -= name.length;
      if (!fits(each[name] as Json)) return false; // `name` is a name of `each`
    }
    return true;
  };
  return fits(value);
}
