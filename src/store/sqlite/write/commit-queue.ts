/**
 * What waits to be written, and what of it the next commit takes: projects in turn. A commit of one project alone is
 * large, since that is fastest; where projects share the file, or did not long ago, commits are small, so that nobody
 * waits for much of another. Proven by `test/store/sqlite/write/commit-queue.test.ts` and `test/store/sqlite/write/writer.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { FairQueue } from '../../../core/fair-queue.ts';

export interface Sized<Item> {
  /** Whose it is; empty for what belongs to no project, which takes its turn with them. */
  readonly projectId: string;
  /** What it will roughly write. */
  readonly bytes: number;
  readonly item: Item;
}

export class CommitQueue<Item> {
  readonly #turns = new FairQueue<Sized<Item>>();
  /** The project that was queued last. */
  #newest = '';
  /** So many commits stay small. */
  #shared = 0;
  #bytes = 0;

  get size(): number {
    return this.#turns.size;
  }

  /** What all that waits will roughly write. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Queues it where fewer than `limit` wait; answers what is refused for it, which may be itself. */
  add(sized: Sized<Item>, limit: number): Item | undefined {
    const { projectId } = sized;
    if (projectId !== '' && projectId !== this.#newest) {
      if (this.#newest !== '') this.#shared = limits.commitSharedRecent;
      this.#newest = projectId;
    }
    const refused = this.#turns.add(projectId, sized, limit);
    this.#bytes += sized.bytes - (refused?.bytes ?? 0);
    return refused?.item;
  }

  /** Takes what the next commit writes: until it is as large as its limit, the last item beyond it. */
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

  /** Takes all that waits. */
  clear(): Item[] {
    this.#bytes = 0;
    return this.#turns.clear().map(({ item }) => item);
  }
}
