/**
 * Polls a queue: at the start, `everyMs` after each poll, and when it is woken. One poll runs at a time, and a wake
 * during a poll causes one more. A failure is logged once until a poll succeeds, not at every poll.
 * Tested by `test/service/call/poller.test.ts`.
 */
import type { Log } from './log.ts';

interface PollerOptions {
  readonly everyMs: number;
  /** When the first poll follows the start. Default: at once. */
  readonly firstAfterMs?: number;
  /** Takes what waits. It ends early where the signal is aborted: the store may be closed soon. */
  readonly poll: (signal: AbortSignal) => Promise<unknown>;
  readonly log: Log;
  /** The text of the log where a poll fails, and its level. Default: `error`. */
  readonly failed: string;
  readonly level?: 'warn' | 'error';
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #stopped = new AbortController();
  #isStarted = false;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #again = false;
  #failure = '';

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  start(): void {
    this.#isStarted = true;
    const { firstAfterMs = 0 } = this.#options;
    if (firstAfterMs === 0) this.wake();
    else this.#wait(firstAfterMs);
  }

  /** Polls now, also before the start. */
  wake(): void {
    if (this.isStopped) return;
    this.#again = true;
    this.#polling ??= this.#run();
  }

  async #run(): Promise<void> {
    const { everyMs, poll, log, failed, level = 'error' } = this.#options;
    try {
      while (this.#again && !this.isStopped) {
        this.#again = false;
        await poll(this.#stopped.signal);
      }
      this.#failure = '';
    } catch (error) {
      const isKnown = this.#failure === String(error);
      this.#failure = String(error);
      if (!this.isStopped && !isKnown) log[level]({ err: error }, failed);
    } finally {
      this.#polling = undefined;
      this.#wait(everyMs);
    }
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStarted && !this.isStopped) this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  /** Waits for the poll that runs; none follows. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await this.#polling;
  }
}

/** Polls until the returned function is called, which waits for the poll that runs. */
export function polling(options: PollerOptions): () => Promise<void> {
  const poller = new Poller(options);
  poller.start();
  return () => poller.stop();
}
