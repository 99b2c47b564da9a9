/**
 * Values that a thread keeps between tasks, up to a number of bytes; the least recently used is dropped first. Proven by
 * `test/service/call/kept.test.ts`.
 */
export class Kept<Value extends { readonly bytes: number }> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  /** `most`: bytes of all values. */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const value = this.take(key);
    if (value !== undefined) this.#values.set(key, value);
    return value;
  }

  /** Returns the value and drops it: what changes it keeps it again when it is done. */
  take(key: string): Value | undefined {
    const value = this.#values.get(key);
    this.#values.delete(key);
    return value;
  }

  /** Keeps a value, unless it alone has too many bytes. */
  keep(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    let bytes = 0;
    for (const each of this.#values.values()) bytes += each.bytes;
    for (const [oldest, each] of this.#values) {
      if (bytes <= this.#most) return;
      bytes -= each.bytes;
      this.#values.delete(oldest);
    }
  }
}
