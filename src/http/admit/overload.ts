/**
 * Sheds load (contract D10): 503 OVERLOADED while the event loop lags more than a second, the write queue is
 * full, or memory is over its limit. Health operations still answer. `@fastify/under-pressure` measures the same way,
 * and would need as much code around it for the write queue, health operations and our errors. Proven by
 * `test/http/admit/overload.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

const everyMs = 250;

export class Overload {
  readonly #queued: () => number;
  readonly #memoryBytes: number;
  readonly #delayLimitMs: number;
  readonly #timer: NodeJS.Timeout;
  #dueAt = performance.now() + everyMs;
  #delayMs = 0;
  #rssBytes = 0;

  constructor(queued: () => number, bounds: { memoryBytes?: number; delayMs?: number } = {}) {
    this.#queued = queued;
    this.#memoryBytes = bounds.memoryBytes ?? limits.memoryBytes;
    this.#delayLimitMs = bounds.delayMs ?? limits.overloadDelayMs;
    this.#timer = setInterval(() => this.#measure(), everyMs);
    this.#timer.unref();
  }

  #measure(): void {
    const now = performance.now();
    this.#delayMs = Math.max(0, now - this.#dueAt);
    this.#dueAt = now + everyMs;
    try {
      this.#rssBytes = process.memoryUsage.rss();
    } catch {
      // the read needs a file descriptor, and none is free: keep the last figure until the next look
    }
  }

  /** The limit that is exceeded now, or null. Costs nothing. */
  reason(): string | null {
    if (this.#delayMs > this.#delayLimitMs) return 'the event loop lags';
    if (this.#queued() > limits.writeQueue) return 'the write queue is full';
    return this.#rssBytes > this.#memoryBytes ? 'memory is short' : null;
  }

  check(): void {
    const reason = this.reason();
    if (reason === null) return;
    throw new GovError('OVERLOADED', `${reason}; repeat the request later`, {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
