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
    if (this.at + size > this.pool.length) {
      this.pool = this.fill(4096);
      this.at = 0;
    }
    this.at += size;
    return this.pool.subarray(this.at - size, this.at);
  }

  /** 26 random bits. */
  bits26(): number {
    return this.bytes(4).readUInt32BE(0) >>> 6;
  }
}
