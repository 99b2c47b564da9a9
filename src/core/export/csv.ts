/**
 * CSV by RFC 4180: records end with CRLF, cells with a comma, a quote or a line break are quoted. No spreadsheet takes a
 * cell for a formula (contract K10; OWASP, CSV Injection), also none that splits at `;`, tab or `|`, where quotes in the
 * middle of a field quote nothing. A `'` is put at the start of a cell before what could be a formula, or begins with a
 * tab or a line break; and within it behind each of these and each line break, before what could be a formula. What
 * would look as if it had been given one is given one too, so that nothing is lost: at each such place strip one `'`
 * where the rest is what one is put before there. A text that reads as the JSON of an object has the same cell as that
 * object. Proven by `test/core/export/csv.test.ts`.
 */
import { canonicalize, type Json } from '../json/parse.ts';

export const lineEnd = '\r\n';
/** ASCII, full-width and small forms, which some programs take for the same. */
const triggers = '=+-@\0＝＋－＠﹦﹢﹣﹫';
const special = /[",\r\n]/;
/** At which some program begins a cell or a record. */
const separator = /[;\t|\r\n]/g;
const separators = ';\t|\r\n';

/**
 * Whether a program may read the text as a formula: its first character that is seen begins one, whatever quotation
 * marks stand before it, or it begins with a tab or a line break. Cost: linear in what is not seen at its start.
 */
export const couldBeFormula = (text: string): boolean =>
  !harmlessStart.test(text) && isTrigger(text.charAt(seenFrom(text, 0)), '\t\r\n');

/** Most texts begin so. */
const harmlessStart = /^[\w[{]/;
/** What begins so, and has nothing that separates or is special, is its own cell. */
const plain = /^[\w[{][^";,\t|\r\n]*$/;

const isTrigger = (character: string, more = ''): boolean =>
  character !== '' && (triggers.includes(character) || more.includes(character));

/** Where the first character stands from `at` on that is seen and no quotation mark, or separates. */
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

/** White space, controls, and what has no form of its own (UAX #44), with the blank of Braille. */
const isUnseen = (character: string): boolean =>
  /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]$/u.test(character);

/** The text with its marks. Cost: linear. */
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

/** A cell: null is empty, an array or object is its JCS; a number stays one where its column holds nothing else. */
export function csvCell(value: Json, isNumeric = false): string {
  if (value === null) return '';
  if (isNumeric && typeof value === 'number') return String(value); // as JCS spells it
  const text = typeof value === 'string' ? value : canonicalize(value);
  if (plain.test(text)) return text;
  const safe = marked(text);
  return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A record with its line end. `numeric`: columns, from 0, that hold numbers or null alone. */
export function csvRow(values: readonly Json[], numeric: ReadonlySet<number>): string {
  let row = '';
  for (let column = 0; column < values.length; column += 1) {
    row += `${column === 0 ? '' : ','}${csvCell(values[column] ?? null, numeric.has(column))}`;
  }
  return row + lineEnd;
}

/** The first record: names of ours, which need neither quotes nor marks. */
export const csvHeader = (columns: readonly string[]): string => columns.join(',') + lineEnd;
