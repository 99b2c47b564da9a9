/**
 * Tables over pages: columns as wide as their content needs, the header on each page, rows never split. The first header
 * is tagged; its repetitions are artifacts. Proven by `test/core/reports/pdf/render.test.ts`.
 */
import type { Flow } from './flow.ts';
import type { Face, Style } from './typesetter.ts';

export interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
  readonly face: Face;
  /** A text that does not break, such as a time; the width follows from it where there is room. */
  readonly isFirm: boolean;
}

export interface Cell {
  readonly text: string;
  readonly color?: string;
  readonly face?: Face;
}

interface Look {
  readonly size: number;
  readonly lineHeight: number;
  readonly gap: number;
  readonly padding: number;
}

/** A longer cell is cut, and says so. */
const maxCellLines = 14;
const maxCellChars = 3000;
const columnMinimum = 26;
/** A column of at most this width does not break where there is room. */
const shortWidth = 72;
/** A word of at most this width does not break where there is room; an id or a hash is wider. */
const wordWidth = 100;

/** A table of more columns is set on turned paper. */
export const isWide = (columns: number): boolean => columns > 9;

/** Draws the table. Cost: about 1 ms a row. */
export function setTable(flow: Flow, columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
  const size = columns.length > 12 ? 6.4 : columns.length > 6 ? 6.9 : 7.6;
  const look: Look = { size, lineHeight: size * 1.36, gap: 11, padding: 3.4 };
  const table = new Table(flow, columns, look);
  table.measure(rows);
  table.set(rows);
}

class Table {
  readonly #flow: Flow;
  readonly #columns: readonly Column[];
  readonly #look: Look;
  #widths: readonly number[] = [];
  #headLines: readonly string[][] = [];

  constructor(flow: Flow, columns: readonly Column[], look: Look) {
    this.#flow = flow;
    this.#columns = columns;
    this.#look = look;
  }

