/**
 * Serializes work on runs in this process, so that changes of one run do not overtake each other for nothing. Other
 * processes do not wait: what must hold, the store compares. Proven by `test/service/log/runs.test.ts` and
 * `test/service/call/overtaken.test.ts`.
 */
import { untilStored } from '../call/overtaken.ts';
import type { RunOf } from '../call/work.ts';

const name = ({ projectId, runId }: RunOf): string => `${projectId} ${runId}`;

export class Runs {
  readonly #turns = new Map<string, Promise<void>>();
  /** By project. None rejects. */
  readonly #overtaken = new Map<string, Set<Promise<unknown>>>();

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

  /**
   * Like `untilStored`, for work that is judged by the state of its project. Once a change overtook the first attempt,
   * the next change of this process waits for the repeats, so that changes without a pause do not overtake each of them.
   */
  async untilJudged<Result>(
    projectId: string,
    what: string,
    attempt: () => Promise<Result | null>,
  ): Promise<Result> {
    const first = await attempt();
    if (first !== null) return first;
    const overtaken = this.#overtaken.get(projectId) ?? new Set();
    this.#overtaken.set(projectId, overtaken);
    const repeats = untilStored(what, attempt);
    const ended: Promise<unknown> = repeats
      .catch(() => null)
      .finally(() => {
        overtaken.delete(ended);
        if (overtaken.size === 0) this.#overtaken.delete(projectId);
      });
    overtaken.add(ended);
    return repeats;
  }

  /** Waits for the work that changes overtook until now. Every change that can overtake work waits first. */
  async overtaken(projectId: string): Promise<void> {
    await Promise.all(this.#overtaken.get(projectId) ?? []);
  }
}
