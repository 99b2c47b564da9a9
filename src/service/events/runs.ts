/**
 * Turns and holds of runs in this process. `inTurn` lets what changes or logs the graph of a run happen one at
 * a time; `hold` keeps events of a run waiting for the short time in which its graph is logged, so that a
 * run that never rests can be proved all the same. Proven by `test/service/events/runs.test.ts`.
 */
import type { RunOf } from '../call/work.ts';

const name = ({ projectId, runId }: RunOf): string => `${projectId} ${runId}`;

export class Runs {
  readonly #turns = new Map<string, Promise<void>>();
  readonly #holds = new Map<string, Promise<void>>();

  /** Runs `work` after all work on the run that was asked for before. */
  async inTurn<Result>(of: RunOf, work: () => Promise<Result>): Promise<Result> {
    const key = name(of);
    const before = this.#turns.get(key);
    let done: () => void = () => {};
    const turn = new Promise<void>((resolve) => (done = resolve));
    this.#turns.set(key, turn);
    try {
      await before;
      return await work();
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
      done();
    }
  }

  /** Holds the run's events until the answer is called. */
  hold(of: RunOf): () => void {
    const key = name(of);
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    this.#holds.set(key, held);
    return () => {
      if (this.#holds.get(key) === held) this.#holds.delete(key);
      release();
    };
  }

  /** Whether any run is held; nearly always not. */
  get holding(): boolean {
    return this.#holds.size > 0;
  }

  /** Waits while one of these runs is held. */
  async free(projectId: string, runIds: Iterable<string>): Promise<void> {
    for (const runId of runIds) {
      const key = name({ projectId, runId });
      for (let held = this.#holds.get(key); held !== undefined; held = this.#holds.get(key)) await held;
    }
  }
}