  #style(at: number, cell?: Cell): Style {
    const column = this.#columns[at];
    const face = cell?.face ?? column?.face ?? 'regular';
    // the monospaced face is wide
    const size = face === 'mono' ? this.#look.size * 0.92 : this.#look.size;
    return this.#flow.style(face, size, cell?.color);
  }

  #headStyle(): Style {
    return this.#flow.style('bold', this.#look.size, this.#flow.colors.muted);
  }

  /** Chooses the widths: what the content needs where it fits, else less for the columns that can break. */
  measure(rows: readonly (readonly Cell[])[]): void {
    const { type, width } = this.#flow;
    const needs = this.#columns.map((column, at) => {
      const head = type.width(type.printable(column.title, 'bold'), this.#headStyle());
      const longestWord = Math.max(
        ...column.title.split(' ').map((word) => type.width(type.printable(word, 'bold'), this.#headStyle())),
      );
      let [widest, word] = [0, 0];
      for (const row of rows) {
        const cell = row[at];
        if (cell === undefined || cell.text === '') continue;
        const style = this.#style(at, cell);
        // a long text breaks anyway: no need to measure it
        const text = type.printable(cell.text.slice(0, 90), style.face).replaceAll('\n', ' ');
        widest = Math.max(widest, type.width(text, style));
        word = Math.max(word, type.width(longestOf(text.split(' ')), style));
      }
      const isShort = column.face !== 'mono' && widest <= shortWidth;
      const isWhole = column.isFirm || column.align === 'right' || isShort;
      const inWords =
        column.face !== 'mono' && word <= wordWidth ? Math.max(word, columnMinimum) : columnMinimum;
      const least = isWhole ? widest : Math.min(inWords, widest);
      // a title breaks between words before a cell breaks
      return { wanted: Math.max(head, widest) + 0.5, least: Math.max(longestWord, least) + 0.5 };
    });
    this.#widths = fitted(needs, width - this.#look.gap * (this.#columns.length - 1));
    this.#headLines = this.#columns.map(({ title }, at) =>
      this.#lines({ text: title }, this.#headStyle(), at),
    );
  }

  #lines(cell: Cell, style: Style, at: number): string[] {
    const { type } = this.#flow;
    const isLong = cell.text.length > maxCellChars;
    const shown = isLong ? cell.text.slice(0, maxCellChars) : cell.text;
    const lines = type.wrap(type.printable(shown.toWellFormed(), style.face), style, this.#widths[at] ?? 0);
    if (lines.length <= maxCellLines && !isLong) return lines;
    return [...lines.slice(0, maxCellLines - 1), '… (whole text: attached file)'];
  }

  set(rows: readonly (readonly Cell[])[]): void {
    const { lineHeight, padding } = this.#look;
    const headHeight = this.#heightOf(this.#headLines);
    const flow = this.#flow;
    flow.ensure(headHeight + lineHeight + 2 * padding);
    flow.within('Table', () => {
      this.#head();
      flow.within('TBody', () => {
        for (const row of rows) this.#row(row);
      });
    });
    flow.y += 10;
  }

  #heightOf(cells: readonly (readonly string[])[]): number {
    return Math.max(1, ...cells.map(({ length }) => length)) * this.#look.lineHeight + 2 * this.#look.padding;
  }

  #drawLines(lines: readonly string[], at: number, style: Style): void {
    const { padding, lineHeight } = this.#look;
    const x = this.#x(at);
    lines.forEach((line, index) => {
      const y = this.#flow.y + padding + index * lineHeight;
      if (this.#columns[at]?.align === 'right')
        this.#flow.lineTo(line, x + (this.#widths[at] ?? 0), y, style);
      else this.#flow.line(line, x, y, style);
    });
  }

  #x(at: number): number {
    let { left: x } = this.#flow;
    for (let before = 0; before < at; before += 1) x += (this.#widths[before] ?? 0) + this.#look.gap;
    return x;
  }

  #head(): void {
    const flow = this.#flow;
    const style = this.#headStyle();
    flow.within('THead', () => {
      flow.within('TR', () => {
        this.#headLines.forEach((lines, at) => {
          flow.tagged('TH', () => this.#drawLines(lines, at, style), { scope: 'Column' });
        });
      });
    });
    this.#headRule();
  }

  #headRule(): void {
    this.#flow.y += this.#heightOf(this.#headLines);
    this.#flow.rule(this.#flow.y, { color: this.#flow.colors.heading, width: 0.9 });
  }

  #row(row: readonly Cell[]): void {
    const flow = this.#flow;
    const cells = this.#columns.map((_, at) => {
      const cell = row[at] ?? { text: '' };
      const style = this.#style(at, cell);
      return { style, lines: this.#lines(cell, style, at) };
    });
    const height = this.#heightOf(cells.map(({ lines }) => lines));
    if (flow.y + height > flow.bottom) {
      flow.newPage();
      const style = this.#headStyle();
      flow.artifact(
        () => this.#headLines.forEach((lines, at) => this.#drawLines(lines, at, style)),
        'Pagination',
      );
      this.#headRule();
    }
    flow.within('TR', () => {
      cells.forEach(({ style, lines }, at) => {
        flow.tagged('TD', () => this.#drawLines(lines, at, style));
      });
    });
    flow.y += height;
    flow.rule(flow.y, { width: 0.35 });
  }
}

const longestOf = (words: readonly string[]): string =>
  words.reduce((longest, word) => (word.length > longest.length ? word : longest), '');

interface WidthNeed {
  readonly wanted: number;
  readonly least: number;
}

/** Shares the width of the page among the columns. */
function fitted(needs: readonly WidthNeed[], width: number): number[] {
  const wanted = needs.reduce((sum, need) => sum + need.wanted, 0);
  if (wanted <= width) {
    const spare = Math.min((width - wanted) / needs.length, 24);
    return needs.map((need) => need.wanted + spare);
  }
  const least = needs.reduce((sum, need) => sum + need.least, 0);
  if (least >= width) return shrunk(needs, width);
  const share = (width - least) / (wanted - least);
  return needs.map((need) => need.least + (need.wanted - need.least) * share);
}

/** Where even the least is too wide: narrow columns stay, the widest give. */
function shrunk(needs: readonly WidthNeed[], width: number): number[] {
  let cap = width / needs.length;
  for (let round = 0; round < needs.length; round += 1) {
    const narrow = needs.filter(({ least }) => least <= cap);
    const rest = width - narrow.reduce((sum, { least }) => sum + least, 0);
    if (narrow.length === needs.length) break;
    cap = rest / (needs.length - narrow.length);
  }
  return needs.map(({ least }) => Math.min(least, cap));
}
