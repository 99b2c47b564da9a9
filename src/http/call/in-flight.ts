/**
 * Idempotency keys whose first request is still running in this process.
 * Proven by `test/http/call/idempotency.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Idempotency } from '../../service/call/idempotency.ts';

export class InFlight {
  readonly #keys = new Set<string>();

  /** Runs `work` unless the same key is running: IDEMPOTENCY_IN_FLIGHT. */
  async run<Result>({ key }: Idempotency, work: () => Promise<Result>): Promise<Result> {
    if (this.#keys.has(key)) {
      const detail = 'a request with this key is still running; repeat it later';
      throw new GovError('IDEMPOTENCY_IN_FLIGHT', detail, { retryAfterSeconds: 1 });
    }
    this.#keys.add(key);
    try {
      return await work();
    } finally {
      this.#keys.delete(key);
    }
  }
}
