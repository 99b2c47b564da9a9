/**
 * Progress of a push. On a terminal: one line, rewritten, after 300 ms. Elsewhere: one line every ten seconds. It prints
 * numbers only, so no input reaches the terminal. Tested by `test/cli/push/progress.test.ts`.
 */
import { number } from '../terminal/numbers.ts';

export interface ProgressOptions {
  /** Null if the size of the input is unknown. */
  readonly totalBytes: number | null;
  readonly tty: boolean;
  /** Milliseconds of any monotonic clock. */
  readonly now: () => number;
  /** Writes text to standard error. */
  readonly write: (text: string) => void;
}

const showAfterMs = 300;
const terminalMs = 200;
const plainMs = 10_000;
export const clearLine = '\r\u001b[2K';

export class Progress {
  readonly #options: ProgressOptions;
  readonly #startedAt: number;
  #timer: NodeJS.Timeout | undefined;
  #shown = false;
  #readBytes = 0;
  #readEvents = 0;
  #sentEvents = 0;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Starts the display. The timer does not keep the process alive. */
  start(): void {
    this.#timer = setInterval(() => this.show(), this.#options.tty ? terminalMs : plainMs).unref();
  }

  bytes(count: number): void {
    this.#readBytes += count;
  }
  read(events: number): void {
    this.#readEvents += events;
  }
  sent(events: number): void {
    this.#sentEvents += events;
  }

  /** Events read and not yet judged. */
  get unsent(): number {
    return this.#readEvents - this.#sentEvents;
  }

  show(): void {
    const { tty, now, write } = this.#options;
    const elapsedMs = now() - this.#startedAt;
    if (elapsedMs < showAfterMs) return;
    write(tty ? `${clearLine}${this.line(elapsedMs)}` : `${this.line(elapsedMs)}\n`);
    this.#shown = true;
  }

  /** `12,000 sent, 3,400/s, 1,500 waiting, 41 % read, 00:12 left`: at most 79 columns. */
  line(elapsedMs: number): string {
    const rate = Math.round((this.#sentEvents * 1000) / Math.max(1, elapsedMs));
    const parts = [`${number(this.#sentEvents)} sent`, `${number(rate)}/s`];
    if (this.unsent > 0) parts.push(`${number(this.unsent)} waiting`);
    const { totalBytes } = this.#options;
    if (totalBytes !== null && totalBytes > 0 && this.#readBytes > 0) {
      const share = Math.min(1, this.#readBytes / totalBytes);
      parts.push(`${Math.floor(share * 100)} % read`);
      if (share < 1) parts.push(`${clock((elapsedMs * (1 - share)) / share)} left`);
    }
    return parts.join(', ');
  }

  /** Removes the line from a terminal, before other output. */
  clear(): void {
    if (this.#shown && this.#options.tty) this.#options.write(clearLine);
    this.#shown = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.clear();
  }
}

/** Returns `00:12`, or `01:00:12`. */
export function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const pair = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours > 0 ? `${pair(hours)}:` : ''}${pair(minutes)}:${pair(seconds % 60)}`;
}
