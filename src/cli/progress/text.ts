/**
 * The text of a progress line: `checking ████░░░░░░ 41 %, 20,480 of 50,000 leaves, 3,400/s, 00:12 left`. What does not
 * fit a narrow terminal is left out, the rate and the time left last. Tested by `test/cli/progress/text.test.ts`.
 */
import { bytesText } from '../../core/byte-size.ts';
import { number } from '../terminal/numbers.ts';
import { asciiLine } from '../terminal/ascii.ts';
import { safe, type Safe, type Styles } from '../terminal/safe.ts';
import { cut, widthOf } from '../terminal/width.ts';

export interface Amount {
  readonly done: number;
  /** Null if it is unknown. */
  readonly total: number | null;
  readonly unit: 'bytes' | 'events' | 'leaves';
  /** From 0 to 1, where it does not follow from `total`. Null if it is unknown. */
  readonly share?: number | null;
  /** Units that wait for the next step. */
  readonly waiting?: number;
}

export interface ProgressLine {
  /** One or two words: `checking`. */
  readonly what: string;
  /** Without it, the line shows the elapsed time. */
  readonly amount: Amount | undefined;
  readonly elapsedMs: number;
  /** Null before it is measured. */
  readonly perSecond: number | null;
  /** Null if it is unknown. */
  readonly leftMs: number | null;
}

export interface ProgressStyle {
  readonly columns: number;
  readonly isAscii: boolean;
  readonly styles: Styles;
}

/** Returns the part that is done, from 0 to 1; null if the total is unknown. */
export function shareOf({ done, total, share = null }: Amount): number | null {
  const part = share ?? (total === null || total <= 0 ? null : done / total);
  return part === null ? null : Math.min(1, Math.max(0, part));
}

/** The whole text, for a log: without a bar, in any width. */
export const plainText = (reading: ProgressLine): string =>
  String(joined(reading.what, partsOf(reading, {})));

/** One line of at most `columns` columns. */
export function lineText(reading: ProgressLine, { columns, isAscii, styles }: ProgressStyle): string {
  const line = String(fitting(reading, columns, styles));
  return isAscii ? asciiLine(line) : line;
}

function fitting(reading: ProgressLine, columns: number, styles: Styles): Safe {
  const { what, amount } = reading;
  const share = amount === undefined ? null : shareOf(amount);
  const whole = partsOf(reading, {});
  if (share !== null) {
    const bar = barText(share, columns < 100 ? 10 : 30, styles);
    const line = joined(safe`${what} ${bar}`, whole);
    if (widthOf(line) <= columns) return line;
  }
  const short = partsOf(reading, { isShort: true });
  const least = joined('', partsOf(reading, { isShort: true, hasCount: false }));
  const lines = [joined(what, whole), joined(what, short), joined('', short)];
  return lines.find((line) => widthOf(line) <= columns) ?? cut(least, columns);
}

const joined = (what: Safe | string, parts: readonly string[]): Safe =>
  safe`${what}${String(what) === '' || parts.length === 0 ? '' : ' '}${parts.join(', ')}`;

function barText(share: number, columns: number, { cyan, dim }: Styles): Safe {
  const full = Math.floor(share * columns);
  return safe`${cyan('█'.repeat(full))}${dim('░'.repeat(columns - full))}`;
}

interface LineOptions {
  /** Without the total and the waiting units. */
  readonly isShort?: boolean;
  readonly hasCount?: boolean;
}

function partsOf(reading: ProgressLine, { isShort = false, hasCount = true }: LineOptions): string[] {
  const { amount, perSecond, leftMs, elapsedMs } = reading;
  if (amount === undefined) return [clock(elapsedMs)];
  const { done, total, unit, waiting = 0 } = amount;
  const share = shareOf(amount);
  const sized = (count: number): string => (unit === 'bytes' ? bytesText(count) : number(Math.round(count)));
  const noun = unit === 'bytes' ? '' : ` ${unit}`;
  const of = total === null || isShort ? '' : ` of ${sized(total)}`;
  return [
    ...(share === null ? [] : [`${Math.floor(share * 100 + 1e-9)} %`]),
    ...(hasCount || share === null ? [`${sized(done)}${of}${noun}`] : []),
    ...(perSecond === null ? [] : [`${sized(perSecond)}/s`]),
    ...(waiting > 0 && !isShort ? [`${number(waiting)} waiting`] : []),
    ...(leftMs === null ? [] : [`${clock(leftMs)} left`]),
  ];
}

/** Returns `00:12`, or `01:00:12`. */
export function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const pair = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours > 0 ? `${pair(hours)}:` : ''}${pair(minutes)}:${pair(seconds % 60)}`;
}
