/**
 * Small random values out of one pooled call.
 * Proven by `test/store/suite/log/meter.ts`.
 */
export class RandomPool {
  readonly #fill: (size: number) => Buffer;
  #pool: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(randomBytes: (size: number) => Buffer) {
    this.#fill = randomBytes;
  }

  /** `size` ≤ 4096 bytes that no other caller gets. A view. */
  bytes(size: number): Buffer {
    const at = this.#take(size);
    return this.#pool.subarray(at, at + size);
  }

  /** 26 random bits. */
  bits26(): number {
    const at = this.#take(4); // may replace the pool
    return this.#pool.readUInt32BE(at) >>> 6;
  }

  #take(size: number): number {
    if (this.#at + size > this.#pool.length) {
      this.#pool = this.#fill(4096);
      this.#at = 0;
    }
    this.#at += size;
    return this.#at - size;
  }
}
