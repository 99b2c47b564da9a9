/**
 * Progress of an export and its download. On a terminal: one line, rewritten, after 300 ms. Elsewhere: one line every ten
 * seconds. It prints numbers only. Tested by `test/cli/download/progress.test.ts`.
 */
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { clearLine, clock, type ProgressOptions } from '../push/progress.ts';

const showAfterMs = 300;
const terminalMs = 200;
const plainMs = 10_000;

type LineOptions = Omit<ProgressOptions, 'totalBytes'>;

/** One line of progress with a least interval. */
class ProgressLine {
  readonly #options: LineOptions;
  readonly #startedAt: number;
  #shownAt: number;
  #isShown = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#shownAt = this.#startedAt - (options.tty ? terminalMs : 0);
  }

  /** Prints the line if the interval has passed. */
  show(text: (elapsedMs: number) => string): void {
    const { tty, now, write } = this.#options;
    const [nowMs, apart] = [now(), tty ? terminalMs : plainMs];
    const elapsedMs = nowMs - this.#startedAt;
    if (elapsedMs < showAfterMs || nowMs - this.#shownAt < apart) return;
    write(tty ? `${clearLine}${text(elapsedMs)}` : `${text(elapsedMs)}\n`);
    this.#shownAt = nowMs;
    this.#isShown = true;
  }

  /** Removes the line from a terminal, before other output. */
  clear(): void {
    if (this.#isShown && this.#options.tty) this.#options.write(clearLine);
    this.#isShown = false;
  }
}

export class DownloadProgress {
  readonly #line: ProgressLine;
  /** Bytes from before this download, which do not count for its rate. */
  #first: number | undefined;

  constructor(options: LineOptions) {
    this.#line = new ProgressLine(options);
  }

  at(received: number, total: number): void {
    const first = (this.#first ??= received);
    this.#line.show((elapsedMs) => progressLine({ received, total, fresh: received - first, elapsedMs }));
  }

  clear(): void {
    this.#line.clear();
  }
}

/** What is waited for and the waiting time: `processing, 00:12`. */
export class WaitProgress {
  readonly #line: ProgressLine;

  constructor(options: LineOptions) {
    this.#line = new ProgressLine(options);
  }

  at(status: string): void {
    this.#line.show((elapsedMs) => `${status}, ${clock(elapsedMs)}`);
  }

  clear(): void {
    this.#line.clear();
  }
}

/** The destination of progress lines. */
export const progressOptions = (out: Out, io: Io): LineOptions => ({
  tty: io.stderr.isTTY === true,
  now: () => performance.now(),
  write: (text) => void (out.settings.quiet || io.stderr.write(text)),
});

/** `12.3 of 45.0 MB, 27 %, 3.4 MB/s, 00:10 left`; `fresh`: bytes received in `elapsedMs`. */
export function progressLine(of: {
  readonly received: number;
  readonly total: number;
  readonly fresh: number;
  readonly elapsedMs: number;
}): string {
  const { received, total, fresh, elapsedMs } = of;
  const bytesPerMs = fresh / Math.max(1, elapsedMs);
  const parts = [`${megabytes(received)} of ${megabytes(total)} MB`];
  if (total > 0) parts.push(`${Math.floor((Math.min(received, total) / total) * 100)} %`);
  parts.push(`${megabytes(bytesPerMs * 1000)} MB/s`);
  if (received < total && bytesPerMs > 0) parts.push(`${clock((total - received) / bytesPerMs)} left`);
  return parts.join(', ');
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
