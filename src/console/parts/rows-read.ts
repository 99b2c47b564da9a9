/**
 * The rows of a list while somebody reads it: what the service answers later changes rows where they are, and moves none
 * that a person reads. Proven by `test/console/parts/rows-read.test.ts`.
 */

/** A part of a list, as the API returns it. */
export interface Page<Row> {
  readonly data: readonly Row[];
  readonly nextCursor: string | null;
}

export interface RowsRead<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | null;
  /** How many pages `rows` come from. */
  readonly pages: number;
  /** How many new rows wait until they may be shown. */
  readonly waiting: number;
}

export const firstPage = <Row>({ data, nextCursor }: Page<Row>): RowsRead<Row> => ({
  rows: data,
  cursor: nextCursor,
  pages: 1,
  waiting: 0,
});

export const nextPage = <Row>(
  { rows, pages, waiting }: RowsRead<Row>,
  { data, nextCursor }: Page<Row>,
): RowsRead<Row> => ({ rows: [...rows, ...data], cursor: nextCursor, pages: pages + 1, waiting });

interface Reader<Row> {
  readonly idOf: (row: Row) => string;
  /** Whether rows may appear, vanish and move. */
  readonly mayMove: boolean;
}

/** The rows after the first page was read once more. More pages than one stay, and only rows of the first one change. */
export function newerPage<Row>(
  before: RowsRead<Row>,
  page: Page<Row>,
  { idOf, mayMove }: Reader<Row>,
): RowsRead<Row> {
  if (before.pages === 1 && (mayMove || before.rows.length === 0)) return firstPage(page);
  const known = new Set(before.rows.map(idOf));
  const newer = new Map(page.data.map((row) => [idOf(row), row]));
  return {
    ...before,
    rows: before.rows.map((row) => newer.get(idOf(row)) ?? row),
    waiting: page.data.filter((row) => !known.has(idOf(row))).length,
  };
}
