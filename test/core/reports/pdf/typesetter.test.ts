import { describe, expect, it } from 'vitest';
import { loadLibraries } from '../../../../src/core/reports/pdf/library.ts';
import { Typesetter } from '../../../../src/core/reports/pdf/typesetter.ts';
import { readReportFonts } from '../../../../src/host/reports/fonts.ts';

const { createPdf } = await loadLibraries();
const { regular, bold, mono } = await readReportFonts();
const pdf = createPdf({ font: null, autoFirstPage: false });
pdf.registerFont('regular', regular.bytes).registerFont('bold', bold.bytes).registerFont('mono', mono.bytes);
const type = new Typesetter(pdf, []);
const style = { face: 'regular', size: 10 } as const;

describe('text of a report', () => {
  it.each(['Łódź', 'Ελένη Παπαδοπούλου', 'Дмитрий Соколов', 'naïve “quotes” – 100 €', 'Việt Nam'])(
    'the fonts of the package print %s',
    (text) => {
      for (const face of ['regular', 'bold'] as const) expect(type.printable(text, face)).toBe(text);
    },
  );

  it.each([
    ['שירה לוי', '‹7 Hebrew characters›'],
    ['to نور الهدى now', 'to ‹8 Arabic characters› now'],
    ['東京', '‹2 Han characters›'],
    ['x😀y', 'x‹U+1F600›y'],
    ['a\u202eb', 'a‹U+202E›b'],
    ['a\u0000b', 'a‹U+0000›b'],
    ['a\u200bb', 'a‹U+200B›b'],
    ['a\u00a0b\u2800', 'a‹U+00A0›b‹U+2800›'],
    [`e${'\u0301'.repeat(3)}x`, `e${'\u0301'.repeat(3)}x`],
    [`e${'\u0301'.repeat(5)}x`, `e${'\u0301'.repeat(3)}‹U+0301 U+0301›x`],
  ])('what no font can draw in %j is said in words', (text, said) => {
    expect(type.printable(text, 'regular')).toBe(said);
  });

  it('line breaks stay and tabs become spaces', () => {
    expect(type.printable('é\r\nb\tc', 'regular')).toBe('é\nb c');
  });

  it('no line is wider than its column, and no character is lost', () => {
    const word = 'a-very-long-agent-name-without-any-space-that-does-not-fit';
    for (const width of [20, 47, 90]) {
      const lines = type.wrap(`to ${word} and back`, style, width);
      for (const line of lines) expect(type.width(line, style)).toBeLessThanOrEqual(width + 1e-6);
      expect(lines.join('').replaceAll(' ', '')).toBe(`to${word}andback`);
    }
  });

  it('a hash breaks into equal parts', () => {
    const lines = type.wrap('ab'.repeat(32), { face: 'mono', size: 10 }, 6.1 * 50);
    expect(lines.map(({ length }) => length)).toEqual([32, 32]);
  });

  it('a text of any length is broken in linear steps', () => {
    expect(type.wrap('x'.repeat(20_000), style, 200).length).toBeGreaterThan(400);
  });
});
