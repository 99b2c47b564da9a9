/**
 * The progress of a long command, on standard error. On a terminal: one line after 300 ms, repainted at most ten times a
 * second, and erased before other output and at the end. Elsewhere: one line every ten seconds. With --quiet: nothing.
 * Tested by `test/cli/progress/show.test.ts`.
 */
import type { Invocation } from '../context/command.ts';
import { isAsciiLocale } from '../terminal/ascii.ts';
import { stylesFor } from '../terminal/safe.ts';
import { Rate } from './rate.ts';
import { lineText, plainText, shareOf, type Amount, type ProgressStyle, type ProgressLine } from './text.ts';

const showAfterMs = 300;
const repaintMs = 100;
const plainMs = 10_000;
/** A rate that gives more is too low to say when the work ends. */
const mostLeftMs = 100 * 3_600_000;
const eraseLine = '\r\u001b[2K';
const eraseRest = '\u001b[K';

export interface ProgressOptions extends Omit<ProgressStyle, 'columns'> {
  readonly isTerminal: boolean;
  /** Asked before each paint, because a window changes its size. */
  readonly columns: () => number;
  /** Milliseconds of any monotonic clock. */
  readonly now: () => number;
  readonly write: (text: string) => void;
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout;
  #shownMs: number;
  #work: { readonly what: string; readonly amount: Amount | undefined } | undefined;
  #rate = new Rate();
  #shareRate = new Rate();
  /** The line on the terminal. */
  #painted = '';
  #isStopped = false;

  /** The timer does not keep the process alive. */
  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedMs = options.now();
    this.#shownMs = options.isTerminal ? this.#startedMs + showAfterMs - repaintMs : this.#startedMs;
    this.#timer = setInterval(() => this.#tick(), options.isTerminal ? repaintMs : plainMs / 10).unref();
  }

  /** Says what the command does now, and how far it is. Costs little: a caller may call it for each event. */
  at(what: string, amount?: Amount): void {
    if (this.#work !== undefined && what !== this.#work.what) {
      this.#rate = new Rate();
      this.#shareRate = new Rate();
    }
    this.#work = { what, amount };
    this.#tick();
  }

  /** Erases the line before other output. It is painted again at the next interval. */
  clear(): void {
    if (this.#painted !== '') this.#options.write(eraseLine);
    this.#painted = '';
  }

  /** Erases the line. Later calls of `at` show nothing. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.clear();
  }

  #tick(): void {
    if (this.#isStopped || this.#work === undefined) return;
    const { what, amount } = this.#work;
    const { isTerminal, now } = this.#options;
    const nowMs = now();
    const share = amount === undefined ? null : shareOf(amount);
    if (amount !== undefined) this.#rate.add(amount.done, nowMs);
    if (share !== null) this.#shareRate.add(share, nowMs);
    if (nowMs - this.#shownMs < (isTerminal ? repaintMs : plainMs)) return;
    this.#shownMs = nowMs;
    const leftMs = share === null ? null : ((1 - share) * 1000) / (this.#shareRate.perSecond ?? 0);
    this.#show({
      what,
      amount,
      elapsedMs: nowMs - this.#startedMs,
      perSecond: this.#rate.perSecond,
      leftMs: leftMs !== null && share !== 1 && leftMs < mostLeftMs ? leftMs : null,
    });
  }

  #show(reading: ProgressLine): void {
    const { isTerminal, write, columns, isAscii, styles } = this.#options;
    if (!isTerminal) return write(`${plainText(reading)}\n`);
    // a full last column would move the cursor to the next line on some terminals
    const text = lineText(reading, { columns: columns() - 1, isAscii, styles });
    if (text !== this.#painted) write(`\r${text}${eraseRest}`);
    this.#painted = text;
  }
}

/** Starts the progress of a command. It also ends when a signal ends the command, so Ctrl-C leaves a clean line. */
export function startProgress({ out, io, signal }: Pick<Invocation, 'out' | 'io' | 'signal'>): Progress {
  const { quiet, colorErrors, columns } = out.settings;
  const isTerminal = io.stderr.isTTY === true && io.env['TERM'] !== 'dumb';
  const progress = new Progress({
    isTerminal,
    isAscii: isAsciiLocale(io.env),
    styles: stylesFor(colorErrors),
    columns: () => io.stderr.columns ?? columns,
    now: () => performance.now(),
    write: (text) => void (quiet || io.stderr.write(text)),
  });
  if (isTerminal) out.beforeWrite(() => progress.clear());
  if (signal.aborted) progress.stop();
  signal.addEventListener('abort', () => progress.stop(), { once: true });
  return progress;
}
