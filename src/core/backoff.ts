/**
 * Exponential backoff with jitter: how long to wait before the next attempt. The random part keeps callers that failed
 * at the same moment from coming back at the same moment. Tested by `test/core/backoff.test.ts`.
 */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
  /** The random part of a wait: with 1 it lasts between nothing and all of the time, with 0.5 between half and all. */
  readonly jitter: number;
}

/**
 * Returns the milliseconds to wait: `firstMs` after the first failure, twice as long after each further one, at most
 * `mostMs`. `failures`: 1 or more. `random`: in [0, 1).
 */
export function backoffMs({ firstMs, mostMs, jitter }: Backoff, failures: number, random: number): number {
  const all = Math.min(mostMs, firstMs * 2 ** (failures - 1));
  return Math.floor(all * (1 - jitter + jitter * random));
}
