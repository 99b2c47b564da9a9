/**
 * Keeps the index of each log: has a worker thread extend the map, and appends its index leaves. An index leaf is appended
 * when a bundle needs one, and after every `limits.indexLeaves` leaves; a crash before its append leaves nothing. Two
 * processes may append one each: both are true. Proven by `test/service/completeness/attack.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { draftIndex } from '../../core/completeness/index-leaf.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Store } from '../../store/port/store.ts';
import type { Log } from '../call/log.ts';
import type { IndexAnswer, IndexInput, TaskHost, TaskRunner } from '../call/work.ts';
import type { SignedCheckpoint } from '../log/checkpoints.ts';
import { AskBudget } from './ask-budget.ts';

interface Options {
  readonly store: Store;
  readonly work: TaskRunner;
  readonly log: Log;
  /** Called after an index leaf was appended. */
  readonly grew: (projectId: string) => void;
}

export class Indexer {
  readonly #options: Options;
  /** By project: up to which size the index was extended in the background. */
  readonly #covered = new Map<string, number>();
  /** Projects that wait for the background, and the newest signed head of each. */
  readonly #waiting = new Map<string, SignedCheckpoint>();
  readonly #asks = new AskBudget();
  #isRunning = false;
  #isStopped = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Runs the task `index`; see `Tasks`. `events`: about how many of them it reads again. */
  index(input: IndexInput, events = 0): Promise<IndexAnswer | null> {
    return this.#options.work.run('index', input, { events, host: this.#hostOf(input.projectId) });
  }

  /**
   * Answers a question at a signed head. RATE_LIMITED where it needs an index leaf, and questions have added as many as
   * they may (`limits.indexAsks`).
   */
  async ask(input: IndexInput): Promise<IndexAnswer | null> {
    const { projectId } = input;
    const mayAppend = this.#asks.take(projectId);
    let appended = false;
    const { appendIndex, ...host } = this.#hostOf(projectId);
    const counted: Pick<TaskHost, 'appendIndex' | 'saveMap'> = {
      ...host,
      appendIndex: (map) => {
        appended = true;
        return appendIndex(map);
      },
    };
    try {
      const indexed = await this.#options.work.run(
        'index',
        { ...input, mayAppend },
        { events: 0, host: counted },
      );
      if (indexed?.coveredMs !== undefined) throw this.#tooMany(projectId, indexed.coveredMs);
      return indexed;
    } finally {
      if (mayAppend && !appended) this.#asks.giveBack(projectId);
    }
  }

  #tooMany(projectId: string, coveredMs: number | null): GovError {
    const { indexAsks, indexAskSeconds } = limits;
    const covered = coveredMs === null ? '' : ` ask for a time until ${formatTimestamp(coveredMs)}, or`;
    const detail = `this answer needs an index leaf, and questions add at most ${indexAsks} of them at once and one in ${indexAskSeconds} s:${covered} repeat later`;
    return new GovError('RATE_LIMITED', detail, { retryAfterSeconds: this.#asks.waitSeconds(projectId) });
  }

  /** Takes each signed head of an audit log. Returns at once; the index follows in the background. */
  signed(projectId: string, signed: SignedCheckpoint): void {
    const { size } = signed.checkpoint;
    if (size - (this.#covered.get(projectId) ?? 0) < limits.indexLeaves || this.#isStopped) return;
    this.#waiting.set(projectId, signed);
    if (!this.#isRunning) void this.#work();
  }

  /** Works off the waiting logs, one after the other; never rejects. */
  async #work(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || this.#isStopped) {
        this.#isRunning = false;
        return;
      }
      const [projectId, { checkpoint }] = next;
      this.#waiting.delete(projectId);
      const { size, root } = checkpoint;
      // a failure is tried again after as many leaves
      this.#covered.set(projectId, size);
      try {
        await this.index({ projectId, mode: 'due', signed: { size, root }, treeSize: 0, lists: [] });
      } catch (error) {
        if (!this.#isStopped)
          this.#options.log.error({ err: error, projectId }, 'the index of a log could not be extended');
      }
    }
  }

  #hostOf(projectId: string): Pick<TaskHost, 'appendIndex' | 'saveMap' | 'dropMap'> {
    const { store, grew } = this.#options;
    return {
      appendIndex: async (map) => {
        const expect = map.isExact ? { auditSize: map.size } : {};
        const result = await store.append({ projectId, leaves: [draftIndex(map)], expect });
        if (result.outcome === 'outdated') return -1;
        const [assigned] = result.outcome === 'stored' ? result.assigned : [];
        if (assigned?.outcome !== 'appended') throw new Error('expected an index leaf to be stored');
        grew(projectId);
        return assigned.index;
      },
      saveMap: (saving) => store.saveMap(projectId, saving),
      dropMap: () => store.dropMap(projectId),
    };
  }

  /** Ends the background. The work that runs fails when its thread is closed. */
  stop(): void {
    this.#isStopped = true;
  }
}
