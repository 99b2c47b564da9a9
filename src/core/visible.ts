/**
 * Text from agents and their users, as a reviewer may read it: escape sequences, bidi controls and invisible characters
 * become escapes such as `\u202e`, so that no text reorders or hides another. There is no exception for emoji: their
 * selectors and joiners can carry a text. Classes are those of Unicode (UAX 44) in the version of the runtime.
 * Tested by `test/core/visible.test.ts`, `test/cli/terminal/safe.test.ts` and `test/console/hostile.test.ts`.
 */

/**
 * Shows nothing, or not what it is: default ignorables (zero width, selectors, tags, fillers), formats, controls, private
 * use, unassigned, halves of pairs, blanks other than U+0020, the empty Braille pattern, the empty note head.
 */
const invisible =
  '\\p{Default_Ignorable_Code_Point}\\p{Cf}\\p{Cc}\\p{Co}\\p{Cn}\\p{Cs}\\p{Z}\\u2800\\u{1d159}';
/** Marks that stand on one letter; the fourth one and later ones cover other lines. */
const stacked = '(?<=\\p{M}{3})\\p{M}';
const without = (kept: string): RegExp => new RegExp(`[[${invisible}]--[${kept}]]|${stacked}`, 'gv');

const unsafe = without(' \\n\\t');
const unsafeInLine = without(' ');
/** A lone CR would write a line over itself on a terminal. */
const unsafeInSource = new RegExp(`${without(' \\n\\t\\r').source}|\\r(?!\\n)`, 'v');
/** A newline in JSON is layout: strings have it as an escape. */
const unsafeInJson = without(' \\n');
/** Printable ASCII. Most text is, and needs no closer look, which takes ten times as long. */
export const isPlain = (text: string): boolean => !/[^ -~]/.test(text);

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** Returns `\u202e` for U+202E, `\u{e0041}` beyond the basic plane. */
function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return named[character] ?? (code > 0xffff ? `\\u{${hex(code)}}` : `\\u${hex(code)}`);
}

/** JSON spells a character beyond the basic plane as two escapes. */
export const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join('');

const replaced = (text: string, which: RegExp, by: (character: string) => string): string =>
  isPlain(text) ? text : text.toWellFormed().replace(which, by);

/** Keeps newlines and tabs. */
export const visibleText = (text: string): string => replaced(text, unsafe, shown);

/** On one line: newlines and tabs become `\n` and `\t`. */
export const visibleLine = (text: string): string => replaced(text, unsafeInLine, shown);

/** On one line, with the escapes of another language. */
export const shownAs = (text: string, escape: (character: string) => string): string =>
  replaced(text, unsafeInLine, escape);

/** On one line, with the escapes of JSON alone: `\u000a` for a newline. For receivers that split records at line breaks. */
export const escapedLine = (text: string): string => replaced(text, unsafeInLine, escaped);

/** The characters of a text that show nothing, or something else; the newlines of other systems are not among them. */
export const hiddenCharacters = (text: string): string[] =>
  isPlain(text) ? [] : (text.replaceAll('\r\n', '\n').match(unsafe) ?? []);

/** The offset of the first character that a source text may not have as it is, else -1: line ends are LF and CR LF. */
export const firstHidden = (source: string): number => (isPlain(source) ? -1 : source.search(unsafeInSource));

/** One JSON value that parses to the same value. `indent` 0: on one line. */
export const visibleJson = (value: unknown, indent = 0): string =>
  replaced(JSON.stringify(value, null, indent) ?? 'null', unsafeInJson, escaped);
