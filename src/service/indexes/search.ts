/**
 * Keeps the search index of each log: after each signed head and search, a worker thread reads the blocks that are full by then. It
 * delays no append, and a search reads the leaves after the last block itself. Proven by
 * `test/service/search/handlers.engines.test.ts` and `test/service/indexes/search.test.ts`.
 */
import { blockLeaves } from '../../core/search/places.ts';
import type { Store } from '../../store/port/store.ts';
import type { Log } from '../call/log.ts';
import type { TaskRunner } from '../call/work.ts';

interface Options {
  readonly store: Store;
  readonly work: TaskRunner;
  readonly log: Log;
  /** The key of terms. */
  readonly key: Uint8Array;
}

export class SearchIndexer {
  readonly #options: Options;
  /** Projects that wait, and the size of their logs. */
  readonly #waiting = new Map<string, number>();
  /** By project: the size from which it is worth to look again. */
  readonly #next = new Map<string, number>();
  #isRunning = false;
  #isStopped = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Takes the size of an audit log, of a signed head or of a search. Returns at once. */
  grown(projectId: string, size: number): void {
    if (this.#isStopped || size < (this.#next.get(projectId) ?? blockLeaves)) return;
    this.#waiting.set(projectId, size);
    if (!this.#isRunning) void this.#work();
  }

  /** Works off the waiting logs, a block of each in turn; never rejects. */
  async #work(): Promise<void> {
    this.#isRunning = true;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || this.#isStopped) break;
      const [projectId, size] = next;
      this.#waiting.delete(projectId);
      try {
        if (await this.#extend(projectId, size)) this.#waiting.set(projectId, size);
      } catch (error) {
        // tried again with the next block
        this.#next.set(projectId, size + blockLeaves);
        if (!this.#isStopped)
          this.#options.log.error({ err: error, projectId }, 'the search index could not be extended');
      }
    }
    this.#isRunning = false;
  }

  /** Call it after an erasure: the index forgot blocks, which the next signed head brings back. */
  erased(projectId: string): void {
    this.#next.delete(projectId);
  }

  /** Indexes one block. False where no block is full. */
  async #extend(projectId: string, size: number): Promise<boolean> {
    const { store, work, key } = this.#options;
    const head = await store.termHead(projectId);
    const isFull = (head.blocks + 1) * blockLeaves <= size;
    this.#next.set(projectId, (head.blocks + 1) * blockLeaves);
    if (!isFull) return false;
    const terms = await work.run(
      'searchBlock',
      { projectId, block: head.blocks, key },
      { events: blockLeaves },
    );
    // another process may have saved it, or an erasure came between: the next look tells
    await store.saveTermBlock(projectId, head, terms);
    return true;
  }

  stop(): void {
    this.#isStopped = true;
  }
}
