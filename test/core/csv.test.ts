import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { couldBeFormula, csvHeader, csvRow } from '../../src/core/csv.ts';

/** A strict parser of its own: RFC 4180 §2, and nothing else. */
function parse(text: string): string[][] {
  const records: string[][] = [[]];
  for (let at = 0; at < text.length;) {
    const [cell, end] = text[at] === '"' ? quoted(text, at) : plain(text, at);
    records.at(-1)?.push(cell);
    at = end;
    if (text.startsWith('\r\n', at)) {
      records.push([]);
      at += 2;
    } else if (text[at] === ',') {
      at += 1;
      if (at === text.length || text.startsWith('\r\n', at)) records.at(-1)?.push('');
      if (text.startsWith('\r\n', at)) {
        records.push([]);
        at += 2;
      }
    } else throw new Error(`expected a comma or CRLF at ${at}`);
  }
  expect(records.pop()).toEqual([]);
  return records;
}

function plain(text: string, from: number): [string, number] {
  let at = from;
  while (at < text.length && text[at] !== ',' && !text.startsWith('\r\n', at)) {
    if ('"\r\n'.includes(text[at] ?? '')) throw new Error(`a bare ${JSON.stringify(text[at])} at ${at}`);
    at += 1;
  }
  return [text.slice(from, at), at];
}

function quoted(text: string, from: number): [string, number] {
  let cell = '';
  for (let at = from + 1; ;) {
    const end = text.indexOf('"', at);
    if (end === -1) throw new Error('a quote that is not closed');
    cell += text.slice(at, end);
    if (text[end + 1] !== '"') return [cell, end + 1];
    cell += '"';
    at = end + 2;
  }
}

/** What was written, without the mark. */
const unmarked = (cell: string): string =>
  cell.startsWith("'") && couldBeFormula(cell.slice(1)) ? cell.slice(1) : cell;

const hostile = fc
  .array(fc.constantFrom(...'=+-@\t\r\n\0＝＋－＠\'",; \u00a0\u200b\u202e\ufeffa1('), {
    minLength: 1,
    maxLength: 6,
  })
  .map((characters) => characters.join(''));
const none = new Set<number>();

describe('CSV', () => {
  it('is what a strict parser reads, with equal values', () => {
    const rows = fc.array(fc.tuple(hostile, fc.string({ minLength: 1, unit: 'binary' }), hostile), {
      minLength: 1,
    });
    fc.assert(
      fc.property(rows, (values) => {
        const text = values.map((row) => csvRow(row, none)).join('');
        expect(parse(text).map((row) => row.map(unmarked))).toEqual(values);
      }),
    );
  });

  it('has no cell that a spreadsheet takes for a formula', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        const [[cell = ''] = []] = parse(csvRow([value, 'x'], none));
        expect('=+-@\t\r\n\0＝＋－＠'.includes([...cell.trimStart()][0] ?? ' ')).toBe(false);
      }),
    );
    const marked = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '\n=1',
      '\0=1',
      '  =1',
      '＝1',
      '＋1',
      '－1',
      '＠1',
    ];
    for (const value of [...marked, '\u200b=1', '\u202e=1', '\u00a0=1', "'=1"]) {
      expect(csvRow([value], none), JSON.stringify(value)).toMatch(/^"?'/);
    }
    for (const value of ['a=1', "it's", "'quoted'", 'x-1', ''])
      expect(csvRow([value], none)).not.toMatch(/^"?''/);
  });

  it('writes numbers as they are where a column holds nothing else', () => {
    expect(csvRow([-1, -1, '-1', 1e21], new Set([0, 2, 3]))).toBe("-1,'-1,'-1,1e+21\r\n");
  });

  it('writes nothing for null, JCS for objects, and words for booleans', () => {
    expect(csvRow([null, { b: [1], a: '=' }, true, []], none)).toBe(',"{""a"":""="",""b"":[1]}",true,[]\r\n');
    expect(csvHeader(['eventId', 'runId'])).toBe('eventId,runId\r\n');
  });
});
