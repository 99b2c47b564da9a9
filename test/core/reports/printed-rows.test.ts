import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { choosePrinted, maxPrintedRows } from '../../../src/core/reports/printed-rows.ts';
import type { ReportTable } from '../../../src/core/reports/model.ts';

const table = (id: string, rows: number, exceptions = 0): ReportTable => ({
  id,
  title: id,
  columns: [{ name: 'a', title: 'A', kind: 'number' }],
  population: rows,
  scope: '',
  omitted: null,
  exceptions,
  rows: Array.from({ length: rows }, (_, at) => [at]),
  completeness: { status: 'proven', detail: '' },
});
const hash = `sha256:${'ab'.repeat(32)}`;
const printed = (...tables: ReportTable[]): number[] =>
  choosePrinted({ tables }, hash).map(({ exceptions, others }) => exceptions.length + others.length);

describe('which rows of a report are printed', () => {
  it('a report of exactly 1,000 rows prints all of them, and one more makes a sample', () => {
    const [all] = choosePrinted({ tables: [table('a', maxPrintedRows, 3)] }, hash);
    expect(all).toMatchObject({ exceptions: [0, 1, 2], isSample: false });
    expect(all!.others).toHaveLength(997);
    const [sampled] = choosePrinted({ tables: [table('a', maxPrintedRows + 1, 3)] }, hash);
    expect(sampled!.isSample).toBe(true);
    expect(sampled!.others).toHaveLength(997);
  });

  it('all tables together print at most 1,000 rows, and a small table is printed whole', () => {
    expect(printed(table('a', 5000), table('b', 10), table('c', 5000))).toEqual([495, 10, 495]);
  });

  it('exceptions of every table come before the sample of any', () => {
    expect(printed(table('a', 5000, 0), table('b', 900, 900))).toEqual([100, 900]);
  });

  it('more exceptions than 1,000 leave no row for samples', () => {
    expect(choosePrinted({ tables: [table('a', 3000, 2000)] }, hash)[0]).toMatchObject({
      exceptions: { length: 1000 },
      others: [],
    });
  });

  it('anybody draws the same sample from the data hash, the table and the row numbers', () => {
    const rows = Array.from({ length: 3000 }, (_, at) => at + 1);
    const rank = (row: number): string => createHash('sha256').update(`${hash}:calls:${row}`).digest('hex');
    const again = rows
      .filter((row) => row > 7)
      .toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
      .slice(0, 993);
    const [{ others } = { others: [] }] = choosePrinted({ tables: [table('calls', 3000, 7)] }, hash);
    expect(others.map((at) => at + 1)).toEqual(again.toSorted((a, b) => a - b));
  });

  it('another data hash draws another sample', () => {
    const other = choosePrinted({ tables: [table('a', 3000)] }, `sha256:${'cd'.repeat(32)}`);
    expect(other).not.toEqual(choosePrinted({ tables: [table('a', 3000)] }, hash));
  });
});
