/**
 * What was found under a digest lately. It is believed until its time is over or it is forgotten; an answer that was
 * under way while something was forgotten is used once and not kept. Proven by `test/service/call/recent.test.ts`.
 */
export class Recent<Found extends { readonly untilMs: number }> {
  readonly #most: number;
  /** The one found longest ago first. */
  readonly #found = new Map<string, Found>();
  #forgotten = 0;

  /** At most `most` are held; then the one found longest ago goes. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Null where nothing was found, or too long ago. */
  get(name: string, nowMs: number): Found | null {
    const found = this.#found.get(name);
    return found !== undefined && found.untilMs > nowMs ? found : null;
  }

  /** Whether anything was found under it, however long ago. */
  has(name: string): boolean {
    return this.#found.has(name);
  }

  /** Asks the store, and keeps the answer. */
  async find(name: string, ask: () => Promise<Found>): Promise<Found> {
    const forgotten = this.#forgotten;
    const found = await ask();
    if (forgotten !== this.#forgotten) return found;
    this.#found.delete(name);
    if (this.#found.size >= this.#most) this.#dropOldest();
    this.#found.set(name, found);
    return found;
  }

  #dropOldest(): void {
    const [oldest] = this.#found.keys();
    if (oldest !== undefined) this.#found.delete(oldest);
  }

  /** O(n). */
  forget(isIt: (found: Found) => boolean): void {
    this.#forgotten += 1;
    for (const [name, found] of this.#found) if (isIt(found)) this.#found.delete(name);
  }
}
