/**
 * Tells who waits for new events that a project's log grew. It carries no events: a woken reader reads the
 * store from where it stands, so nothing is lost or held in memory for slow readers.
 */
export class Tail {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Called after events of a project became durable. */
  grew(projectId: string): void {
    const waiting = this.#waiting.get(projectId);
    if (waiting === undefined) return;
    for (const wake of waiting) wake();
  }

  /** Calls `wake` each time the project's log grew; the answer ends that. */
  watch(projectId: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(projectId) ?? new Set();
    this.#waiting.set(projectId, waiting.add(wake));
    return () => {
      waiting.delete(wake);
      if (waiting.size === 0) this.#waiting.delete(projectId);
    };
  }
}
