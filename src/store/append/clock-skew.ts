/** How far two clocks are apart. Proven by `test/store/postgres/connection/clock.test.ts` and `test/host/data/doctor.test.ts`. */

/** A clock that was read between two looks at one's own; Unix milliseconds. */
export interface ClockLook {
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly theirsMs: number;
}

/** How far the other clock is ahead, in whole milliseconds, give or take half of what asking took. */
export const aheadMs = ({ askedMs, answeredMs, theirsMs }: ClockLook): number =>
  Math.round(theirsMs - (askedMs + answeredMs) / 2);

/** Whether they are surely further apart than this. */
export const isApart = (look: ClockLook, mostMs: number): boolean =>
  Math.abs(aheadMs(look)) - (look.answeredMs - look.askedMs) / 2 > mostMs;

export const skewText = (ms: number): string =>
  `the database is ${Math.abs(ms)} ms ${ms < 0 ? 'behind' : 'ahead'}`;

export const skewAdvice = 'synchronise both clocks (NTP)';
