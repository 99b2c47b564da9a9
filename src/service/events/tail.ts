/**
 * Tells who waits for new events that a project's log grew. It carries no events: a woken reader reads the
 * store from where it stands, so nothing is lost or held in memory for slow readers. Where other processes write to
 * the store, the sizes of the logs that are waited for are asked for twice a second, in one read however many; nothing
 * is asked where nobody waits. (NOTIFY would tell at once, but makes all commits of a database take turns.)
 * Proven by `test/service/events/tail.test.ts`.
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

  /** Called after events of a project became durable. */
  grew(projectId: string): void {
    const waiting = this.#waiting.get(projectId);
    if (waiting === undefined) return;
    for (const wake of waiting) wake();
  }

  /** Calls `wake` each time the project's log grew, and sometimes when it did not; the answer ends that. */
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

  /** A size that is not known yet may be one that grew since the reader read. */
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
      // the store reports what troubles it; asked again in half a second
    } finally {
      this.#asking = false;
    }
  }
}
