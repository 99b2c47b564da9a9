/**
 * How far a download is: one line on a terminal that is rewritten, from 300 ms on; elsewhere one line every ten seconds.
 * Numbers only. Proven by `test/cli/exportprogress.test.ts`.
 */
import { clearLine, clock, type ProgressOptions } from '../push/progress.ts';

const showAfterMs = 300;
const terminalMs = 200;
const plainMs = 10_000;

export class DownloadProgress {
  readonly #options: Omit<ProgressOptions, 'totalBytes'>;
  readonly #startedAt: number;
  #shownAt: number;
  #isShown = false;
  /** What was there before this download is no part of its rate. */
  #first: number | undefined;

  constructor(options: Omit<ProgressOptions, 'totalBytes'>) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#shownAt = this.#startedAt - (options.tty ? terminalMs : 0);
  }

  /** Shows where it is time to. */
  at(received: number, total: number): void {
    this.#first ??= received;
    const { tty, now, write } = this.#options;
    const [nowMs, apart] = [now(), tty ? terminalMs : plainMs];
    const elapsedMs = nowMs - this.#startedAt;
    if (elapsedMs < showAfterMs || nowMs - this.#shownAt < apart) return;
    const line = progressLine({ received, total, fresh: received - this.#first, elapsedMs });
    write(tty ? `${clearLine}${line}` : `${line}\n`);
    this.#shownAt = nowMs;
    this.#isShown = true;
  }

  /** Takes the line off a terminal, before anything else is written there. */
  clear(): void {
    if (this.#isShown && this.#options.tty) this.#options.write(clearLine);
    this.#isShown = false;
  }
}

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
