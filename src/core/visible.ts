/**
 * Text from agents and their users, as a reviewer may read it: escape sequences, bidi controls and invisible characters
 * become escapes such as `\u202e`, so that no text reorders or hides another. Tested by `test/cli/terminal/safe.test.ts`
 * and `test/console/hostile.test.ts`.
 */

/**
 * C0 except newline and tab, DEL and C1; bidi controls and marks; zero-width characters; line and paragraph
 * separators; interlinear annotations; tag characters, which spell hidden text.
 */
const unsafeRanges =
  '\\u007f-\\u009f\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}';
const unsafe = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${unsafeRanges}]`, 'gu');
const unsafeInLine = new RegExp(`[\\u0000-\\u001f${unsafeRanges}]`, 'gu');
const unsafeInJson = new RegExp(`[${unsafeRanges}]`, 'gu');

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** Returns `\u202e` for U+202E, `\u{e0041}` beyond the basic plane. */
function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return named[character] ?? (code > 0xffff ? `\\u{${hex(code)}}` : `\\u${hex(code)}`);
}

/** JSON spells a character beyond the basic plane as two escapes. */
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join('');

/** Keeps newlines and tabs. */
export const visibleText = (text: string): string => text.toWellFormed().replace(unsafe, shown);

/** On one line: newlines and tabs become `\n` and `\t`. */
export const visibleLine = (text: string): string => text.toWellFormed().replace(unsafeInLine, shown);

/** On one line, with the escapes of JSON alone: `\u000a` for a newline. For receivers that split records at line breaks. */
export const escapedLine = (text: string): string => text.toWellFormed().replace(unsafeInLine, escaped);

/** One JSON value that parses to the same value. `indent` 0: on one line. */
export const visibleJson = (value: unknown, indent = 0): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replace(unsafeInJson, escaped);
