/**
 * Gives many lanes their turns: at most `atOnce` run at a time, in the order in which they asked. A wake during a turn
 * causes one more after it. A lane that waits for its time is not woken earlier.
 * Tested by `test/service/call/turns.test.ts`.
 */

/** What a turn left. */
export type Turn =
  /** Nothing to do until the next wake. */
  | { readonly next: 'wait' }
  /** More work: give others a turn first. */
  | { readonly next: 'again' }
  | { readonly next: 'later'; readonly atMs: number };

interface TurnsOptions<Lane> {
  readonly atOnce: number;
  readonly now: () => number;
  /** Must not reject. */
  readonly turn: (lane: Lane) => Promise<Turn>;
}

export class Turns<Lane> {
  readonly #options: TurnsOptions<Lane>;
  /** Idle lanes are absent. */
  readonly #states = new Map<Lane, 'queued' | 'running' | 'woken' | 'timed'>();
  readonly #queue: Lane[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(options: TurnsOptions<Lane>) {
    this.#options = options;
  }

  isIdle(lane: Lane): boolean {
    return !this.#states.has(lane);
  }

  wake(lane: Lane): void {
    const state = this.#states.get(lane);
    if (state === undefined) this.#enter(lane);
    else if (state === 'running') this.#states.set(lane, 'woken');
  }

  #enter(lane: Lane): void {
    this.#states.set(lane, 'queued');
    this.#queue.push(lane);
    this.#next();
  }

  #next(): void {
    while (this.#running.size < this.#options.atOnce && !this.#isStopped) {
      const lane = this.#queue.shift();
      if (lane === undefined) return;
      const running = this.#run(lane).finally(() => {
        this.#running.delete(running);
        this.#next();
      });
      this.#running.add(running);
    }
  }

  async #run(lane: Lane): Promise<void> {
    this.#states.set(lane, 'running');
    const turn = await this.#options.turn(lane);
    if (this.#isStopped) return;
    if (turn.next === 'later') this.#time(lane, turn.atMs);
    else if (turn.next === 'again' || this.#states.get(lane) === 'woken') this.#enter(lane);
    else this.#states.delete(lane);
  }

  #time(lane: Lane, atMs: number): void {
    this.#states.set(lane, 'timed');
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#enter(lane);
      },
      Math.max(0, atMs - this.#options.now()),
    ).unref();
    this.#timers.add(timer);
  }

  /** Waits for the turns that run; none follows. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#running);
  }
}
