/**
 * Token buckets (contract D8): each holds at most `burst` tokens and gets `perSecond` of them back; a request takes
 * one. In memory and without a timer: a bucket is filled up when it is looked at. Of the packages on npm,
 * rate-limiter-flexible counts in fixed windows, through a promise for each request and a timer for each key, and
 * holds as many keys as an attacker sends. Proven by `test/http/admit/buckets.test.ts`.
 */
export interface BucketOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** How many are held; the ones that were looked at longest ago go first, and are full when they come again. */
  readonly most: number;
  /** Milliseconds that never run backwards. */
  readonly nowMs: () => number;
}

/** A bucket after a look at it. */
export interface Level {
  readonly taken: boolean;
  /** Whole tokens that are left. */
  readonly left: number;
  /** Until there is one more than are left; at least 1. */
  readonly waitSeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class Buckets {
  readonly #options: BucketOptions;
  /** Two generations: what is looked at comes into the young one; once that holds its half, the old one is dropped. */
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();

  constructor(options: BucketOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Takes a token where there is one. */
  take(name: string): Level {
    const bucket = this.#bucket(name);
    const taken = bucket.tokens >= 1;
    if (taken) bucket.tokens -= 1;
    return this.#level(bucket, taken);
  }

  /** The same without taking one: `taken` says whether there is one. */
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
