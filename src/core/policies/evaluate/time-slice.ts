/**
 * Time slices of long work: a generator yields after a certain amount of work, so that other work can run.
 * The amount is counted in work units, not by a clock, so it is the same on every machine.
 * Proven by `test/core/policies/evaluate/time-slice.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { workDone } from './budget.ts';

/** Work that yields between its time slices and returns a result. */
export type TimeSlicedWork<Result> = Generator<undefined, Result, undefined>;

export class TimeSlice {
  #since = workDone();

  /** Whether the work of one slice, about 5 ms, was done since its begin. */
  get isOver(): boolean {
    return workDone() - this.#since >= limits.timeSliceUnits;
  }

  begin(): void {
    this.#since = workDone();
  }
}

/** Runs all slices at once, for a worker thread or for short work. */
export function atOnce<Result>(steps: TimeSlicedWork<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
