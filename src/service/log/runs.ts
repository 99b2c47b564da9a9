/**
 * Serializes work on runs in this process, so that changes of one run do not overtake each other for nothing. Other
 * processes do not wait: what must hold, the store compares. Proven by `test/service/log/runs.test.ts`.
 */
import type { RunOf } from '../call/work.ts';

const name = ({ projectId, runId }: RunOf): string => `${projectId} ${runId}`;

export class Runs {
  readonly #turns = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work on the run. */
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
}
