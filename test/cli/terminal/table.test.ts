import { describe, expect, it } from 'vitest';
import { Safe, stylesFor } from '../../../src/cli/terminal/safe.ts';
import { csvLine, fit, relativeTime, Table, tabbed } from '../../../src/cli/terminal/table.ts';
import type { Column } from '../../../src/cli/terminal/view.ts';
import { cut, pad, widthOf } from '../../../src/cli/terminal/width.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const layout = { width: 60, short: true, now, styles: stylesFor(false) };
const columns: readonly Column[] = [
  { name: 'eventId', kind: 'id' },
  { name: 'action', kind: 'text' },
  { name: 'count', kind: 'count' },
  { name: 'at', kind: 'time' },
];

describe('width', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👍', 2],
    ['ｆｕｌｌ', 8],
    ['', 0],
  ])('the width of %j is %i', (text, width) => expect(widthOf(Safe.cell(text))).toBe(width));

  it('the width of a text does not count styles', () => expect(widthOf(stylesFor(true).red('abc'))).toBe(3));

  it('the width of a text is respected when it is cut or padded', () => {
    expect(String(cut(Safe.cell('日本語です'), 6))).toBe('日本…');
    expect(widthOf(cut(Safe.cell('日本語です'), 6))).toBeLessThanOrEqual(6);
    expect(String(cut(Safe.cell('short'), 5))).toBe('short');
    expect(String(pad(Safe.cell('日'), 4))).toBe('日  ');
  });
});

describe('relative time', () => {
  it.each([
    ['2026-03-01T12:00:00Z', 'now'],
    ['2026-03-01T11:59:40Z', '20 s ago'],
    ['2026-03-01T11:57:30Z', '3 min ago'],
    ['2026-03-02T11:59:58Z', 'in 24 h'],
    ['2026-03-01T11:59:56Z', 'now'],
    ['2026-03-01T09:00:00Z', '3 h ago'],
    ['2026-02-26T12:00:00Z', '3 d ago'],
    ['2025-02-26T12:00:00Z', '2025-02-26'],
    ['2026-03-01T12:10:00Z', 'in 10 min'],
    ['not a time', 'not a time'],
  ])('the relative time of %s is %s', (text, expected) => expect(relativeTime(text, now)).toBe(expected));
});

describe('a table', () => {
  const row = { eventId: 'evt_1', action: 'look up flights', count: 7, at: '2026-03-01T11:57:30Z' };

  it('a table has a header, aligned columns and numbers on the right', () => {
    const lines = new Table(columns, layout).lines([row, { ...row, count: 123_456, action: 'x' }]);
    expect(lines.map(String)).toEqual([
      'EVENT ID  ACTION            COUNT  AT',
      'evt_1     look up flights       7  3 min ago',
      'evt_1     x                123456  3 min ago',
    ]);
  });

  it('a table never grows wider than the terminal, and never cuts an id', () => {
    const long = { ...row, eventId: 'evt_01jq3v5k8hf7wb3c9x2m4n6p8r', action: 'y'.repeat(300) };
    for (const width of [30, 40, 60, 100]) {
      const lines = new Table(columns, { ...layout, width }).lines([long]);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 30));
      expect(String(lines[1])).toContain(long.eventId);
    }
  });

  it('a table keeps its column widths for further pages and prints the header once', () => {
    const table = new Table(columns, layout);
    table.lines([row]);
    expect(
      String(table.lines([{ ...row, action: 'a longer action than the first page had' }])[0]),
    ).toHaveLength(String(table.lines([row])[0]).length);
  });

  it('a table shows parties by name, absent values as a dash, and cleans every cell', () => {
    const party = { ...row, action: { id: 'u-1', name: 'Ann\u202e' }, count: null };
    expect(String(new Table(columns, layout).lines([party])[1])).toBe(
      'evt_1     Ann\\u202e      -  3 min ago',
    );
  });

  it('a table takes width from the widest free text first', () => {
    expect(fit([10, 50, 6, 10], columns, 60)).toEqual([10, 28, 6, 10]);
    expect(fit([30, 50, 6, 10], columns, 44)).toEqual([30, 12]);
    const ending = [...columns, { name: 'otherId', kind: 'id' } as const];
    expect(fit([10, 50, 6, 10, 30], ending, 80)).toEqual([10, 16, 6, 10, 30]);
    expect(fit([10, 50, 6, 10, 30], ending, 79)).toEqual([10, 47, 6, 10]);
  });
});

describe('tab-separated lines', () => {
  it('tab-separated lines contain full values, one line each, whatever the values are', () => {
    const line = tabbed(columns, { eventId: 'e', action: { a: 'x\ty' }, count: 1, at: 'two\nlines' });
    expect(String(line)).toBe('e\t{"a":"x\\ty"}\t1\ttwo\\nlines');
  });

  it('an object with hidden characters stays JSON in a tab-separated line and in CSV', () => {
    const action = { a: 'pay\u200b\u{e0041}' };
    const cell = String(tabbed(columns, { eventId: 'e', action, count: 1, at: null })).split('\t')[1] ?? '';
    expect(cell).toBe('{"a":"pay\\u200b\\udb40\\udc41"}');
    expect(JSON.parse(cell)).toEqual(action);
    expect(String(csvLine([action]))).toBe('"{""a"":""pay\\u200b\\udb40\\udc41""}"');
  });
});

describe('CSV', () => {
  it('CSV output quotes values that need quotes', () => {
    expect(String(csvLine(['a,b', 'say "hi"', null, 5, { x: 1 }]))).toBe('"a,b","say ""hi""",,5,"{""x"":1}"');
  });

  it('CSV output disarms what a spreadsheet would execute, but not numbers', () => {
    const risky = ['=1+1', '+1', '-1', '@x', ' =1', '＝1', '\t=1'];
    expect(String(csvLine([...risky, -1]))).toBe("'=1+1,'+1,'-1,'@x,' =1,'＝1,'\\t'=1,-1");
    expect(String(csvLine(['x;=1+1;y', { a: 'x|@SUM(A1)' }]))).toBe(`x;'=1+1;y,"{""a"":""x|'@SUM(A1)""}"`);
  });
});
