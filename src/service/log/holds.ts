/**
 * Requests that wait until something is in the log (contract O30). A held request costs a timer and, after the log of its
 * project has grown, one look, at most every `limits.holdLookMs`. `limits.heldRequests` wait at once in a process; a further
 * one does not wait, and neither does any after `end`. Proven by `test/service/log/holds.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Tail } from './tail.ts';

interface Hold {
  readonly projectId: string;
  readonly waitMs: number;
  /** Whether there is nothing more to wait for. */
  readonly isOver: () => Promise<boolean>;
}

export class Holds {
  readonly #tail: Pick<Tail, 'watch'>;
  /** Ends the waits of held requests. */
  readonly #held = new Set<() => void>();
  #isEnded = false;

  constructor(tail: Pick<Tail, 'watch'>) {
    this.#tail = tail;
  }

  /** Ends all waits: the process stops. */
  end(): void {
    this.#isEnded = true;
    for (const end of this.#held) end();
  }

  /** Resolves when it is over, at the end of the time, or at once where no more requests may wait. */
  async until({ projectId, waitMs, isOver }: Hold): Promise<void> {
    const untilMs = performance.now() + waitMs;
    if (await isOver()) return;
    for (;;) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || this.#isEnded || this.#held.size >= limits.heldRequests) return;
      const grew = await this.#growth(projectId, leftMs);
      if (!grew || (await isOver())) return;
    }
  }

  /** Whether the log grew before the time was over. */
  #growth(projectId: string, leftMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const sinceMs = performance.now();
      let look: NodeJS.Timeout | undefined;
      const end = (grew: boolean): void => {
        clearTimeout(timer);
        clearTimeout(look);
        unwatch();
        this.#held.delete(stop);
        resolve(grew);
      };
      const stop = (): void => end(false);
      const timer = setTimeout(stop, leftMs);
      const unwatch = this.#tail.watch(projectId, () => {
        const waitedMs = performance.now() - sinceMs;
        look ??= setTimeout(() => end(true), Math.max(0, limits.holdLookMs - waitedMs));
      });
      this.#held.add(stop);
    });
  }
}
