import { describe, expect, it } from 'vitest';
import { lookFor } from '../../../src/cli/screens/draw.ts';
import {
  countText,
  listLines,
  paintDecision,
  still,
  textLines,
  typingLine,
  whenReady,
} from '../../../src/cli/screens/lists.ts';
import { safe, stylesFor } from '../../../src/cli/terminal/safe.ts';
import { widthOf } from '../../../src/cli/terminal/width.ts';

const look = lookFor(false);
const rows = Array.from({ length: 100 }, (_, at) => ({
  id: `run-${at}`,
  note: '客户\u001b[2J'.repeat(at % 7),
}));

function list(cursor: number, columns: number, height: number): string[] {
  return listLines(
    {
      rows,
      cursor,
      size: { columns, rows: height },
      columns: [
        { name: 'id', width: 8, cell: ({ id }) => id },
        { name: 'note', width: 'grow', cell: ({ note }) => note },
        { name: 'extra', width: 6, from: 100, cell: () => 'extra' },
      ],
    },
    look,
  ).map((line) => {
    expect(widthOf(line)).toBeLessThanOrEqual(columns);
    return String(line);
  });
}

describe('lists on a screen', () => {
  it('a list shows a heading, the rows around the cursor, and marks the chosen one', () => {
    const lines = list(50, 60, 12);
    expect(lines).toHaveLength(12);
    expect(lines[0]).toMatch(/^ {2}ID {8}NOTE/);
    expect(lines.filter((line) => line.startsWith('› '))).toEqual([expect.stringContaining('run-50')]);
    expect(lines.join('')).not.toContain('\u001b');
    expect(list(0, 99, 12)[0]).not.toContain('EXTRA');
    expect(list(0, 100, 12)[0]).toContain('EXTRA');
  });

  it('the count names the filter, and that there are more rows than were read', () => {
    const noun = 'run';
    expect(countText({ shown: 9, all: 9, isCut: true, filter: '', noun })).toBe('9+ runs');
    expect(countText({ shown: 1, all: 1, isCut: false, filter: '', noun })).toBe('1 run');
    expect(countText({ shown: 2, all: 9, isCut: false, filter: 'pay', noun })).toBe('2 of 9 runs with "pay"');
    expect(countText({ shown: 2, all: 9, isCut: false, filter: '', noun })).toBe('2 of 9 runs');
  });

  it('the end of what a person types is visible on a screen of any width', () => {
    const text = `${'田中さん🎉'.repeat(30)} the end`;
    for (const columns of [60, 80, 200]) {
      const line = typingLine({ label: safe`approve, comment:`, text, hint: 'esc cancels' }, columns);
      expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(String(line)).toMatch(/^ approve, comment: ….* the end█ {2}esc cancels$/);
    }
    expect(String(typingLine({ label: safe`filter:`, text: 'pay', hint: 'enter' }, 60))).toBe(
      ' filter: pay█  enter',
    );
  });

  it('a text scrolls to its end and no further, and says what is below', () => {
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    const shown = (scroll: number) => textLines(lines, { scroll, columns: 60, rows: 12 }).lines.map(String);
    expect(textLines(lines, { scroll: 0, columns: 60, rows: 12 }).lastScroll).toBe(20);
    expect(shown(0).at(-1)).toBe(' … 21 lines more: down');
    expect(shown(20).at(-1)).toBe(' line 29');
    expect(shown(9999)).toEqual(shown(20));
  });

  it('a long value keeps every character on the screen, at any indent', () => {
    for (const columns of [60, 80, 200])
      for (const indent of [0, 2, 9, 40, 300]) {
        const value = `${'x'.repeat(1000)}${'字'.repeat(100)}`;
        const size = { scroll: 0, columns, rows: 1000 };
        const { lines } = textLines([' '.repeat(indent) + value], size, Infinity);
        // the frame keeps one column free and cuts what is wider
        expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
        expect(lines.map((line) => String(line).trim()).join('')).toBe(value);
      }
  });

  it('a part that is not there yet, or failed, says so', () => {
    const options = { what: 'runs', columns: 60, look };
    const lines = (of: Parameters<typeof whenReady<number>>[0]) =>
      whenReady(of, options, (value) => still([safe`${value}`])).lines.map((line) => String(line).trimEnd());
    expect(lines({ state: 'loading' })).toEqual(['', ' loading runs …']);
    expect(lines({ state: 'failed', why: 'refused' })).toEqual([
      '',
      ' ✗ refused',
      '   r loads again, esc goes back',
    ]);
    expect(lines({ state: 'ready', value: 5 })).toEqual(['5']);
  });

  it('decisions have the colours of their kind', () => {
    const styles = stylesFor(true);
    expect(paintDecision('deny', styles)).toBe(styles.red);
    expect(paintDecision('escalate', styles)).toBe(styles.yellow);
    expect(paintDecision('allow', styles)).toBe(styles.green);
    expect([paintDecision('other', styles), paintDecision(null, styles)]).toEqual([undefined, undefined]);
  });
});
