/**
 * Text blocks of a screen: panels with borders, bars, sparklines, columns side by side. Each function returns
 * lines of an exact width, measured in terminal columns, so that nothing on a screen depends on what a remote text contains.
 * Tested by `test/cli/screens/draw.test.ts`.
 */
import { Safe, safe, stylesFor, type Styles } from '../terminal/safe.ts';
import { characterWidth, cut, pad, widthOf } from '../terminal/width.ts';

export interface ScreenStyle {
  readonly styles: Styles;
}

export const lookFor = (color: boolean): ScreenStyle => ({ styles: stylesFor(color) });

/** Remote text on one line. */
export const remote = (text: string): Safe => Safe.cell(text);

/** Exactly `columns` wide: cut with `…`, or filled with blanks. For text without styles. */
export const fit = (text: Safe | string, columns: number): Safe =>
  columns <= 0 ? safe`` : pad(cut(typeof text === 'string' ? remote(text) : text, columns), columns);

/** As `fit`, for lines that may have styles: too long ones lose their styles. */
export const fitLine = (line: Safe, columns: number): Safe =>
  widthOf(line) <= columns ? pad(line, columns) : fit(unstyled(line), columns);

// oxlint-disable-next-line no-control-regex -- our own SGR codes
const sgr = /\u001b\[[0-9]+m/g;
const unstyled = (line: Safe): Safe => Safe.cell(String(line).replace(sgr, ''));

/** Stale: dim, without other styles, which would end the dimming. */
export const dimmed = (lines: readonly Safe[], { styles }: ScreenStyle): Safe[] =>
  lines.map((line) => styles.dim(unstyled(line)));

/** Aligned to the right. */
export const right = (text: Safe | string, columns: number): Safe => {
  const whole = cut(typeof text === 'string' ? remote(text) : text, columns);
  return safe`${' '.repeat(Math.max(0, columns - widthOf(whole)))}${whole}`;
};

const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** The newest `columns` values as small bars; the highest has the full height. */
export function sparkline(values: readonly number[], columns: number): Safe {
  const shown = values.slice(-Math.max(0, columns));
  const most = Math.max(...shown, 0);
  const bars = shown.map((value) =>
    most === 0 ? levels[0] : levels[Math.min(7, Math.floor((value / most) * 7.999))],
  );
  return fit(Safe.cell(bars.join('')), columns);
}

/** `╭ title ───╮`, the lines, `╰───╯`: exactly `columns` × `rows`. Lines that do not fit are left out. */
export function panel(
  { title, lines, isBad = false }: { title: string; lines: readonly Safe[]; isBad?: boolean },
  size: { readonly columns: number; readonly rows: number },
  { styles }: ScreenStyle,
): Safe[] {
  const inner = size.columns - 4;
  const name = cut(safe` ${isBad ? '! ' : ''}${title} `, size.columns - 2);
  const top = safe`╭${name}${'─'.repeat(size.columns - 2 - widthOf(name))}╮`;
  const shown = lines.slice(0, Math.max(0, size.rows - 2));
  const blank = Array.from({ length: size.rows - 2 - shown.length }, () => safe``);
  return [
    isBad ? styles.red(top) : top,
    ...[...shown, ...blank].map((line) => safe`│ ${fitLine(line, inner)} │`),
    safe`╰${'─'.repeat(size.columns - 2)}╯`,
  ].slice(0, Math.max(0, size.rows));
}

/** Joins blocks of equal height from left to right. */
export const beside = (...blocks: readonly (readonly Safe[])[]): Safe[] =>
  (blocks[0] ?? []).map((_, at) =>
    Safe.join(
      blocks.map((block) => block[at] ?? safe``),
      '',
    ),
  );

/** The end of a text, at most `columns` wide. */
export function tail(text: string, columns: number): Safe {
  const whole = remote(text);
  const characters = [...String(whole)];
  let left = columns - 1;
  if (widthOf(whole) <= columns) return whole;
  const first = characters.findLastIndex((each) => (left -= widthOf(Safe.cell(each))) < 0);
  return Safe.cell(`…${characters.slice(first + 1).join('')}`);
}

/** Exactly `rows` lines. */
export const filled = (lines: readonly Safe[], rows: number): Safe[] => [
  ...lines.slice(0, rows),
  ...Array.from({ length: Math.max(0, rows - lines.length) }, () => safe``),
];

/**
 * Breaks text at blanks, and inside long words. At most `most` lines; the last says if there is more. Cost: linear, 64 KiB
 * in about 3 ms.
 */
export function folded(text: string, columns: number, most: number): Safe[] {
  const lines: Safe[] = [];
  let rest = String(remote(text));
  while (lines.length < most) {
    const head = headOf(rest, columns);
    lines.push(Safe.cell(head));
    if (head.length === rest.length) return lines;
    rest = rest.slice(head.length).trimStart();
  }
  return [...lines.slice(0, most - 1), safe`… more: -o json shows everything`];
}

/** What fits: up to the last blank, unless that would leave most of the line empty. */
function headOf(text: string, columns: number): string {
  let taken = '';
  let width = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    taken += character;
  }
  if (taken.length === text.length) return taken;
  const blank = taken.lastIndexOf(' ');
  return blank > taken.length / 2 ? taken.slice(0, blank) : taken || text.slice(0, 1);
}
