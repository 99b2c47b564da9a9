/**
 * Turns of the event loop for reads that go through many rows. One step of all these reads runs per turn of
 * the loop, and projects alternate, so that a write waits for one step at most. A read takes 1 to 2 ms a
 * step. The number of waiting reads is bounded; the project with the most of them is refused first.
 * Proven by `test/store/sqlite/read/turns.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { FairQueue } from '../../../core/fair-queue.ts';

interface WaitingReader {
  readonly resolve: () => void;
  readonly reject: (error: GovError) => void;
}

export class Turns {
  readonly #waiting = new FairQueue<WaitingReader>();
  #scheduled = false;

  /** Resolves when the next step of a read may run. OVERLOADED for one read too many. */
  next(project: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const item = { resolve, reject };
      this.#waiting.add(String(project), item, limits.scansWaiting)?.reject(overloaded());
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#waiting.next()?.resolve();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}

const overloaded = (): GovError =>
  new GovError(
    'OVERLOADED',
    `expected at most ${limits.scansWaiting} reads that go through many rows, got one more; try again later`,
    { retryAfterSeconds: limits.overloadRetrySeconds },
  );
