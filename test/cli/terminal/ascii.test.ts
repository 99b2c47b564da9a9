import { assert, constantFrom, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { asciiLine, isAsciiLocale } from '../../../src/cli/terminal/ascii.ts';
import { Safe } from '../../../src/cli/terminal/safe.ts';
import { cut, pad } from '../../../src/cli/terminal/width.ts';

const text = string({
  unit: constantFrom('a', ' ', '中', '😀', 'é', '\u001b', '\u202e', '\n', 'ก็'),
});

it('a locale without UTF-8 gets ASCII; LC_ALL wins over LC_CTYPE and LANG', () => {
  expect(isAsciiLocale({ LANG: 'en_GB.UTF-8' })).toBe(false);
  expect(isAsciiLocale({ LANG: 'C.utf8' })).toBe(false);
  expect(isAsciiLocale({ LANG: 'en_GB.UTF-8', LC_ALL: 'C' })).toBe(true);
  expect(isAsciiLocale({ LANG: 'C', LC_CTYPE: 'de_DE.utf-8', LC_ALL: '' })).toBe(false);
  expect(isAsciiLocale({}, 'linux')).toBe(true);
  expect(isAsciiLocale({}, 'darwin')).toBe(false);
});

it('ASCII lines have the same width and nothing but ASCII', () => {
  assert(
    property(text, (remote) => {
      const line = String(pad(cut(Safe.cell(remote), 20), 20));
      const ascii = asciiLine(line);
      expect(ascii).toBe(ascii.replace(/[^ -~]/g, ''));
      expect(ascii).toHaveLength(20);
    }),
  );
  expect(asciiLine('╭ jobs ─╮│▁█│ \u001b[1m›\u001b[22m …')).toBe('+ jobs -+|.#| \u001b[1m>\u001b[22m ~');
});
