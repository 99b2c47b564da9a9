/**
 * The tokens of a JSON text as bytes (RFC 8259 §3, §6, §7). Each function takes the start of a token and returns its end,
 * or throws INVALID_JSON with the byte offset. Beyond the grammar they refuse what I-JSON refuses: lone surrogates
 * (RFC 7493 §2.1), U+0000 (contract A6), and numbers that a double changes (§2.2). Attacker controlled; every function is
 * linear in the length of the token.
 * Proven by `test/core/json/token.test.ts` and `test/core/json/parse.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

/** `json`: the grammar alone (RFC 8259), for a text whose parts are judged later. */
export type Profile = 'i-json' | 'json';

const QUOTE = 0x22;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** The byte at an offset; 0 after the end, which no token of JSON contains. */
export const byteAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0;

export function malformed(offset: number, expected: string, got: string): never {
  const detail = `expected ${expected}, got ${got} at byte ${offset}`;
  throw new GovError('INVALID_JSON', detail, { extensions: { offset } });
}

/** Refuses the byte at an offset. A function of its own, so that the loops that call it stay small. */
export function unexpected(bytes: Uint8Array, at: number, expected: string): never {
  const byte = bytes[at];
  if (byte === undefined) malformed(at, expected, 'the end of the text');
  const isVisible = byte > 0x20 && byte < 0x7f;
  malformed(
    at,
    expected,
    isVisible ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16).padStart(2, '0')}`,
  );
}

/** Returns a text of the input for a message: cut to the echo limit, control characters escaped. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length > limits.echoChars ? `${text.slice(0, limits.echoChars - 1)}…` : text);

// The two loops below read only within the text: a single read past its end would slow them by a third.

export function afterSpace(bytes: Uint8Array, from: number): number {
  const length = bytes.length;
  let at = from;
  while (at < length) {
    const byte = bytes[at] ?? 0;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
    at++;
  }
  return at;
}

/** Returns the offset of the first byte from `from` on that is not a plain character of a string. */
export function plainEnd(bytes: Uint8Array, from: number): number {
  const length = bytes.length;
  let at = from;
  while (at < length) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return at;
    at++;
  }
  return at;
}

/** Returns the offset of the quote that closes the string whose content begins or continues at `from`. */
export function closingQuote(bytes: Uint8Array, from: number, profile: Profile = 'i-json'): number {
  let at = from;
  for (;;) {
    at = plainEnd(bytes, at);
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) return at;
    if (byte !== BACKSLASH) unexpected(bytes, at, `'"' or an escape`);
    at = afterEscape(bytes, at, profile);
  }
}

/** 1 for the bytes that may follow a backslash, except `u`. */
const isSimpleEscape = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > 0 && '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

function afterEscape(bytes: Uint8Array, at: number, profile: Profile): number {
  const kind = byteAt(bytes, at + 1);
  if (isSimpleEscape[kind] === 1) return at + 2;
  if (kind !== LETTER_U) unexpected(bytes, at + 1, 'one of "\\/bfnrtu');
  const unit = hexUnit(bytes, at + 2);
  if (profile === 'json') return at + 6;
  if (unit === 0) malformed(at, 'text without U+0000', 'an escaped one');
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const escapeFollows = byteAt(bytes, at + 6) === BACKSLASH && byteAt(bytes, at + 7) === LETTER_U;
  const low = unit < 0xdc00 && escapeFollows ? hexUnit(bytes, at + 8) : 0;
  if (low < 0xdc00 || low > 0xdfff) malformed(at, 'surrogates in pairs', 'a lone one');
  return at + 12;
}

/** Returns the UTF-16 code unit of four hex digits. */
function hexUnit(bytes: Uint8Array, from: number): number {
  let unit = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = byteAt(bytes, at);
    const lower = byte | 0x20;
    if (byte >= ZERO && byte <= NINE) unit = unit * 16 + byte - ZERO;
    else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + lower - 0x57;
    else unexpected(bytes, at, 'four hex digits');
  }
  return unit;
}

/** Returns the text of the bytes [start, end). */
export const textBetween = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();

/** Returns the value of the string with quotes at `start` and `end`, which `closingQuote` has checked. */
export const stringBetween = (bytes: Uint8Array, start: number, end: number): string =>
  JSON.parse(textBetween(bytes, start, end + 1)) as string; // the text of one JSON string

/** Returns the end of `true`, `false`, `null` or a number. */
export function afterScalar(bytes: Uint8Array, at: number, profile: Profile = 'i-json'): number {
  const first = byteAt(bytes, at);
  if (first === 0x74) return afterWord(bytes, at, 'true');
  if (first === 0x66) return afterWord(bytes, at, 'false');
  if (first === 0x6e) return afterWord(bytes, at, 'null');
  return afterNumber(bytes, at, profile);
}

function afterWord(bytes: Uint8Array, start: number, word: string): number {
  for (let at = 0; at < word.length; at++) {
    if (byteAt(bytes, start + at) !== word.charCodeAt(at)) unexpected(bytes, start + at, word);
  }
  return start + word.length;
}

/** Without an exponent, 15 characters have at most 15 digits, which a double holds unchanged. */
const safeChars = 15;

function afterNumber(bytes: Uint8Array, start: number, profile: Profile): number {
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
  if (profile === 'i-json' && (hasExponent || at - start > safeChars)) assertExact(bytes, start, at);
  return at;
}

function afterDigits(bytes: Uint8Array, start: number, expected: string): number {
  let at = start;
  let byte = byteAt(bytes, at);
  while (byte >= ZERO && byte <= NINE) byte = byteAt(bytes, ++at);
  if (at === start) unexpected(bytes, at, expected);
  return at;
}

/**
 * Refuses a number that JCS writes with other digits, and integers beyond 2^53 − 1. From 10^21 on JCS writes an exponent,
 * so such a literal with an exponent is a double, not an integer. The JCS form of each accepted number is accepted too.
 */
function assertExact(bytes: Uint8Array, start: number, end: number): void {
  const literal = textBetween(bytes, start, end);
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

/** Returns one spelling for each decimal: sign, digits without outer zeros, power of ten. */
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

/**
 * Returns the end of the value at an offset, if the value is JSON; in a list or object of more than `most` bytes, an offset
 * after as many. Looks at strings and brackets alone.
 */
export function valueEnd(bytes: Uint8Array, start: number, most = Infinity): number {
  let depth = 0;
  let at = start;
  do {
    const byte = byteAt(bytes, at);
    if (byte === QUOTE) at = closingQuote(bytes, at + 1, 'json') + 1;
    else {
      if (byte === OBJECT || byte === ARRAY) depth++;
      else if (byte === OBJECT_END || byte === ARRAY_END) depth--;
      else if (depth === 0) return afterScalar(bytes, at, 'json');
      if (++at > bytes.length) unexpected(bytes, bytes.length, 'the end of a list or an object');
    }
  } while (depth > 0 && at - start <= most);
  return at;
}
