/**
 * Prints a response that consists mainly of a table: one value in JSON formats, rows in a pipe, and for people also the
 * lines above and below the table. Tested by `test/cli/commands/policy/create.test.ts`.
 */
import type { Out, Row } from './out.ts';
import { Safe } from './safe.ts';
import { csvLine, tabbed } from './table.ts';
import type { Column } from './view.ts';
import { plainView } from './view.ts';

export interface Report {
  /** The unchanged response. */
  readonly whole: unknown;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly head?: readonly Safe[];
  readonly foot?: readonly Safe[];
  /** Present where the table is only the reasons of the result, so that a pipe gets the result too. */
  readonly result?: Result;
}

interface Result {
  /** What the lines around the table say, as `name TAB value`. */
  readonly facts: Row;
  /** The first cell of a row of the table. */
  readonly rowKind: string;
}

/** `-o id` prints the first column, `-o csv` the table alone. */
export async function printReport(out: Out, report: Report): Promise<void> {
  const { whole, columns, rows, head = [], foot = [], result } = report;
  if (out.isJson || out.format === 'yaml') return out.one(whole, plainView([]));
  if (out.format === 'id') {
    return out.lines(rows.map((row) => Safe.cell(String(row[columns[0]?.name ?? ''] ?? ''))));
  }
  if (out.format === 'tsv' && result !== undefined) {
    const { facts, rowKind } = result;
    const reasons = rows.map((row) => [rowKind, ...columns.map(({ name }) => row[name])]);
    return out.lines(kindLines(out, [...Object.entries(facts), ...reasons]));
  }
  if (out.isHuman) await out.lines(head);
  await out.table(rows, columns);
  if (out.isHuman) await out.lines(foot);
}

/** Returns text columns. A column whose name ends in `Id` is never cut. */
export const textColumns = (names: readonly string[]): Column[] =>
  names.map((name) => ({ name, kind: /^id$|Id$/.test(name) ? 'id' : 'text' }));

/** Lines of several kinds for a pipe: each begins with its kind, tab-separated or CSV. */
export const kindLines = (out: Out, lines: readonly (readonly unknown[])[]): Safe[] =>
  lines.map((cells) => {
    if (out.format === 'csv') return csvLine(cells);
    const columns = textColumns(cells.map((_, at) => String(at)));
    return tabbed(columns, Object.fromEntries(cells.entries()));
  });
