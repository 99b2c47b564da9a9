/**
 * The terminal columns of a text: 2 for East Asian wide and emoji, 0 for combining marks (UAX #11). Styles count zero.
 * The package `string-width` also measures joined emoji, but its `Intl.Segmenter` makes every command start 20 ms later.
 * Tested by `test/cli/terminal/table.test.ts`.
 */
import { eastAsianWidth } from 'get-east-asian-width';
import { Safe } from './safe.ts';

// oxlint-disable-next-line no-control-regex -- our own SGR codes, the only escapes in a Safe
const style = /\u001b\[[0-9]+m/g;
const zero = /^\p{M}$/u;

export function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  if (zero.test(character)) return 0;
  return eastAsianWidth(code);
}

/** Returns the columns of the text on one line. */
export function widthOf(text: Safe): number {
  let width = 0;
  for (const character of String(text).replace(style, '')) width += characterWidth(character);
  return width;
}

/** Cuts to `columns`; a cut text ends in `…`. For texts without styles. */
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

/** Fills with blanks up to `columns`. */
export const pad = (text: Safe, columns: number): Safe =>
  Safe.join([text, Safe.cell(' '.repeat(Math.max(0, columns - widthOf(text))))], '');

/** Breaks at blanks, so that no line is longer than `columns`. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
