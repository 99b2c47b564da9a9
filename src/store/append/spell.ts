/**
 * Says when trouble that passes by itself begins and ends, such as a full disk: one warning each. A disk that is full again
 * within `settleMs` is the same spell, so that the log of a disk at its brim stays quiet.
 * Proven by `test/store/append/spell.test.ts`.
 */
import { formatTimestamp } from '../../core/time.ts';

const settleMs = 10_000;

interface SpellOptions {
  readonly now: () => number;
  readonly warn: (text: string) => void;
}

export class TroubleReport {
  readonly #options: SpellOptions;
  #beganMs: number | null = null;
  #settling: { readonly line: string; readonly timer: NodeJS.Timeout } | null = null;

  constructor(options: SpellOptions) {
    this.#options = options;
  }

  /** `text` says what is wrong, and what still works. */
  begin(text: string): void {
    clearTimeout(this.#settling?.timer);
    this.#settling = null;
    if (this.#beganMs !== null) return;
    this.#beganMs = this.#options.now();
    this.#options.warn(text);
  }

  /** The trouble is over, unless it begins again before it has settled. */
  end(text: string): void {
    const began = this.#beganMs;
    if (began === null || this.#settling !== null) return;
    const seconds = Math.round((this.#options.now() - began) / 1000);
    const line = `${text}, after ${seconds} s; it began at ${formatTimestamp(began)}`;
    const timer = setTimeout(() => this.close(), settleMs).unref();
    this.#settling = { line, timer };
  }

  /** Says what has ended. */
  close(): void {
    if (this.#settling === null) return;
    const { line, timer } = this.#settling;
    clearTimeout(timer);
    this.#settling = null;
    this.#beganMs = null;
    this.#options.warn(line);
  }
}
