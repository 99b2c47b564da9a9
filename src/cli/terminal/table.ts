/**
 * Tables that fit the terminal's width, and tab-separated lines with full values for a pipe. Not a package: those print
 * a whole table at once. This one prints page after page in the same widths, and chooses by its kind which column gives way.
 * Tested by `test/cli/terminal/table.test.ts`.
 */
import { marked } from '../../core/csv.ts';
import { aboutDuration } from '../../core/duration.ts';
import { visibleJson } from '../../core/visible.ts';
import { clippedObject } from './clipped.ts';
import { Safe } from './safe.ts';
import type { Styles } from './safe.ts';
import type { Column } from './view.ts';
import { cut, pad, widthOf } from './width.ts';
import { isObject } from '../../core/json/object.ts';

export interface Layout {
  /** Terminal columns; Infinity: cut nothing. */
  readonly width: number;
  /** Shorten times and hashes. */
  readonly short: boolean;
  /** Milliseconds since the epoch, for "2 min ago". */
  readonly now: number;
  readonly styles: Styles;
}

type Row = Readonly<Record<string, unknown>>;

/** Returns `3 min ago`; beyond a month the date. */
export function relativeTime(text: string, now: number): string {
  const at = Date.parse(text);
  if (Number.isNaN(at)) return text;
  const pastMs = Math.abs(now - at);
  if (pastMs < 4500) return 'now';
  if (pastMs >= mostRelativeMs) return text.slice(0, 10);
  const amount = aboutDuration(pastMs);
  return at > now ? `in ${amount}` : `${amount} ago`;
}

const mostRelativeMs = 30 * 86_400_000;

/** Returns the name of an object or list, for a reader who sees one cell of it. */
function brief(value: unknown): string {
  if (Array.isArray(value)) return value.map(brief).join(', ');
  if (!isObject(value)) return String(value);
  const name = value['name'] ?? value['id'];
  return typeof name === 'string' ? name : JSON.stringify(value);
}

/** Returns the full value on one line: text unchanged, other values as JSON that stays JSON in a cell. */
export function fullText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : visibleJson(value);
}

function cellText(value: unknown, kind: Column['kind'], layout: Layout): string {
  if (value === null || value === undefined) return '-';
  if (!layout.short) return fullText(value);
  if (kind === 'time' && typeof value === 'string') return relativeTime(value, layout.now);
  if (kind === 'hash' && typeof value === 'string') return `${value.slice(0, 19)}…`;
  if (kind === 'flag') return value === true ? 'yes' : 'no';
  if (kind === 'json') return clippedObject(value);
  return typeof value === 'string' ? value : brief(value);
}

/** `lastServerTimestamp` has the heading LAST SERVER TIMESTAMP. */
const heading = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();

const gap = 2;
/** Least width of free text before the table drops an identifier at the end. Below is the width after that. */
const comfortable = 16;
const leastWidth = 8;

/** Takes width from the widest free texts; none gets narrower than `least`. */
function shrink(
  widths: number[],
  columns: readonly Column[],
  { least, excess }: { least: number; excess: number },
): void {
  for (let left = excess; left > 0; left -= 1) {
    let widest = -1;
    for (const [at, here] of widths.entries()) {
      if (!/^(?:text|json)$/.test(columns[at]?.kind ?? '') || here <= least) continue;
      if (widest < 0 || here > (widths[widest] ?? 0)) widest = at;
    }
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/**
 * Returns widths that fit. Free text shrinks first, the widest column first; then an identifier at the end is dropped;
 * then more columns at the end. Identifiers, times and counts are never cut.
 */
export function fit(natural: readonly number[], columns: readonly Column[], width: number): number[] {
  const excess = (widths: readonly number[]): number =>
    widths.reduce((sum, each) => sum + each + gap, -gap) - width;
  for (let count = natural.length; ; count -= 1) {
    const isIdLast = count > 1 && columns[count - 1]?.kind === 'id';
    const widths = natural.slice(0, count);
    shrink(widths, columns, { least: isIdLast ? comfortable : leastWidth, excess: excess(widths) });
    if (count <= 1 || excess(widths) <= 0) return widths;
  }
}

/** Lines of a table. It keeps its widths, so that later pages line up with the first. */
export class Table {
  readonly #columns: readonly Column[];
  readonly #layout: Layout;
  #widths: number[] | undefined;

  constructor(columns: readonly Column[], layout: Layout) {
    this.#columns = columns;
    this.#layout = layout;
  }

  /** The first call also returns the header. */
  lines(rows: readonly Row[]): Safe[] {
    const cells = rows.map((row) =>
      this.#columns.map((column) => Safe.cell(cellText(row[column.name], column.kind, this.#layout))),
    );
    if (this.#widths !== undefined) return cells.map((each) => this.#line(each));
    const header = this.#columns.map((column) => Safe.cell(heading(column.name)));
    const natural = header.map((head, at) =>
      cells.reduce((most, each) => Math.max(most, widthOf(each[at] ?? head)), widthOf(head)),
    );
    this.#widths = fit(natural, this.#columns, this.#layout.width);
    return [this.#layout.styles.bold(this.#line(header)), ...cells.map((each) => this.#line(each))];
  }

  #line(cells: readonly Safe[]): Safe {
    const widths = this.#widths ?? [];
    const shown = widths.map((width, at) => {
      const cell = cut(cells[at] ?? Safe.cell(''), width);
      if (this.#columns[at]?.kind === 'count')
        return Safe.join([Safe.cell(' '.repeat(width - widthOf(cell))), cell], '');
      return at === widths.length - 1 ? cell : pad(cell, width);
    });
    return Safe.join(shown, '  ');
  }
}

/** One line for a pipe: full values between tabs; a tab or newline inside a value becomes `\t` or `\n`. */
export const tabbed = (columns: readonly Column[], row: Row): Safe =>
  tabbedLine(columns.map((column) => row[column.name]));

/** As `tabbed`, of values without columns. */
export const tabbedLine = (values: readonly unknown[]): Safe =>
  Safe.join(
    values.map((value) => Safe.cell(fullText(value))),
    '\t',
  );

/**
 * One CSV line (RFC 4180). A `'` precedes text that a spreadsheet would run as a formula, as in exports
 * (`src/core/csv.ts`, contract K10). Numbers stay unchanged.
 */
export function csvLine(values: readonly unknown[]): Safe {
  const cells = values.map((value) => {
    const whole = fullText(value);
    const text = String(Safe.cell(typeof value === 'number' ? whole : marked(whole)));
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return Safe.clean(`${cells.join(',')}`);
}
