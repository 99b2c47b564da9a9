/**
 * A cache of credentials by their digest. An entry is valid until it expires or is forgotten. A lookup that
 * was running while something was forgotten serves its request and is not cached. Proven by
 * `test/service/call/recent.test.ts`.
 */
export class CredentialCache<Found extends { readonly untilMs: number }> {
  readonly #most: number;
  /** In the order of their lookups, oldest first. */
  readonly #found = new Map<string, Found>();
  #forgotten = 0;

  /** Keeps at most `most` entries and drops the oldest. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Null where the entry is missing or expired. */
  get(name: string, nowMs: number): Found | null {
    const found = this.#found.get(name);
    return found !== undefined && found.untilMs > nowMs ? found : null;
  }

  /** Whether there is an entry, expired or not. */
  has(name: string): boolean {
    return this.#found.has(name);
  }

  /** Looks up an entry by `ask` and caches it. */
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

  /** Drops matching entries. O(n). */
  forget(isIt: (found: Found) => boolean): void {
    this.#forgotten += 1;
    for (const [name, found] of this.#found) if (isIt(found)) this.#found.delete(name);
  }
}
