/** Lists and texts as screens show them. Tested by `test/cli/screens/lists.test.ts`. */
import { safe, type Safe, type Styles } from '../terminal/safe.ts';
import { fit, fitLine, folded, type Look } from './draw.ts';
import { firstVisible, type Loading } from './model.ts';

/** A column: its heading, and its width; the one with `grow` takes what is left. */
interface ListColumn<Row> {
  readonly name: string;
  readonly width: number | 'grow';
  /** Below this width of the screen the column is left out. */
  readonly from?: number;
  readonly cell: (row: Row) => string;
  readonly paint?: (row: Row, styles: Styles) => ((text: Safe) => Safe) | undefined;
}

interface ListOptions<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly ListColumn<Row>[];
  readonly cursor: number;
  readonly size: { readonly columns: number; readonly rows: number };
}

/** A heading and the rows around the cursor, which has `›`. */
export function listLines<Row>({ rows, columns, cursor, size }: ListOptions<Row>, { styles }: Look): Safe[] {
  const shown = columns.filter(({ from = 0 }) => size.columns >= from);
  const fixed = shown.reduce((sum, { width }) => sum + 2 + (width === 'grow' ? 0 : width), 2);
  const widths = shown.map(({ width }) => (width === 'grow' ? Math.max(8, size.columns - fixed) : width));
  const line = (mark: string, cells: readonly Safe[]): Safe =>
    cells.reduce((text, cell, at) => safe`${text}${at === 0 ? '' : '  '}${cell}`, safe`${mark}`);
  const page = Math.max(0, size.rows - 1);
  const first = firstVisible(cursor, rows.length, page);
  return [
    styles.dim(
      line(
        '  ',
        shown.map(({ name }, at) => fit(name.toUpperCase(), widths[at] ?? 0)),
      ),
    ),
    ...rows.slice(first, first + page).map((row, at) => {
      const isChosen = first + at === cursor;
      const cells = shown.map(({ cell, paint }, column) => {
        const text = fit(cell(row), widths[column] ?? 0);
        return paint?.(row, styles)?.(text) ?? text;
      });
      return isChosen ? safe`${styles.bold('› ')}${line('', cells)}` : line('  ', cells);
    }),
  ];
}

interface Counted {
  readonly shown: number;
  readonly all: number;
  /** There are more rows than were read. */
  readonly isCut: boolean;
  readonly filter: string;
}

/** `200+`, or `3 of 200 with "pay"`. */
export function countText({ shown, all, isCut, filter }: Counted): string {
  const most = `${all}${isCut ? '+' : ''}`;
  const which = filter === '' ? '' : ` with "${filter}"`;
  return shown === all && which === '' ? most : `${shown} of ${most}${which}`;
}

/** The lines of text from `scroll` on. Long lines are folded; the last line says if more follow. */
export function textLines(
  lines: readonly string[],
  {
    scroll,
    size,
  }: { readonly scroll: number; readonly size: { readonly columns: number; readonly rows: number } },
): Safe[] {
  const all = lines.flatMap((line) => {
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    return folded(line, Math.max(20, size.columns - 2), foldedLines).map((part, at) =>
      at === 0 ? safe` ${part}` : safe` ${' '.repeat(Math.min(indent, 8))}${part}`,
    );
  });
  const from = Math.min(scroll, Math.max(0, all.length - size.rows));
  const shown = all.slice(from, from + size.rows);
  if (from + size.rows >= all.length) return shown;
  const more = safe` … ${all.length - from - size.rows + 1} lines more: down`;
  return [...shown.slice(0, -1), more];
}

/** Lines that one long value may take. */
const foldedLines = 40;

/** Lines for a part that is loaded, or why it is not there. */
export function whenReady<Value>(
  loading: Loading<Value>,
  { what, columns, styles }: { readonly what: string; readonly columns: number; readonly styles: Styles },
  lines: (value: Value) => Safe[],
): Safe[] {
  if (loading.state === 'loading') return [safe``, safe` loading ${what} …`];
  if (loading.state === 'ready') return lines(loading.value);
  return [
    safe``,
    fitLine(safe` ${styles.red('✗')} ${loading.why}`, columns),
    safe`   r loads again, esc goes back`,
  ];
}

/** Colours of decisions; the word says the same. */
export function paintDecision(decision: string | null, { red, yellow, green }: Styles) {
  if (decision === null) return undefined;
  if (/^(deny|denied|blocked)/.test(decision)) return red;
  if (/^(escalate|warn|pending)/.test(decision)) return yellow;
  return /^(allow|approve)/.test(decision) ? green : undefined;
}
