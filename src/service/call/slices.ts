/**
 * Long work of several calls in the event loop's own thread: in slices, of which one begins in a turn of the loop,
 * those of projects in turn. However many batches one project sends at a time, what else comes is read after one slice,
 * and a batch of another project waits for one slice of each. Proven by `test/service/call/slices.test.ts`.
 */
import { FairQueue } from '../../core/fair-queue.ts';

const sliceMs = 10;

/** The work of one call. */
export interface Slice {
  /** Whether this one has lasted long enough. */
  isOver(): boolean;
  /** Resolves when the next one begins; also for the first. */
  next(): Promise<void>;
}

export class Slices {
  readonly #waiting = new FairQueue<() => void>();
  #scheduled = false;

  /** Slices for a call that works for a project. */
  of(projectId: string): Slice {
    let since = performance.now();
    return {
      isOver: () => performance.now() - since > sliceMs,
      next: async () => {
        await this.#turnOf(projectId);
        since = performance.now();
      },
    };
  }

  #turnOf(projectId: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(projectId, resolve, Infinity);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#waiting.next()?.();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
