/**
 * CSV by RFC 4180: records end with CRLF; cells with a comma, a quote or a line break are quoted.
 * No spreadsheet reads a cell as a formula (contract K10; OWASP, CSV Injection), even if it splits at `;`, tab or `|`,
 * where quotes within a field do not protect. A `'` is inserted at the start of a cell before a possible formula, a tab or
 * a line break. Within a cell it is inserted after each separator and line break before a possible formula. A text that
 * already looks marked gets another `'`, so the marks can be removed without loss: strip one `'` at each such position
 * if the rest would get one. A text that is the JSON of an object has the same cell as that object.
 * Proven by `test/core/csv.test.ts`.
 */
import { canonicalize, type Json } from './json/parse.ts';

const lineEnd = '\r\n';
/** Formula characters: ASCII, full-width and small forms, which some programs treat as equal. */
const triggers = '=+-@\0＝＋－＠﹦﹢﹣﹫';
const special = /[",\r\n]/;
/** Characters at which some program starts a cell or a record. */
const separator = /[;\t|\r\n]/g;
const separators = ';\t|\r\n';

/**
 * Returns whether a program may read the text as a formula: its first visible character, quotation marks skipped, starts a
 * formula, or it begins with a tab or a line break. Cost: linear in the invisible characters at its start.
 */
const couldBeFormula = (text: string): boolean =>
  !harmlessStart.test(text) && isTrigger(text.charAt(seenFrom(text, 0)), '\t\r\n');

/** Fast path: most texts begin like this. */
const harmlessStart = /^[\w[{]/;
/** Fast path: such a text without separators and special characters is its own cell. */
const plain = /^[\w[{][^";,\t|\r\n]*$/;

const isTrigger = (character: string, more = ''): boolean =>
  character !== '' && (triggers.includes(character) || more.includes(character));

/** Position of the first character from `at` on that is visible and not a quotation mark, or that separates cells. */
function seenFrom(text: string, at: number): number {
  let from = at;
  while (from < text.length) {
    const character = String.fromCodePoint(text.codePointAt(from) ?? 0);
    const isPassed =
      character === "'" || character === '"' || (isUnseen(character) && !isTrigger(character, separators));
    if (!isPassed) return from;
    from += character.length;
  }
  return from;
}

/** White space, controls, default-ignorable characters (UAX #44), and the Braille blank. */
const isUnseen = (character: string): boolean =>
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]$/u.test(character);

/** Returns the text with its marks. Cost: linear. */
export function marked(text: string): string {
  const safe = couldBeFormula(text) ? `'${text}` : text;
  return safe.search(separator) === -1 ? safe : markedWithin(safe);
}

function markedWithin(text: string): string {
  let out = '';
  let from = 0;
  for (const { index } of text.matchAll(separator)) {
    const start = index + 1;
    if (!isTrigger(text.charAt(seenFrom(text, start)))) continue;
    out += `${text.slice(from, start)}'`;
    from = start;
  }
  return out + text.slice(from);
}

/** Returns a cell: empty for null, JCS for an array or object; a plain number only in a numeric column. */
function csvCell(value: Json, isNumeric = false): string {
  if (value === null) return '';
  if (isNumeric && typeof value === 'number') return String(value); // as JCS spells it
  const text = typeof value === 'string' ? value : canonicalize(value);
  if (plain.test(text)) return text;
  const safe = marked(text);
  return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns a record with its line end. `numeric`: columns, from 0, that contain only numbers or null. */
export function csvRow(values: readonly Json[], numeric: ReadonlySet<number>): string {
  let row = '';
  for (let column = 0; column < values.length; column += 1) {
    row += `${column === 0 ? '' : ','}${csvCell(values[column] ?? null, numeric.has(column))}`;
  }
  return row + lineEnd;
}

/** Returns the first record: our own column names, which need no quotes or marks. */
export const csvHeader = (columns: readonly string[]): string => columns.join(',') + lineEnd;
