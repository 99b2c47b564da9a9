/**
 * Wakes readers when the log of a project grows. It carries no events: a woken reader reads the store, so
 * nothing is lost, and slow readers cost no memory. Where other processes write to the store, it reads the
 * sizes of all watched logs twice a second in one query, and none where no reader waits. (NOTIFY would report
 * at once, but serializes all commits of a database.) Proven by `test/service/log/tail.test.ts`.
 */
import type { Store } from '../../store/port/store.ts';

const everyMs = 500;

export class Tail {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #sizes = new Map<string, number>();
  readonly #store: Pick<Store, 'sizes'>;
  #timer: NodeJS.Timeout | undefined;
  #asking = false;

  constructor(store: Pick<Store, 'sizes'>) {
    this.#store = store;
  }

  /** Called after events of a project are durable. */
  grew(projectId: string): void {
    const waiting = this.#waiting.get(projectId);
    if (waiting === undefined) return;
    for (const wake of waiting) wake();
  }

  /** Calls `wake` each time the log grew, and sometimes when it did not. The returned function ends this. */
  watch(projectId: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(projectId) ?? new Set();
    this.#waiting.set(projectId, waiting.add(wake));
    if (this.#store.sizes !== undefined) this.#timer ??= setInterval(() => void this.#ask(), everyMs).unref();
    return () => {
      waiting.delete(wake);
      if (waiting.size > 0 || this.#waiting.get(projectId) !== waiting) return;
      this.#waiting.delete(projectId);
      this.#sizes.delete(projectId);
      if (this.#waiting.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /**
   * Reads the sizes. An unknown size counts as grown, because the log may have grown since the reader's last
   * read.
   */
  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const sizes = await this.#store.sizes?.([...this.#waiting.keys()]);
      for (const [projectId, size] of sizes ?? []) {
        if (!this.#waiting.has(projectId) || this.#sizes.get(projectId) === size) continue;
        this.#sizes.set(projectId, size);
        this.grew(projectId);
      }
    } catch {
      // the store logs its own errors; the next read follows in half a second
    } finally {
      this.#asking = false;
    }
  }
}
