import { describe, expect, it } from 'vitest';
import {
  escapedLine,
  hiddenCharacters,
  visibleJson,
  visibleLine,
  visibleText,
} from '../../src/core/visible.ts';

const all = Array.from({ length: 0x110000 }, (_, code) => code).filter(
  (code) => code < 0xd800 || code > 0xdfff,
);
const assigned = all
  .map((code) => String.fromCodePoint(code))
  .filter((each) => !/[\p{Cn}\p{Co}]/u.test(each));
/** UAX 44, spelled one property at a time. */
const showsNothing = (character: string): boolean =>
  character !== ' ' &&
  (/\p{Default_Ignorable_Code_Point}/u.test(character) ||
    /\p{Cf}/u.test(character) ||
    /\p{Cc}/u.test(character) ||
    /\p{Z}/u.test(character) ||
    character === '\u2800' ||
    character === '\u{1d159}');

describe('characters that show nothing', () => {
  it('every assigned one becomes an escape on a line, in a text and in JSON', () => {
    const invisible = assigned.filter(showsNothing);
    expect(invisible.length).toBeGreaterThan(500);
    for (const character of invisible) {
      expect(visibleLine(character)).toMatch(/^\\(?:[ntr]|u[0-9a-f]{4}|u\{[0-9a-f]{5,6}\})$/);
      expect(visibleJson(character)).toMatch(/^"[\x20-\x7e]+"$/);
      expect(JSON.parse(visibleJson(character))).toBe(character);
      expect(escapedLine(character)).toMatch(/^[\x20-\x7e]+$/);
      if (character !== '\n' && character !== '\t') expect(visibleText(character)).toMatch(/^[\x20-\x7e]+$/);
    }
  });

  it('every other assigned character stays as it was written', () => {
    for (const character of assigned) {
      if (showsNothing(character)) continue;
      expect(visibleLine(character)).toBe(character);
      expect(hiddenCharacters(character)).toEqual([]);
    }
  });

  it.each([
    ['a variation selector', '\ufe0f', '\\ufe0f'],
    ['a soft hyphen', '\u00ad', '\\u00ad'],
    ['a grapheme joiner', '\u034f', '\\u034f'],
    ['Hangul fillers', '\u115f\u3164\uffa0', '\\u115f\\u3164\\uffa0'],
    ['an inherent vowel of Khmer', '\u17b4', '\\u17b4'],
    ['a Mongolian selector', '\u180b', '\\u180b'],
    ['the empty Braille pattern', '\u2800', '\\u2800'],
    ['a musical format character', '\u{1d173}', '\\u{1d173}'],
    ['a private character', '\ue000', '\\ue000'],
    ['an unassigned character', '\u0378', '\\u0378'],
    ['a blank that is no ASCII', 'a\u00a0b\u3000', 'a\\u00a0b\\u3000'],
    ['an emoji that carries a selector and a joiner', '❤\ufe0f\u200d🔥', '❤\\ufe0f\\u200d🔥'],
  ])('%s is shown as an escape', (_, text, shown) => {
    expect(visibleLine(text)).toBe(shown);
    expect(hiddenCharacters(text).length).toBeGreaterThan(0);
  });

  it('three combining marks in a row stay, and the fourth is an escape', () => {
    expect(visibleLine(`e${'\u0301'.repeat(3)}x`)).toBe(`e${'\u0301'.repeat(3)}x`);
    expect(visibleLine(`e${'\u0301'.repeat(4)}x`)).toBe(`e${'\u0301'.repeat(3)}\\u0301x`);
    expect(visibleLine(`e${'\u0301'.repeat(6)}`)).toBe(`e${'\u0301'.repeat(3)}${'\\u0301'.repeat(3)}`);
  });

  it('newlines and tabs are not counted as hidden, a lone carriage return is', () => {
    expect(hiddenCharacters('a\n\tb\r\nc')).toEqual([]);
    expect(hiddenCharacters('a\rb')).toEqual(['\r']);
  });

  it('84,000 characters take less than 100 ms', () => {
    const text = '日本語テキスト'.repeat(12_000);
    const before = performance.now();
    expect(visibleText(text)).toBe(text);
    expect(performance.now() - before).toBeLessThan(100);
  });
});
