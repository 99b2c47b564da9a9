/** Bounds of timers. Tested by `test/client/create.test.ts` and `test/client/recorder.test.ts`. */

/** A timer fires at once where it is given more, such as `Infinity`. */
const longestMs = 2 ** 31 - 1;

/** The delay for a timer that ends a wait of `ms`, which may be `Infinity`. */
export const timerMs = (ms: number): number => Math.min(ms, longestMs);
