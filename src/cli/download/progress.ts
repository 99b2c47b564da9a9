/**
 * How far an export and its download are: one line on a terminal that is rewritten, from 300 ms on; elsewhere one line every ten seconds.
 * Numbers only. Proven by `test/cli/download/progress.test.ts`.
 */
import type { ExportStatus } from '../../contract/exports.ts';
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { clearLine, clock, type ProgressOptions } from '../push/progress.ts';

const showAfterMs = 300;
const terminalMs = 200;
const plainMs = 10_000;

type LineOptions = Omit<ProgressOptions, 'totalBytes'>;

/** One line that tells how far something is, at most so often. */
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

  /** Shows where it is time to. */
  show(text: (elapsedMs: number) => string): void {
    const { tty, now, write } = this.#options;
    const [nowMs, apart] = [now(), tty ? terminalMs : plainMs];
    const elapsedMs = nowMs - this.#startedAt;
    if (elapsedMs < showAfterMs || nowMs - this.#shownAt < apart) return;
    write(tty ? `${clearLine}${text(elapsedMs)}` : `${text(elapsedMs)}\n`);
    this.#shownAt = nowMs;
    this.#isShown = true;
  }

  /** Takes the line off a terminal, before anything else is written there. */
  clear(): void {
    if (this.#isShown && this.#options.tty) this.#options.write(clearLine);
    this.#isShown = false;
  }
}

export class DownloadProgress {
  readonly #line: ProgressLine;
  /** What was there before this download is no part of its rate. */
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

/** How long an export has been waited for, and what it is: `processing, 00:12`. */
export class WaitProgress {
  readonly #line: ProgressLine;

  constructor(options: LineOptions) {
    this.#line = new ProgressLine(options);
  }

  at(status: ExportStatus): void {
    this.#line.show((elapsedMs) => `${status}, ${clock(elapsedMs)}`);
  }

  clear(): void {
    this.#line.clear();
  }
}

/** Where progress is shown. */
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
