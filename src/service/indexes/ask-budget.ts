/**
 * How many index leaves questions may add to a log: each question about the log as it is now may need one, and anybody who
 * may read can ask. A bucket for each log, in memory: a start fills it. Proven by `test/service/indexes/ask-budget.test.ts`.
 */
import { limits } from '../../contract/limits.ts';

interface Bucket {
  left: number;
  /** When it was filled up last. */
  atMs: number;
}

export class AskBudget {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes a leaf. Returns false where none is left. */
  take(projectId: string): boolean {
    const bucket = this.#filled(projectId);
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    this.#buckets.set(projectId, bucket);
    return true;
  }

  /** Gives back a leaf that was not needed. */
  giveBack(projectId: string): void {
    const bucket = this.#filled(projectId);
    bucket.left += 1;
    if (bucket.left < limits.indexAsks) this.#buckets.set(projectId, bucket);
    else this.#buckets.delete(projectId); // full, like one that is missing
  }

  /** Whole seconds until a leaf is left. */
  waitSeconds(projectId: string): number {
    const { left } = this.#filled(projectId);
    return Math.max(1, Math.ceil((1 - left) * limits.indexAskSeconds));
  }

  #filled(projectId: string): Bucket {
    const nowMs = this.#now();
    const { left, atMs } = this.#buckets.get(projectId) ?? { left: limits.indexAsks, atMs: nowMs };
    const added = (nowMs - atMs) / (limits.indexAskSeconds * 1000);
    return { left: Math.min(limits.indexAsks, left + added), atMs: nowMs };
  }
}
