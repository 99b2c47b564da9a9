/**
 * Prints an answer whose heart is a table: as one value in the JSON formats, as rows in a pipe, and for people with
 * what stands above and below it. `test/cli/commands/policy/create.test.ts` holds the formats.
 */
import type { Out, Row } from './out.ts';
import { Safe } from './safe.ts';
import { csvLine, tabbed } from './table.ts';
import type { Column } from './view.ts';
import { plainView } from './view.ts';

export interface Report {
  /** The answer as it came. */
  readonly whole: unknown;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly head?: readonly Safe[];
  readonly foot?: readonly Safe[];
}

/** `-o id` prints the first column. */
export async function printReport(out: Out, report: Report): Promise<void> {
  const { whole, columns, rows, head = [], foot = [] } = report;
  if (out.isJson || out.format === 'yaml') return out.one(whole, plainView([]));
  if (out.format === 'id') {
    return out.lines(rows.map((row) => Safe.cell(String(row[columns[0]?.name ?? ''] ?? ''))));
  }
  if (out.isHuman) await out.lines(head);
  await out.table(rows, columns);
  if (out.isHuman) await out.lines(foot);
}

/** Columns of kind text; a name that ends in `Id` is never cut. */
export const textColumns = (names: readonly string[]): Column[] =>
  names.map((name) => ({ name, kind: /^id$|Id$/.test(name) ? 'id' : 'text' }));

/** Lines of several kinds for a pipe, each beginning with its kind: tab-separated, or CSV. */
export const kindLines = (out: Out, lines: readonly (readonly (string | number)[])[]): Safe[] =>
  lines.map((cells) => {
    if (out.format === 'csv') return csvLine(cells);
    const columns = textColumns(cells.map((_, at) => String(at)));
    return tabbed(columns, Object.fromEntries(cells.entries()));
  });
