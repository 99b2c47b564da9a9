/**
 * Long work in turns: a generator that yields where so much was done that others should have theirs. What is long
 * is told by counted work, not by a clock, so it is the same on every machine.
 * Proven by `test/core/policy/evaluate/time-slice.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { workDone } from './budget.ts';

/** Work that yields between its turns, and comes to a result. */
export type TimeSliced<Result> = Generator<undefined, Result, undefined>;

export class TimeSlice {
  private since = workDone();

  /** Whether a turn's work, about 5 ms, was done since it began. */
  get isOver(): boolean {
    return workDone() - this.since >= limits.timeSliceUnits;
  }

  begin(): void {
    this.since = workDone();
  }
}

/** All turns at once, for a thread of its own and for what is known to be short. */
export function atOnce<Result>(steps: TimeSliced<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
