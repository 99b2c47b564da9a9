/**
 * The distance between two clocks.
 * Proven by `test/store/postgres/connection/clock.test.ts` and `test/host/service/doctor.test.ts`.
 */

/** A reading of another clock between two readings of the own clock; Unix milliseconds. */
export interface ClockLook {
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly theirsMs: number;
}

/** Milliseconds that the other clock is ahead, rounded. The error is at most half the time of the request. */
export const aheadMs = ({ askedMs, answeredMs, theirsMs }: ClockLook): number =>
  Math.round(theirsMs - (askedMs + answeredMs) / 2);

/** Whether the clocks are certainly further apart than `mostMs`. */
export const isApart = (look: ClockLook, mostMs: number): boolean =>
  Math.abs(aheadMs(look)) - (look.answeredMs - look.askedMs) / 2 > mostMs;

export const skewText = (ms: number): string =>
  `the database is ${Math.abs(ms)} ms ${ms < 0 ? 'behind' : 'ahead'}`;

export const skewAdvice = 'synchronise both clocks (NTP)';
