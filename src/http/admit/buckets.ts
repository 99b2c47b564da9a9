/**
 * Token buckets for rate limits (contract D8). Each holds at most `burst` tokens and regains `perSecond`; a
 * request takes one. In memory, without a timer: reading a bucket refills it. The package
 * rate-limiter-flexible was rejected: it counts in fixed windows, needs a promise per request and a timer per
 * key, and stores as many keys as an attacker sends. Proven by `test/http/admit/buckets.test.ts`.
 */
interface BucketOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** How many buckets are kept. The least recently used are dropped first, and are full when they return. */
  readonly most: number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly nowMs: () => number;
}

/** The state of a bucket after a look at it. */
export interface Level {
  readonly taken: boolean;
  /** Whole tokens left. */
  readonly left: number;
  /** Seconds until one more token is available; at least 1. */
  readonly waitSeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class Buckets {
  readonly #options: BucketOptions;
  /**
   * Two generations: a bucket in use moves into the young one. Once that holds half of `most`, the old one is
   * dropped.
   */
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();

  constructor(options: BucketOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Takes a token where one is available. */
  take(name: string): Level {
    const bucket = this.#bucket(name);
    const taken = bucket.tokens >= 1;
    if (taken) bucket.tokens -= 1;
    return this.#level(bucket, taken);
  }

  /** Reads a bucket without taking a token: `taken` says whether one is available. */
  look(name: string): Level {
    const bucket = this.#bucket(name);
    return this.#level(bucket, bucket.tokens >= 1);
  }

  #level({ tokens }: Bucket, taken: boolean): Level {
    const left = Math.floor(tokens);
    return {
      taken,
      left,
      waitSeconds: Math.max(1, Math.ceil((left + 1 - tokens) / this.#options.perSecond)),
    };
  }

  #bucket(name: string): Bucket {
    const { perSecond, burst, most, nowMs } = this.#options;
    const atMs = nowMs();
    const young = this.#young.get(name);
    const bucket = young ?? this.#old.get(name) ?? { tokens: burst, atMs };
    bucket.tokens = Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) / 1000) * perSecond);
    bucket.atMs = atMs;
    if (young !== undefined) return bucket;
    if (this.#young.size >= most / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#old.delete(name);
    this.#young.set(name, bucket);
    return bucket;
  }
}
