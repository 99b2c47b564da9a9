/**
 * A queue that serves its owners in turn: each time the oldest item of the owner who was served longest ago. However
 * much one owner queues, another waits for one item of each owner. Where the queue is full, what came last of the
 * owner with most items makes way: a flood refuses itself, and an owner alone has all the room.
 * Proven by `test/core/fair-queue.test.ts`.
 */

export class FairQueue<Item> {
  /** By owner, in the order in which their turns come; none is empty. */
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /**
   * Queues an item where fewer than `limit` wait. Answers the item that is refused where it is full: one of another
   * owner, or the item itself.
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

  /** Takes the item whose turn it is; undefined where none waits. */
  next(): Item | undefined {
    const [turn] = this.#queues;
    if (turn === undefined) return undefined;
    const [owner, queue] = turn;
    const item = queue.shift();
    this.#size -= 1;
    if (queue.length > 0 && this.#queues.size === 1) return item;
    this.#queues.delete(owner);
    if (queue.length > 0) this.#queues.set(owner, queue);
    return item;
  }

  /** Takes all that waits. */
  clear(): Item[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }
}

/**
 * Takes out the newest item of the owner with most, where that one has at least two more than the owner of `item`;
 * else answers `item`. Leaves no queue empty. Cost: the number of owners.
 */
export function makeWay<Item>(queues: ReadonlyMap<string, Item[]>, owner: string, item: Item): Item {
  let longest = queues.get(owner) ?? [];
  const fair = longest.length + 1;
  for (const queue of queues.values()) if (queue.length > longest.length) longest = queue;
  return longest.length > fair ? (longest.pop() ?? item) : item;
}
