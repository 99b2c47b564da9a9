import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Safe, safe, stylesFor } from '../../../src/cli/terminal/safe.ts';

const corpus: readonly (readonly [what: string, text: string, shown: string])[] = [
  ['clearing the screen', '\u001b[2J', '\\u001b[2J'],
  ['a window title', '\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['a clipboard write', '\u001b]52;c;ZXZpbA==\u001b\\', '\\u001b]52;c;ZXZpbA==\\u001b\\'],
  ['an 8-bit CSI', '\u009b31mred', '\\u009b31mred'],
  ['a carriage return over the line', 'safe\rEVIL', 'safe\\rEVIL'],
  ['backspaces', 'rm\b\bls', 'rm\\u0008\\u0008ls'],
  ['a right-to-left override', 'user\u202etxt.exe', 'user\\u202etxt.exe'],
  ['isolates', '\u2066a\u2069', '\\u2066a\\u2069'],
  ['marks', 'a\u200eb\u061c', 'a\\u200eb\\u061c'],
  ['zero-width characters', 'pay\u200bpal\ufeff', 'pay\\u200bpal\\ufeff'],
  ['hidden tag text', 'hi\u{e0041}\u{e007f}', 'hi\\u{e0041}\\u{e007f}'],
  ['line separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['NUL and DEL', '\u0000\u007f', '\\u0000\\u007f'],
];

describe('remote text', () => {
  it.each(corpus)('remote text is shown safely: %s', (_what, text, shown) => {
    expect(String(Safe.cell(text))).toBe(shown);
    expect(String(Safe.clean(text))).toBe(shown);
    expect(String(safe`<${text}>`)).toBe(`<${shown}>`);
  });

  it('remote text keeps lines and tabs in texts, but not in cells', () => {
    expect(String(Safe.clean('a\n\tb'))).toBe('a\n\tb');
    expect(String(Safe.cell('a\n\tb'))).toBe('a\\n\\tb');
  });

  it('remote text cannot contain a command for a CI runner', () => {
    const text = 'found\n::add-mask::x\n  ::stop-commands::y\na::b';
    expect(String(Safe.clean(text))).toBe('found\n\\u003a:add-mask::x\n  \\u003a:stop-commands::y\na::b');
    expect(String(Safe.cell(text))).not.toContain('\n');
  });

  it.each([
    ['the name of a tool at the start of a row', '::add-mask::x', '\\u003a:add-mask::x'],
    ['the older form of GitHub, anywhere', 'a ##[set-output name=x]b', 'a \\u0023#[set-output name=x]b'],
    [
      'the form of Azure Pipelines',
      '##vso[task.setvariable variable=a]b',
      '\\u0023#vso[task.setvariable variable=a]b',
    ],
    ['an address and a heading, which are no commands', '::1 ## x ##', '::1 ## x ##'],
  ])('no cell and no JSON contains a command for a CI runner: %s', (_what, text, shown) => {
    expect(String(Safe.cell(text))).toBe(shown);
    expect(String(Safe.clean(text))).toBe(shown);
    expect(String(Safe.json([text]))).not.toContain('##[');
    expect(String(Safe.json([text]))).not.toContain('##vso[');
    expect(JSON.parse(String(Safe.json([text])))).toEqual([text]);
  });

  it('remote text keeps all characters that people write', () => {
    const text = 'naïve – „Zitat“ 日本語 العربية 👍🏽 ½ e\u0301';
    expect(String(Safe.cell(text))).toBe(text);
  });

  it('remote text has replacement characters for halves of surrogate pairs', () => {
    expect(String(Safe.cell('a\ud800b'))).toBe('a\ufffdb');
  });

  it('remote text shows no control, bidi or invisible character, whatever the text is', () => {
    // oxlint-disable-next-line no-control-regex -- the characters under test
    const forbidden = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = [Safe.cell(text), safe`${text}`, Safe.json({ [text]: text })];
        return !forbidden.test(shown.join(''));
      }),
    );
  });
});

describe('JSON', () => {
  it('JSON output escapes the same characters and reads back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(JSON.parse(String(Safe.json(value)))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    for (const [, text] of corpus) {
      const written = String(Safe.json(text));
      expect(JSON.parse(written)).toBe(text);
      expect(written).toMatch(/^[\u0020-\u007e]*$/);
    }
  });
});

describe('styles', () => {
  it('styles wrap cleaned text, and add nothing when colour is off', () => {
    expect(String(stylesFor(true).red('a\u001b[2J'))).toBe('\u001b[31ma\\u001b[2J\u001b[39m');
    expect(String(stylesFor(false).red('a\u001b[2J'))).toBe('a\\u001b[2J');
  });

  it('styled text keeps its styles inside a template', () => {
    const { bold } = stylesFor(true);
    expect(String(safe`${bold('x')} ${'\u001b'}`)).toBe('\u001b[1mx\u001b[22m \\u001b');
  });
});
