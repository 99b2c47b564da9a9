import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvHeader, csvRow } from '../../src/core/csv.ts';
import { canonicalize } from '../../src/core/json/parse.ts';
import { isFormula, unmarked } from '../support/unmarked.ts';
import { threadMs } from '../thread-ms.ts';

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

const hostile = fc
  .array(
    fc.constantFrom(
      ...'=+-@\t\r\n\0＝＋－＠﹦﹢﹣﹫\'",;| \u00a0\u200b\u202e\ufeff\u3164\u2800\ufe0f\u0001a1(',
    ),
    {
      minLength: 1,
      maxLength: 9,
    },
  )
  .map((characters) => characters.join(''));
const none = new Set<number>();

describe('CSV', () => {
  it('a strict CSV parser reads the written rows with equal values', () => {
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

  it('a CSV file contains no cell that a spreadsheet takes for a formula', () => {
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

  it('a CSV file has no formula either when a program splits it at other characters', () => {
    const rows = fc.array(fc.tuple(hostile, hostile, fc.record({ n: hostile })), { minLength: 1 });
    fc.assert(
      fc.property(rows, (values) => {
        const text = values.map((row) => csvRow(row, none)).join('');
        for (const field of text.split(/[;\t|\r\n]/)) expect(isFormula(field), field).toBe(false);
        expect(parse(text).map((row) => row.map(unmarked))).toEqual(
          values.map(([one, two, object]) => [one, two, canonicalize(object)]),
        );
      }),
    );
    expect(csvRow(['x;=1+1;y'], none)).toBe("x;'=1+1;y\r\n");
    expect(csvRow([{ n: 'x;=1' }], none)).toBe(`"{""n"":""x;'=1""}"\r\n`);
    expect(csvRow(['a\n=WEBSERVICE(A1)\nb'], none)).toBe(`"a\n'=WEBSERVICE(A1)\nb"\r\n`);
    expect(csvRow(['a; b\r\n\r\nc|d'], none)).toBe('"a; b\r\n\r\nc|d"\r\n');
  });

  it('the time to write a CSV row is linear in the text', () => {
    const started = threadMs();
    for (const unit of ['\n', ' ', "'", '\u200b', ';', ';=', '\t ']) csvRow([unit.repeat(100_000)], none);
    expect(threadMs() - started).toBeLessThan(5000);
  });

  it('CSV writes numbers unchanged in columns that contain only numbers', () => {
    expect(csvRow([-1, -1, '-1', 1e21], new Set([0, 2, 3]))).toBe("-1,'-1,'-1,1e+21\r\n");
  });

  it('CSV writes nothing for null, JCS for objects, and words for booleans', () => {
    expect(csvRow([null, { b: [1], a: '=' }, true, []], none)).toBe(',"{""a"":""="",""b"":[1]}",true,[]\r\n');
    expect(csvHeader(['eventId', 'runId'])).toBe('eventId,runId\r\n');
  });
});
