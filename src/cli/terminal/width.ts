/**
 * How many terminal columns a text takes: 2 for East Asian wide and emoji, 0 for combining marks, after
 * UAX #11. Styles count nothing. `test/cli/terminal/table.test.ts` holds samples.
 */
import { Safe } from './safe.ts';

// oxlint-disable-next-line no-control-regex -- our own SGR codes, the only escapes that a Safe can hold
const style = /\u001b\[[0-9]+m/g;
const zero = /^\p{M}$/u;
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x2329, 0x232a],
  [0x23e9, 0x23ec],
  [0x25fd, 0x25fe],
  [0x2614, 0x2615],
  [0x2648, 0x2653],
  [0x26aa, 0x26ab],
  [0x26bd, 0x26be],
  [0x2705, 0x2705],
  [0x270a, 0x270b],
  [0x2728, 0x2728],
  [0x274c, 0x274c],
  [0x2753, 0x2757],
  [0x2795, 0x2797],
  [0x2b50, 0x2b55],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f004, 0x1f0cf],
  [0x1f18e, 0x1f19a],
  [0x1f200, 0x1f320],
  [0x1f32d, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7e0, 0x1f7eb],
  [0x1f900, 0x1faff],
  [0x20000, 0x3fffd],
];

function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (zero.test(character)) return 0;
  return wideRanges.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

/** Columns that the text takes on one line. */
export function widthOf(text: Safe): number {
  let width = 0;
  for (const character of String(text).replace(style, '')) width += characterWidth(character);
  return width;
}

/** At most `columns` wide; a cut text ends in `…`. For texts without styles. */
export function cut(text: Safe, columns: number): Safe {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const character of String(text)) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return Safe.cell(`${kept}…`);
}

/** Filled with blanks up to `columns`. */
export const pad = (text: Safe, columns: number): Safe =>
  Safe.join([text, Safe.cell(' '.repeat(Math.max(0, columns - widthOf(text))))], '');

/** Broken at blanks so that no line is longer than `columns`. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
