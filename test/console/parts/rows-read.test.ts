import { describe, expect, it } from 'vitest';
import { firstPage, newerPage, nextPage } from '../../../src/console/parts/rows-read.ts';

interface Row {
  readonly id: string;
  readonly state: string;
}
const idOf = ({ id }: Row): string => id;
const rowsOf = (text: string): Row[] => text.split(' ').map((id) => ({ id, state: 'old' }));
const newer = (text: string): Row[] => text.split(' ').map((id) => ({ id, state: 'new' }));
const shown = (rows: readonly Row[]): string => rows.map(({ id, state }) => `${id}:${state}`).join(' ');

describe('the rows of a list that somebody reads', () => {
  it('a first page that nobody reads becomes the newer one, with its cursor', () => {
    const read = firstPage({ data: rowsOf('c b a'), nextCursor: null });
    const after = newerPage(read, { data: newer('d c a'), nextCursor: 'x' }, { idOf, mayMove: true });
    expect(after).toEqual({ rows: newer('d c a'), cursor: 'x', pages: 1, waiting: 0 });
  });

  it('rows that somebody reads change where they are, and new ones wait', () => {
    const read = firstPage({ data: rowsOf('c b a'), nextCursor: null });
    const after = newerPage(read, { data: newer('e d c a'), nextCursor: null }, { idOf, mayMove: false });
    expect(shown(after.rows)).toBe('c:new b:old a:new');
    expect(after.waiting).toBe(2);
    const later = newerPage(after, { data: newer('e d c a'), nextCursor: null }, { idOf, mayMove: true });
    expect(later).toMatchObject({ rows: newer('e d c a'), waiting: 0 });
  });

  it('several pages stay, with the cursor of the last one, also where nobody reads', () => {
    const first = firstPage({ data: rowsOf('d c'), nextCursor: 'after c' });
    const read = nextPage(first, { data: rowsOf('b a'), nextCursor: 'after a' });
    const after = newerPage(read, { data: newer('e d'), nextCursor: 'after d' }, { idOf, mayMove: true });
    expect(shown(after.rows)).toBe('d:new c:old b:old a:old');
    expect(after).toMatchObject({ cursor: 'after a', pages: 2, waiting: 1 });
  });

  it('an empty list shows its first rows', () => {
    const read = firstPage<Row>({ data: [], nextCursor: null });
    const after = newerPage(read, { data: newer('a'), nextCursor: null }, { idOf, mayMove: false });
    expect(after).toMatchObject({ rows: newer('a'), waiting: 0 });
  });
});
