/**
 * CSV by RFC 4180: records end with CRLF, cells with a comma, a quote or a line break are quoted. No spreadsheet takes a
 * cell for a formula (contract K10; OWASP, CSV Injection): one that could be has a `'` before it, and so has one that
 * would look as if it had been given one, so that nothing is lost: strip one `'` where `couldBeFormula` holds of the rest.
 * Proven by `test/core/csv.test.ts`.
 */
import { canonicalize, type Json } from './json.ts';

const lineEnd = '\r\n';
/** ASCII and full-width forms, which some programs take for the same. */
const triggers = '=+-@\t\r\n\0＝＋－＠';
const special = /[",\r\n]/;

/**
 * Whether a program may read the text as a formula: its first character that is seen begins one, whatever quotation
 * marks stand before it. Cost: linear in the white space at its start.
 */
export function couldBeFormula(text: string): boolean {
  for (const character of text) {
    if (triggers.includes(character)) return true;
    if (character !== "'" && !isUnseen(character)) return false;
  }
  return false;
}

/** White space, and format characters (UAX #44 Cf), which stand before what is seen. */
const isUnseen = (character: string): boolean => /^[\s\p{Cf}]$/u.test(character);

/** A cell: null is empty, an array or object is its JCS; a number stays one where its column holds nothing else. */
function cell(value: Json, isNumeric: boolean): string {
  if (value === null) return '';
  if (isNumeric && typeof value === 'number') return canonicalize(value);
  const text = typeof value === 'string' ? value : canonicalize(value);
  const safe = couldBeFormula(text) ? `'${text}` : text;
  return special.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A record with its line end. `numeric`: columns, from 0, that hold numbers or null alone. */
export function csvRow(values: readonly Json[], numeric: ReadonlySet<number>): string {
  return values.map((value, column) => cell(value, numeric.has(column))).join(',') + lineEnd;
}

/** The first record: names of ours, which need neither quotes nor marks. */
export const csvHeader = (columns: readonly string[]): string => columns.join(',') + lineEnd;
