/**
 * Counts what a push has read and recorded, for its progress line. Tested by `test/cli/push/progress.test.ts`.
 */
import type { Progress } from '../progress/show.ts';

export interface PushProgressOptions {
  /** Null if the size of the input is unknown. */
  readonly totalBytes: number | null;
  readonly progress: Pick<Progress, 'at' | 'stop'>;
}

export class PushProgress {
  readonly #what: string;
  readonly #options: PushProgressOptions;
  #readBytes = 0;
  #readEvents = 0;
  #sentEvents = 0;
  #knownEvents = 0;
  #share: number | null = null;

  constructor(what: 'sending' | 'checking', options: PushProgressOptions) {
    this.#what = what;
    this.#options = options;
  }

  /** Counts bytes whose events have been read, or are read next. */
  bytes(count: number): void {
    this.#readBytes += count;
  }
  read(events: number): void {
    this.#readEvents += events;
    this.#show();
  }
  sent(events: number): void {
    this.#sentEvents += events;
    this.#show();
  }

  /** Counts events that the service has from before. */
  known(events: number): void {
    this.#knownEvents += events;
    this.#show();
  }

  /** Events read and not yet judged. */
  get unsent(): number {
    return this.#readEvents - this.#sentEvents;
  }

  stop(): void {
    this.#options.progress.stop();
  }

  #show(): void {
    this.#options.progress.at(this.#what, {
      done: this.#sentEvents,
      total: null,
      unit: 'events',
      share: this.#newShare(),
      waiting: this.unsent,
    });
  }

  /** The share of the input whose events are recorded: a batch that waits is not done. It never falls. */
  #newShare(): number | null {
    const { totalBytes } = this.#options;
    if (totalBytes === null || totalBytes === 0) return null;
    const done = (this.#sentEvents + this.#knownEvents) / (this.#readEvents + this.#knownEvents);
    this.#share = Math.max(this.#share ?? 0, (this.#readBytes / totalBytes) * done);
    return this.#share;
  }
}
