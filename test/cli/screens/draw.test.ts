import { assert, array, constantFrom, integer, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  beside,
  dimmed,
  filled,
  fit,
  fitLine,
  folded,
  lookFor,
  panel,
  right,
  sparkline,
} from '../../../src/cli/screens/draw.ts';
import { Safe, safe } from '../../../src/cli/terminal/safe.ts';
import { widthOf } from '../../../src/cli/terminal/width.ts';

const plain = lookFor(false);
const colored = lookFor(true);
const text = string({
  unit: constantFrom('a', ' ', '中', '😀', 'é', '❤️', '\u001b', '\u202e', '\n', 'ก็'),
});

describe('text blocks of a screen', () => {
  it('text is exactly as wide as asked, whatever it contains', () => {
    assert(
      property(text, integer({ min: 0, max: 30 }), (remote, columns) => {
        expect(widthOf(fit(remote, columns))).toBe(columns);
        expect(String(fit(remote, columns))).toBe(String(Safe.cell(String(fit(remote, columns)))));
      }),
    );
  });

  it('a panel has its size at every width and height, whatever is in it', () => {
    assert(
      property(
        array(text, { maxLength: 8 }),
        integer({ min: 8, max: 60 }),
        integer({ min: 2, max: 12 }),
        (lines, columns, rows) => {
          const block = panel(
            { title: 'jobs', lines: lines.map((line) => safe`${line}`) },
            { columns, rows },
            plain,
          );
          expect(block).toHaveLength(rows);
          for (const line of block) expect(widthOf(line)).toBe(columns);
        },
      ),
    );
  });

  it('a panel that needs attention says so without colour', () => {
    const [bad = safe``] = panel({ title: 'jobs', lines: [], isBad: true }, { columns: 20, rows: 3 }, plain);
    expect(String(bad)).toBe('╭ ! jobs ──────────╮');
    const both = beside([safe`a`, safe`b`], [safe`c`, safe`d`]).map(String);
    expect(both).toEqual(['ac', 'bd']);
    expect(filled([safe`a`], 3).map(String)).toEqual(['a', '', '']);
  });

  it('a styled line that is too long loses its styles, and stale lines are only dim', () => {
    const line = safe`${colored.styles.red('denied')} by the policy`;
    expect(String(fitLine(line, 8))).toBe('denied …');
    expect(String(fitLine(line, 22))).toContain('\u001b[31m');
    expect(dimmed([line], colored).map(String)).toEqual(['\u001b[2mdenied by the policy\u001b[22m']);
  });

  it('folded text keeps every word, and says when it was cut', () => {
    expect(folded('one two three', 8, 9).map(String)).toEqual(['one two', 'three']);
    expect(folded('abcdefghij', 4, 9).map(String)).toEqual(['abcd', 'efgh', 'ij']);
    expect(folded('中文字', 4, 9).map(String)).toEqual(['中文', '字']);
    expect(folded('a b c d e f', 1, 3).map(String)).toEqual(['a', 'b', '… more: -o json shows everything']);
    expect(folded('a b c', 1, 3).map(String)).toEqual(['a', 'b', 'c']);
  });

  it('a sparkline shows the newest values, the highest at full height', () => {
    expect(String(sparkline([9, 0, 4, 8], 3))).toBe('▁▄█');
    expect(String(sparkline([0, 0], 4))).toBe('▁▁  ');
  });

  it('numbers on the right are short', () => {
    expect(String(right('7', 4))).toBe('   7');
  });
});
