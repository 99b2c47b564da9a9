/**
 * Runs long work on the event loop in turns, so that other requests are answered in between. Proven by
 * `test/service/call/time-slice.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TimeSlicedWork } from '../../core/policies/evaluate/time-slice.ts';

/** The result of the work. Other requests run between its turns. */
export async function inTurns<Result>(steps: TimeSlicedWork<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}
