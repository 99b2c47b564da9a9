/**
 * A queue that is fair to its owners: it returns the oldest item of the owner that was served longest ago.
 * However many items one owner queues, another owner waits for at most one item of each owner. A full queue refuses the
 * newest item of the owner with the most items, so a flood refuses itself, and a single owner may use all of it.
 * Proven by `test/core/fair-queue.test.ts`.
 */

export class FairQueue<Item> {
  /** By owner, in serving order; no list is empty. */
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /**
   * Queues an item if fewer than `limit` wait. Returns the refused item of a full queue: one of another owner, or the
   * item itself.
   */
  add(owner: string, item: Item, limit: number): Item | undefined {
    const refused = this.#size < limit ? undefined : makeWay(this.#queues, owner, item);
    if (refused === item) return item;
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, [item]);
    else queue.push(item);
    if (refused === undefined) this.#size += 1;
    return refused;
  }

  /** Removes and returns the next item; undefined if the queue is empty. */
  next(): Item | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [owner, queue] = first;
    const item = queue.shift();
    this.#size -= 1;
    if (queue.length > 0 && this.#queues.size === 1) return item;
    this.#queues.delete(owner);
    if (queue.length > 0) this.#queues.set(owner, queue);
    return item;
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }
}

/**
 * Removes and returns the newest item of the owner with the most items, if it has at least two more than the owner of
 * `item`; else returns `item`. Leaves no list empty. Cost: linear in the number of owners.
 */
export function makeWay<Item>(queues: ReadonlyMap<string, Item[]>, owner: string, item: Item): Item {
  let longest = queues.get(owner) ?? [];
  const fair = longest.length + 1;
  for (const queue of queues.values()) if (queue.length > longest.length) longest = queue;
  return longest.length > fair ? (longest.pop() ?? item) : item;
}
