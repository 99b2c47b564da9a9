/**
 * Which rows of a report are printed: at most 1,000, all exceptions first, then a sample of the others. The data hash is
 * the seed of the sample, so anybody can draw it again from the attached CSV: row r of table t (from 1, as in the CSV)
 * has the rank SHA-256("DATAHASH:t:r"), and the rows with the smallest ranks are printed. Nobody can choose the rows
 * without changing the data. Proven by `test/core/reports/printed-rows.test.ts`.
 */
import { hash as digest } from 'node:crypto';
import type { Report, ReportTable } from './model.ts';

export const maxPrintedRows = 1000;

/** Positions in the rows of a table, from 0, ascending. */
export interface PrintedRows {
  readonly exceptions: readonly number[];
  readonly others: readonly number[];
  /** Whether `others` is a sample rather than all of them. */
  readonly isSample: boolean;
}

const exceptionsOf = ({ exceptions, rows }: ReportTable): number =>
  Math.max(0, Math.min(exceptions, rows.length));

/**
 * Returns the rows to print of each table, in the order of the tables. Exceptions come first, in the order of the tables;
 * then each table gets an equal share of what is left, and what one does not need goes to the others.
 */
export function choosePrinted({ tables }: Pick<Report, 'tables'>, hash: string): PrintedRows[] {
  let left = maxPrintedRows;
  const exceptions = tables.map((table) => {
    const count = Math.min(left, exceptionsOf(table));
    left -= count;
    return count;
  });
  const shares = shareOut(
    tables.map((table) => table.rows.length - exceptionsOf(table)),
    left,
  );
  return tables.map((table, at) => {
    const first = exceptionsOf(table);
    const share = shares[at] ?? 0;
    const isSample = share < table.rows.length - first;
    return {
      exceptions: range(0, exceptions[at] ?? 0),
      others: isSample ? drawn(table, share, hash) : range(first, table.rows.length),
      isSample,
    };
  });
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

/** The smallest needs are met first, so that their rest goes to the larger ones. */
function shareOut(needs: readonly number[], available: number): number[] {
  const shares = needs.map(() => 0);
  let left = available;
  const order = range(0, needs.length).sort((a, b) => (needs[a] ?? 0) - (needs[b] ?? 0) || a - b);
  order.forEach((table, at) => {
    const share = Math.min(needs[table] ?? 0, Math.floor(left / (order.length - at)));
    shares[table] = share;
    left -= share;
  });
  return shares;
}

function drawn(table: ReportTable, count: number, hash: string): number[] {
  const ranked = range(exceptionsOf(table), table.rows.length).map((row) => ({
    row,
    rank: digest('sha256', `${hash}:${table.id}:${row + 1}`, 'hex'),
  }));
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked
    .slice(0, count)
    .map(({ row }) => row)
    .sort((a, b) => a - b);
}
