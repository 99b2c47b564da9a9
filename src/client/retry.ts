/**
 * Decides whether and when to retry a failed call (contract D6, D8): transient statuses and broken connections, never
 * sooner than Retry-After, with full jitter so that clients do not return in step.
 * Tested by `test/client/retry.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { backoffMs, type Backoff } from '../core/backoff.ts';
import { GovApiError, GovNetworkError, transientStatuses } from './errors.ts';

export const clientBackoff: Backoff = {
  firstMs: limits.clientBackoffMs,
  mostMs: limits.clientBackoffMaxMs,
  jitter: 1,
};

/** Returns whether the same request may succeed later. A used-up quota (429, not retryable) does not allow a retry. */
export function isTransient(failure: unknown): boolean {
  if (failure instanceof GovNetworkError) return failure.retryable;
  if (!(failure instanceof GovApiError)) return false;
  if (failure.code === 'IDEMPOTENCY_IN_FLIGHT') return true;
  return transientStatuses.has(failure.status) && failure.retryable;
}

/**
 * Returns the milliseconds to wait before attempt `attempt + 1` (the first attempt is 0). Returns null to give up: the
 * failure is final, or Retry-After exceeds `clientRetryAfterSeconds`. `random` is in [0, 1).
 */
export function retryDelayMs(failure: unknown, attempt: number, random: number): number | null {
  if (!isTransient(failure)) return null;
  const asked = failure instanceof GovApiError ? (failure.retryAfterSeconds ?? 0) : 0;
  if (asked > limits.clientRetryAfterSeconds) return null;
  return asked * 1000 + backoffMs(clientBackoff, attempt + 1, random);
}

interface RetryOptions {
  /** Attempts after the first; default `limits.clientRetries`. */
  readonly retries?: number;
  readonly observe?: (note: {
    readonly kind: 'retry';
    readonly attempt: number;
    readonly delayMs: number;
    readonly reason: string;
  }) => void;
}

/** Repeats an attempt while its failure allows it. Errors: the last failure, or the signal's reason. */
export async function retrying<Answer>(
  { retries = limits.clientRetries, observe }: RetryOptions,
  signal: AbortSignal | undefined,
  once: () => Promise<Answer>,
): Promise<Answer> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once();
    } catch (failure) {
      const delayMs = retryDelayMs(failure, attempt, Math.random());
      if (delayMs === null || attempt >= retries) throw failure;
      const reason = failure instanceof Error ? failure.message : String(failure);
      observe?.({ kind: 'retry', attempt: attempt + 1, delayMs, reason });
      await pause(delayMs, signal);
    }
  }
}

/** Resolves after `ms`; rejects with the signal's reason as soon as it fires. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
