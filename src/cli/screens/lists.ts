/** Lists and texts as screens show them. Tested by `test/cli/screens/lists.test.ts`. */
import { safe, type Safe, type Styles } from '../terminal/safe.ts';
import { fit, folded, tail, type ScreenStyle } from './draw.ts';
import { bodyRows, filterOf, firstVisible, type Common, type LoadState } from './model.ts';
import { counted, number } from '../terminal/numbers.ts';
import { widthOf } from '../terminal/width.ts';

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
export function listLines<Row>(
  { rows, columns, cursor, size }: ListOptions<Row>,
  { styles }: ScreenStyle,
): Safe[] {
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

interface ListTextOptions<Row> extends Pick<ListOptions<Row>, 'rows' | 'columns'> {
  /** How many rows there are without the filter. */
  readonly all: number;
  /** There are more rows than were read. */
  readonly isCut?: boolean;
  /** One row: `run`. */
  readonly noun: string;
  /** Follows the count. */
  readonly note: string;
  /** Lines below the count. */
  readonly notes?: readonly Safe[];
}

/** A line with the count, notes, and the list. */
export function listText<Row>(
  state: Common,
  { rows, columns, all, isCut = false, noun, note, notes = [] }: ListTextOptions<Row>,
  look: ScreenStyle,
): Text {
  const count = countText({ shown: rows.length, all, isCut, filter: filterOf(state), noun });
  const head = [safe` ${count}${note}`, ...notes];
  const size = { columns: state.columns, rows: bodyRows(state) - head.length };
  return still([...head, ...listLines({ rows, columns, cursor: state.list.cursor, size }, look)]);
}

interface ListCounts {
  readonly shown: number;
  readonly all: number;
  readonly isCut: boolean;
  readonly filter: string;
  readonly noun: string;
}

/** `1 run`, `200+ runs`, or `3 of 200 runs with "pay"`. */
export function countText({ shown, all, isCut, filter, noun }: ListCounts): string {
  const most = isCut ? `${number(all)}+ ${noun}s` : counted(all, noun);
  const which = filter === '' ? '' : ` with "${filter}"`;
  return shown === all && which === '' ? most : `${number(shown)} of ${most}${which}`;
}

/** What the person types, with its end visible. */
export function typingLine(
  { label, text, hint }: { readonly label: Safe; readonly text: string; readonly hint: string },
  columns: number,
): Safe {
  const room = Math.max(8, columns - widthOf(label) - hint.length - 6);
  return safe` ${label} ${tail(text, room)}█  ${hint}`;
}

export const filterLine = (text: string, columns: number): Safe =>
  typingLine({ label: safe`filter:`, text, hint: 'enter keeps, esc clears' }, columns);

export interface Text {
  readonly lines: readonly Safe[];
  /** The greatest useful `scroll`. */
  readonly lastScroll: number;
}

/** Lines that do not scroll. */
export const still = (lines: readonly Safe[]): Text => ({ lines, lastScroll: 0 });

/** The lines of text from `scroll` on. Long lines are folded; the last line says if more follow. `most`: lines of one value. */
export function textLines(
  lines: readonly string[],
  state: Pick<Common, 'scroll' | 'columns' | 'rows'>,
  most = foldedLines,
): Text {
  const { scroll, columns } = state;
  const rows = bodyRows(state);
  const all = lines.flatMap((line) => {
    const indent = /^ */.exec(line)?.[0].length ?? 0;
    // indent and part together fit, because the frame cuts what does not
    const room = Math.max(leastFolded, columns - 2 - indent);
    const lead = ' '.repeat(1 + Math.max(0, Math.min(indent, columns - 2 - room)));
    return folded(line.slice(indent), room, most).map((part) => safe`${lead}${part}`);
  });
  const lastScroll = Math.max(0, all.length - rows);
  const from = Math.min(scroll, lastScroll);
  const shown = all.slice(from, from + rows);
  if (from === lastScroll) return { lines: shown, lastScroll };
  const more = safe` … ${number(lastScroll - from + 1)} lines more: down`;
  return { lines: [...shown.slice(0, -1), more], lastScroll };
}

/** Columns of text that a deep indent leaves. */
const leastFolded = 20;
/** Lines that one long value may take. */
const foldedLines = 40;

/** Lines for a part that is loaded, or why it is not there. */
export function whenReady<Value>(
  loading: LoadState<Value>,
  { what, columns, look }: { readonly what: string; readonly columns: number; readonly look: ScreenStyle },
  text: (value: Value) => Text,
): Text {
  if (loading.state === 'loading') return still([safe``, safe` loading ${what} …`]);
  if (loading.state === 'ready') return text(loading.value);
  return still([safe``, ...faultLines(loading.why, columns, look), safe`   r loads again, esc goes back`]);
}

/** Why something failed, over as many lines as it needs: its end says what to do. */
export const faultLines = (why: string, columns: number, { styles }: ScreenStyle): Safe[] =>
  folded(why, columns - 4, foldedLines).map((line, at) => safe` ${at === 0 ? styles.red('✗') : ' '} ${line}`);

/** Colours of decisions; the word says the same. */
export function paintDecision(decision: string | null, { red, yellow, green }: Styles) {
  if (decision === null) return undefined;
  if (/^(deny|denied|blocked)/.test(decision)) return red;
  if (/^(escalate|warn|pending)/.test(decision)) return yellow;
  return /^(allow|approve)/.test(decision) ? green : undefined;
}
