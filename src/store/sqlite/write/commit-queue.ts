/**
 * The queue of waiting writes, and the choice of those that the next commit takes. Projects take turns. A
 * commit of a single project is large, because that is fastest. Commits stay small while projects share the
 * file, or recently did, so that no project waits long for another. Limits: `commit…` in
 * `src/contract/limits.ts`.
 * Proven by `test/store/sqlite/write/commit-queue.test.ts` and `test/store/sqlite/write/writer.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { FairQueue } from '../../../core/fair-queue.ts';

export interface QueuedItem<Item> {
  /** The project; empty for a write of no project, which takes its turn like a project. */
  readonly projectId: string;
  /** About how many bytes the item writes. */
  readonly bytes: number;
  readonly item: Item;
}

export class CommitQueue<Item> {
  readonly #turns = new FairQueue<QueuedItem<Item>>();
  /** The project of the newest item. */
  #newest = '';
  /** How many further commits stay small. */
  #shared = 0;
  #bytes = 0;

  get size(): number {
    return this.#turns.size;
  }

  /** About how many bytes all waiting items write. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Queues the item while fewer than `limit` wait. Returns the item that it refuses, which can be this one.
   */
  add(sized: QueuedItem<Item>, limit: number): Item | undefined {
    const { projectId } = sized;
    if (projectId !== '' && projectId !== this.#newest) {
      if (this.#newest !== '') this.#shared = limits.commitSharedRecent;
      this.#newest = projectId;
    }
    const refused = this.#turns.add(projectId, sized, limit);
    this.#bytes += sized.bytes - (refused?.bytes ?? 0);
    return refused?.item;
  }

  /** Takes the items of the next commit until their size reaches the limit; the last one may exceed it. */
  next(): Item[] {
    const most = this.#shared > 0 ? limits.commitSharedBytes : limits.commitBytes;
    this.#shared -= 1;
    const items: Item[] = [];
    for (let bytes = 0; items.length < limits.commitRequests && bytes < most;) {
      const next = this.#turns.next();
      if (next === undefined) break;
      bytes += next.bytes;
      this.#bytes -= next.bytes;
      items.push(next.item);
    }
    return items;
  }

  /** Takes all waiting items. */
  clear(): Item[] {
    this.#bytes = 0;
    return this.#turns.clear().map(({ item }) => item);
  }
}
