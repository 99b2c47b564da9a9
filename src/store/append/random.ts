/** Randomness in small pieces out of one pooled call. */
export class RandomPool {
  private readonly fill: (size: number) => Buffer;
  private pool: Buffer = Buffer.alloc(0);
  private at = 0;

  constructor(randomBytes: (size: number) => Buffer) {
    this.fill = randomBytes;
  }

  /** `size` ≤ 4096 bytes that nobody else gets; a view. */
  bytes(size: number): Buffer {
    const at = this.take(size);
    return this.pool.subarray(at, at + size);
  }

  /** 26 random bits. */
  bits26(): number {
    const at = this.take(4); // may change the pool
    return this.pool.readUInt32BE(at) >>> 6;
  }

  private take(size: number): number {
    if (this.at + size > this.pool.length) {
      this.pool = this.fill(4096);
      this.at = 0;
    }
    this.at += size;
    return this.at - size;
  }
}
