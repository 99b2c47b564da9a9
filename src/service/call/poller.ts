/**
 * Polls a queue: at the start, every `everyMs`, and when it is woken. One poll runs at a time, and a wake during a poll
 * causes one more. A failure is logged once until a poll succeeds, not at every poll.
 * Tested by `test/service/call/poller.test.ts`.
 */
import type { Log } from './log.ts';

interface PollerOptions {
  readonly everyMs: number;
  /** Takes what waits. It ends early where `isStopped` says so. */
  readonly poll: () => Promise<unknown>;
  readonly log: Log;
  /** The text of the log where a poll fails. */
  readonly failed: string;
}

export class Poller {
  readonly #options: PollerOptions;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #failure = '';

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), this.#options.everyMs).unref();
    this.wake();
  }

  /** Polls now. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#polling ??= this.#run();
  }

  async #run(): Promise<void> {
    const { poll, log, failed } = this.#options;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        await poll();
      }
      this.#failure = '';
    } catch (error) {
      const isKnown = this.#failure === String(error);
      this.#failure = String(error);
      if (!this.#stopped && !isKnown) log.error({ err: error }, failed);
    } finally {
      this.#polling = undefined;
    }
  }

  /** Waits for the poll that runs; none follows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#polling;
  }
}
