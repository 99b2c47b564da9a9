/** A table keeps its bounds: exceptions first, the rest counted. */
import { describe, expect, it } from 'vitest';
import { Rows } from '../../../../src/service/reports/templates/rows.ts';
import { columns } from '../../../../src/service/reports/templates/source.ts';

const spec = {
  id: 't',
  title: 'T',
  lists: 'all',
  columns: columns({ name: 'Name', n: ['N', 'number'] }),
  rest: 'Elsewhere.',
};
const roomy = { rows: 3, bytes: 2 ** 20 };

describe('the rows of a table', () => {
  it('a table with as many rows as it may have leaves none out', () => {
    const rows = new Rows(spec, roomy);
    for (const n of [1, 2, 3]) rows.add(['a', n]);
    expect(rows.table()).toMatchObject({ population: 3, omitted: null, exceptions: 0 });
  });

  it('one row more is counted, and the table says so', () => {
    const rows = new Rows(spec, roomy);
    for (const n of [1, 2, 3, 4]) rows.add(['a', n]);
    const table = rows.table();
    expect(table.rows).toEqual([
      ['a', 1],
      ['a', 2],
      ['a', 3],
    ]);
    expect(table.population).toBe(4);
    expect(table.omitted).toBe('1 row is left out: a table has at most 3 rows and 1 MiB of text. Elsewhere.');
  });

  it('an exception comes first and takes the place of the newest other row', () => {
    const rows = new Rows(spec, roomy);
    for (const n of [1, 2, 3]) rows.add(['a', n]);
    rows.add(['bad', 4], true);
    const table = rows.table();
    expect(table.rows).toEqual([
      ['bad', 4],
      ['a', 1],
      ['a', 2],
    ]);
    expect(table).toMatchObject({ population: 4, exceptions: 1 });
    expect(table.omitted).toContain('1 row is left out');
  });

  it('exceptions beyond the bound are counted too', () => {
    const rows = new Rows(spec, roomy);
    for (const n of [1, 2, 3, 4, 5]) rows.add(['bad', n], true);
    expect(rows.table()).toMatchObject({ population: 5, exceptions: 3 });
    expect(rows.exceptions).toBe(5);
    expect(rows.table().omitted).toContain('2 rows are left out');
  });

  it('rows beyond the bytes of the table are left out, and a smaller one may follow', () => {
    const rows = new Rows(spec, { rows: 10, bytes: 40 });
    rows.add(['x'.repeat(20), 1]);
    rows.add(['x'.repeat(20), 2]);
    expect(rows.table()).toMatchObject({ population: 2, rows: [['x'.repeat(20), 1]] });
  });

  it('rows that nobody kept are part of the population', () => {
    const rows = new Rows(spec, roomy);
    rows.add(['a', 1]);
    rows.leaveOut(7);
    expect(rows.table()).toMatchObject({ population: 8, rows: [['a', 1]] });
  });

  it('refuses a row with another number of cells than the table has columns', () => {
    expect(() => new Rows(spec).add(['a'])).toThrow('expected 2 cells in a row of t, got 1');
  });
});
