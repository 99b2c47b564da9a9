/**
 * Runs the long work of several calls on the event loop in slices. One slice runs per turn of the loop, and
 * projects alternate. A new request waits for one slice at most, and a batch of another project for one slice
 * of each, however many batches a project sends. Proven by `test/service/call/slices.test.ts`.
 */
import { FairQueue } from '../../core/fair-queue.ts';

const sliceMs = 5;

/** Turns of the event loop for the work of one call. */
export interface Slice {
  /** Whether the current slice has used its time. */
  isOver(): boolean;
  /** Resolves when the next slice may start; also awaited before the first. */
  next(): Promise<void>;
}

export class Slices {
  readonly #waiting = new FairQueue<() => void>();
  #scheduled = false;

  /** Slices for a call of a project. */
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
