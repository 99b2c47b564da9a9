import { describe, expect, it } from 'vitest';
import { lookFor } from '../../../src/cli/screens/draw.ts';
import { countText, listLines, paintDecision, textLines, whenReady } from '../../../src/cli/screens/lists.ts';
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
    expect(countText({ shown: 9, all: 9, isCut: true, filter: '' })).toBe('9+');
    expect(countText({ shown: 2, all: 9, isCut: false, filter: 'pay' })).toBe('2 of 9 with "pay"');
    expect(countText({ shown: 2, all: 9, isCut: false, filter: '' })).toBe('2 of 9');
  });

  it('a text scrolls to its end and no further, and says what is below', () => {
    const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
    const shown = (scroll: number) =>
      textLines(lines, { scroll, size: { columns: 60, rows: 10 } }).map(String);
    expect(shown(0).at(-1)).toBe(' … 21 lines more: down');
    expect(shown(20).at(-1)).toBe(' line 29');
    expect(shown(9999)).toEqual(shown(20));
  });

  it('a part that is not there yet, or failed, says so', () => {
    const options = { what: 'runs', columns: 60, styles: stylesFor(false) };
    const lines = (of: Parameters<typeof whenReady<number>>[0]) =>
      whenReady(of, options, (value) => [safe`${value}`]).map((line) => String(line).trimEnd());
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
