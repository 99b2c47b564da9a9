/**
 * Terminals without UTF-8: whether this is one, and a line in ASCII.
 * Tested by `test/cli/terminal/ascii.test.ts`.
 */
import type { Io } from './io.ts';
import { Safe } from './safe.ts';
import { widthOf } from './width.ts';

/** True where the locale has no UTF-8 (POSIX: LC_ALL, then LC_CTYPE, then LANG). */
export function isAsciiLocale(env: Io['env'], platform: string = process.platform): boolean {
  const locale = ['LC_ALL', 'LC_CTYPE', 'LANG']
    .map((name) => env[name])
    .find((value) => value !== undefined && value !== '');
  if (locale === undefined) return platform === 'linux';
  return !/utf-?8/i.test(locale);
}

const asciiOf: Readonly<Record<string, string>> = {
  '─': '-',
  '│': '|',
  '…': '~',
  '·': '-',
  '→': '>',
  '✓': '+',
  '✗': 'x',
  '▁': '.',
  '▂': '.',
  '▃': ':',
  '▄': ':',
  '▅': '+',
  '▆': '+',
  '▇': '#',
  '█': '#',
  '░': '.',
  '›': '>',
  '’': "'",
};

/** A line for a terminal without UTF-8: the same width in ASCII; `?` for each column of any other character. */
export const asciiLine = (line: string): string =>
  line.replace(
    /[\u0080-\u{10ffff}]/gu,
    (character) =>
      asciiOf[character] ?? (/[╭╮╰╯]/.test(character) ? '+' : '?'.repeat(widthOf(Safe.cell(character)))),
  );
