/**
 * The smoothed rate of a growing value: the exponentially weighted mean of its growth, with a time constant of five
 * seconds. So one slow batch does not double the time left, and the rate follows a real change within seconds.
 * Tested by `test/cli/progress/rate.test.ts`.
 */
const windowMs = 5000;
/** Growth within a shorter time is added to the next sample. */
const leastMs = 100;

export class Rate {
  #last: { readonly value: number; readonly ms: number } | undefined;
  #sum = 0;
  #weight = 0;

  /** Adds a sample. A value below the last one starts a new measurement. `ms`: of any monotonic clock. */
  add(value: number, ms: number): void {
    if (this.#last === undefined || value < this.#last.value) {
      this.#last = { value, ms };
      this.#sum = 0;
      this.#weight = 0;
      return;
    }
    const elapsedMs = ms - this.#last.ms;
    if (elapsedMs < leastMs) return;
    const kept = Math.exp(-elapsedMs / windowMs);
    this.#sum = this.#sum * kept + ((value - this.#last.value) / elapsedMs) * (1 - kept);
    this.#weight = this.#weight * kept + 1 - kept;
    this.#last = { value, ms };
  }

  /** Never negative; null before it is measured. */
  get perSecond(): number | null {
    return this.#weight === 0 ? null : (this.#sum / this.#weight) * 1000;
  }
}
