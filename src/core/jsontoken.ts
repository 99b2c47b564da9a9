/**
 * The tokens of a JSON text as bytes (RFC 8259 §3, §6, §7): each function is given where a token begins and
 * returns where it ends, or throws INVALID_JSON with the byte offset. Beyond the grammar they refuse what
 * I-JSON refuses: lone surrogates (RFC 7493 §2.1), U+0000 (contract A6), and numbers that a double would
 * change (§2.2). All input is an attacker's; every function is linear in the token's length.
 * Proven by `test/core/json.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** The byte at an offset; past the end 0, with which no token of JSON begins or goes on. */
export const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;

export function malformed(offset: number, expected: string, got: string): never {
  const detail = `expected ${expected}, got ${got} at byte ${offset}`;
  throw new GovError('INVALID_JSON', detail, { extensions: { offset } });
}

/** How a message shows the byte at an offset. */
export function shown(bytes: Uint8Array, at: number): string {
  const byte = bytes[at];
  if (byte === undefined) return 'the end of the text';
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/** How a message shows a text of the input: cut to the length that may be echoed, control characters escaped. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > limits.echoChars ? `${text.slice(0, limits.echoChars - 1)}…` : text);

export function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  let byte = byteAt(bytes, at);
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = byteAt(bytes, ++at);
  return at;
}

/** A byte class as a table: 1 for the bytes that belong to it. */
const table = (belongs: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => (belongs(byte) ? 1 : 0));

/** Bytes that stand for themselves in a string, those of UTF-8 sequences included. */
const isPlain = table((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);
const isSimpleEscape = table((byte) => byte !== 0 && '"\\/bfnrt'.includes(String.fromCharCode(byte)));

/** Offset of the quote that closes the string whose content begins at `from`. */
export function closingQuote(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    while (isPlain[byteAt(bytes, at)] === 1) at++;
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) return at;
    if (byte !== BACKSLASH) malformed(at, `'"' or an escape`, shown(bytes, at));
    at = isSimpleEscape[byteAt(bytes, at + 1)] === 1 ? at + 2 : afterUnicodeEscape(bytes, at);
  }
}

function afterUnicodeEscape(bytes: Uint8Array, at: number): number {
  if (byteAt(bytes, at + 1) !== LETTER_U) malformed(at + 1, 'one of "\\/bfnrtu', shown(bytes, at + 1));
  const unit = hexUnit(bytes, at + 2);
  if (unit === 0) malformed(at, 'text without U+0000', 'an escaped one');
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const escapeFollows = byteAt(bytes, at + 6) === BACKSLASH && byteAt(bytes, at + 7) === LETTER_U;
  const low = unit < 0xdc00 && escapeFollows ? hexUnit(bytes, at + 8) : 0;
  if (low < 0xdc00 || low > 0xdfff) malformed(at, 'surrogates in pairs', 'a lone one');
  return at + 12;
}

/** The UTF-16 code unit of four hex digits. */
function hexUnit(bytes: Uint8Array, from: number): number {
  let unit = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = byteAt(bytes, at);
    const lower = byte | 0x20;
    if (byte >= ZERO && byte <= NINE) unit = unit * 16 + byte - ZERO;
    else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57;
    else malformed(at, 'four hex digits', shown(bytes, at));
  }
  return unit;
}

/** The text of the string whose quotes are at `start` and `end`, which `closingQuote` has passed. */
export function stringBetween(bytes: Uint8Array, start: number, end: number): string {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset + start, end + 1 - start).toString();
  return JSON.parse(raw) as string; // the text of one JSON string
}

/** Passes `true`, `false`, `null` or a number. */
export function afterScalar(bytes: Uint8Array, at: number): number {
  const first = byteAt(bytes, at);
  if (first === 0x74) return afterWord(bytes, at, 'true');
  if (first === 0x66) return afterWord(bytes, at, 'false');
  if (first === 0x6e) return afterWord(bytes, at, 'null');
  return afterNumber(bytes, at);
}

function afterWord(bytes: Uint8Array, start: number, word: string): number {
  for (let at = 0; at < word.length; at++) {
    if (byteAt(bytes, start + at) !== word.charCodeAt(at))
      malformed(start + at, word, shown(bytes, start + at));
  }
  return start + word.length;
}

/** Without an exponent, 15 characters hold at most 15 digits, and those survive a double unchanged. */
const safeChars = 15;

function afterNumber(bytes: Uint8Array, start: number): number {
  let at = byteAt(bytes, start) === MINUS ? start + 1 : start;
  const isSigned = at > start;
  if (byteAt(bytes, at) === ZERO) at++;
  else at = afterDigits(bytes, at, isSigned ? 'a digit' : 'a JSON value');
  if (byteAt(bytes, at) === DOT) at = afterDigits(bytes, at + 1, 'a digit');
  const hasExponent = (byteAt(bytes, at) | 0x20) === 0x65;
  if (hasExponent) {
    const sign = byteAt(bytes, at + 1);
    at = afterDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1, 'a digit');
  }
  if (hasExponent || at - start > safeChars) assertExact(bytes, start, at);
  return at;
}

function afterDigits(bytes: Uint8Array, start: number, expected: string): number {
  let at = start;
  let byte = byteAt(bytes, at);
  while (byte >= ZERO && byte <= NINE) byte = byteAt(bytes, ++at);
  if (at === start) malformed(at, expected, shown(bytes, at));
  return at;
}

/**
 * Refuses a number that is not, digit for digit, the number that JCS writes for it, and integers beyond
 * 2^53 − 1. From 10^21 on JCS writes an exponent, so there a literal with an exponent is a double, not an
 * integer. Whatever is accepted, its JCS form is accepted too.
 */
function assertExact(bytes: Uint8Array, start: number, end: number): void {
  const literal = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
  const value = Number(literal);
  const magnitude = Math.abs(value);
  if (magnitude === Infinity) malformed(start, 'a number within the range of a double', quoted(literal));
  if (magnitude > Number.MAX_SAFE_INTEGER && !(magnitude >= 1e21 && /[eE]/.test(literal))) {
    malformed(start, 'an integer of at most 2^53-1 (write larger ones as strings)', quoted(literal));
  }
  const canonical = String(value);
  if (literal !== canonical && decimal(literal) !== decimal(canonical)) {
    malformed(start, `a number that a double holds unchanged, such as ${canonical}`, quoted(literal));
  }
}

/** A decimal in one spelling: sign, digits without outer zeros, power of ten. */
function decimal(literal: string): string {
  const [mantissa = '', power = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return '0';
  const sign = mantissa.startsWith('-') ? '-' : '';
  return `${sign}${digits.slice(start, end)}e${Number(power) - fraction.length + digits.length - end}`;
}
