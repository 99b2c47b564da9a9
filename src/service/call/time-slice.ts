/** Long work of the event loop's own thread, so that all others are answered meanwhile. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TimeSliced } from '../../core/policy/evaluate/time-slice.ts';

/** What the work comes to; between its turns everybody else has theirs. */
export async function inTurns<Result>(steps: TimeSliced<Result>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}
