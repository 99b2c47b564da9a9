/**
 * The tokens of the text syntax of conditions (grammar: `text.ts`). Strings have the escapes of JSON (RFC 8259 §7) and
 * `\'`; numbers are JSON numbers, and refused if a double would change them (RFC 7493 §2.2). What the eye does not see
 * (`visible.ts`) is refused even in comments, so that the visible text is the enforced text (CVE-2021-42574). The source
 * is attacker controlled. Cost: linear in its length.
 * Proven by `test/core/policies/language/text.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { parseJson } from '../../json/parse.ts';
import { quoted } from '../../json/token.ts';
import { escaped, firstHidden, visibleJson } from '../../visible.ts';

/** `at` and `end`: offsets in UTF-16 units; `text`: the source between them. */
export type Token = { readonly at: number; readonly end: number; readonly text: string } & (
  | { readonly kind: 'name' | 'symbol' | 'end' }
  /** An operator in back quotes, such as `` `<=` ``: its function form. */
  | { readonly kind: 'operator'; readonly value: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number }
);

/** Returns the tokens of a text; the last has kind `end`. Throws VALIDATION_ERROR like `refuse`. */
export function tokenize(source: string): Token[] {
  assertReadable(source);
  const tokens: Token[] = [];
  for (let at = afterSpace(source, 0); at < source.length;) {
    const token = tokenAt(source, at);
    tokens.push(token);
    at = afterSpace(source, token.end);
  }
  return [...tokens, { kind: 'end', at: source.length, end: source.length, text: '' }];
}

/** Throws VALIDATION_ERROR with the line and column (in characters, from 1) of an offset. */
export function refuse(source: string, at: number, expected: string, got: string): never {
  const lines = source.slice(0, at).split(/\r\n|\r|\n/);
  const line = lines.length;
  const column = [...(lines.at(-1) ?? '')].length + 1;
  const detail = `${line}:${column}: expected ${expected}, got ${got}`;
  throw new GovError('VALIDATION_ERROR', detail, { extensions: { line, column } });
}

/** Returns a token for an error message. */
export const shown = (token: Token): string =>
  token.kind === 'end' ? 'the end of the text' : quoted(token.text);

/** Spells a text as a JSON string for people, in which everything that the eye does not see is an escape. */
export const spelled = (text: string): string => (plain.test(text) ? `"${text}"` : visibleJson(text));

/** ASCII that JSON writes without escapes: nearly every text, at a tenth of the cost. */
const plain = /^[ !#-[\]-~]*$/;

/** Escapes can make a text three times as long as the canonical form of its tree; comments add more. */
const maxBytes = 4 * limits.conditionBytes;

function assertReadable(source: string): void {
  const bytes = Buffer.byteLength(source);
  if (bytes > maxBytes) refuse(source, 0, `at most ${maxBytes} bytes`, `${bytes}`);
  assertVisible(source);
}

/** Throws VALIDATION_ERROR like `refuse` at a character that the eye does not see (`visible.ts`), with its escape. */
export function assertVisible(source: string): void {
  const at = firstHidden(source);
  if (at === -1) return;
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  refuse(source, at, 'visible characters (others as escapes)', escaped(character));
}

const space = /(?:[ \t\r\n]+|\/\/[^\r\n]*)*/y;

function afterSpace(source: string, at: number): number {
  space.lastIndex = at;
  return at + (space.exec(source)?.[0].length ?? 0);
}

const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const operator = /`([^`\s]*)`/y;
const symbol = /===|!==|==|!=|<=|>=|&&|\|\||!!|[!<>+\-*/%?:()[\],.$@]/y;

function tokenAt(source: string, at: number): Token {
  const first = source.charAt(at);
  if (first === '"' || first === "'") return stringAt(source, at, first);
  const word = match(name, source, at);
  if (word !== undefined) return { kind: 'name', at, end: at + word.length, text: word };
  const digits = match(number, source, at);
  if (digits !== undefined) return numberAt(source, at, digits);
  const quotedName = match(operator, source, at);
  if (quotedName !== undefined) {
    return {
      kind: 'operator',
      at,
      end: at + quotedName.length,
      text: quotedName,
      value: quotedName.slice(1, -1),
    };
  }
  const sign = match(symbol, source, at);
  if (sign !== undefined) return { kind: 'symbol', at, end: at + sign.length, text: sign };
  return refuse(
    source,
    at,
    source.charAt(at) === '=' ? '== to compare' : 'a path, a value or an operator',
    quoted(String.fromCodePoint(source.codePointAt(at) ?? 0)),
  );
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function numberAt(source: string, at: number, text: string): Token {
  const value = Number(text);
  const token: Token = { kind: 'number', at, end: at + text.length, text, value };
  try {
    parseJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    const expected = 'a number that a double holds unchanged, integers up to 2^53-1';
    refuse(source, at, expected, shown(token));
  }
  return token;
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function stringAt(source: string, at: number, quote: string): Token {
  let value = '';
  let next = at + 1;
  for (;;) {
    const character = source.charAt(next);
    if (character === quote) break;
    if (character === '') refuse(source, next, `the ${quote} that closes the string`, 'the end of the text');
    if (character < ' ') refuse(source, next, `the ${quote} that closes the string`, 'a control character');
    const part = character === '\\' ? escapeAt(source, next) : character;
    value += part;
    next += character !== '\\' ? 1 : source.charAt(next + 1) === 'u' ? 6 : 2;
  }
  if (!value.isWellFormed()) refuse(source, at, 'surrogates in pairs', 'a lone one');
  return { kind: 'string', at, end: next + 1, text: source.slice(at, next + 1), value };
}

function escapeAt(source: string, at: number): string {
  const kind = source.charAt(at + 1);
  const simple = Object.hasOwn(escapes, kind) ? escapes[kind] : undefined;
  if (simple !== undefined) return simple;
  if (kind !== 'u')
    refuse(source, at, `one of \\" \\' \\\\ \\/ \\b \\f \\n \\r \\t \\u`, quoted(`\\${kind}`));
  const digits = source.slice(at + 2, at + 6);
  if (!/^[0-9A-Fa-f]{4}$/.test(digits)) refuse(source, at, 'four hex digits after \\u', quoted(digits));
  if (digits === '0000') refuse(source, at, 'text without U+0000', '\\u0000');
  return String.fromCharCode(Number.parseInt(digits, 16));
}
