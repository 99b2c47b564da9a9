/**
 * The state of a screen. Events change it through a pure reducer; listeners hear of changes at most ten times a second,
 * so that a fast stream of events does not draw more frames than a person sees. Tested by `test/cli/screens/store.test.ts`.
 */

/** Milliseconds between two notifications: 10 Hz. */
const leastApartMs = 100;

export interface Clock {
  /** Milliseconds of any monotonic clock. */
  readonly now: () => number;
  /** Calls back once; returns a function that cancels. */
  readonly after: (ms: number, call: () => void) => () => void;
}

const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

export class Store<State, Event> {
  readonly #reduce: (state: State, event: Event) => State;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #state: State;
  #notifiedAt = -Infinity;
  #cancel: (() => void) | undefined;

  constructor(initial: State, reduce: (state: State, event: Event) => State, clock: Clock = systemClock) {
    this.#state = initial;
    this.#reduce = reduce;
    this.#clock = clock;
  }

  readonly get = (): State => this.#state;

  /** Returns a function that ends the subscription. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly dispatch = (event: Event): void => {
    const next = this.#reduce(this.#state, event);
    if (next === this.#state) return;
    this.#state = next;
    if (this.#cancel !== undefined) return;
    const waitMs = this.#notifiedAt + leastApartMs - this.#clock.now();
    if (waitMs <= 0) this.#notify();
    else this.#cancel = this.#clock.after(waitMs, () => this.#notify());
  };

  #notify(): void {
    this.#cancel = undefined;
    this.#notifiedAt = this.#clock.now();
    for (const listener of this.#listeners) listener();
  }

  /** Cancels a pending notification. */
  close(): void {
    this.#cancel?.();
    this.#listeners.clear();
  }
}
