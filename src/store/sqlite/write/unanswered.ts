/**
 * The writes that the thread received and has not answered, by number. The writes stay in groups, as they
 * were sent, not in a `Map`. A `Map` with steady inserts and deletes outgrows its tables, and each old table
 * refers to the next. Once one is old, all writes stay in memory until the old generation is collected. For
 * single events that cost 2 KB each, and a tenth of the time of an event.
 * Proven by `test/store/sqlite/write/unanswered.test.ts`.
 */
interface Group<Item> {
  readonly first: number;
  /** An item is undefined once it is answered. */
  readonly items: (Item | undefined)[];
  waiting: number;
}

export class SentWrites<Item extends { readonly bytes: number }> {
  /** Few groups: answers arrive group by group. */
  #groups: Group<Item>[] = [];
  #count = 0;
  #size = 0;
  #bytes = 0;

  /** How many writes are unanswered; `bytes` is about how much they write. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the first item of the next group; the others count up. */
  get next(): number {
    return this.#count;
  }

  add(items: readonly Item[]): void {
    if (items.length === 0) return;
    this.#groups.push({ first: this.#count, items: [...items], waiting: items.length });
    this.#count += items.length;
    this.#size += items.length;
    for (const { bytes } of items) this.#bytes += bytes;
  }

  /** Removes and returns the item with this number; undefined if it was answered before or never sent. */
  take(no: number): Item | undefined {
    const group = this.#groups.find(({ first, items }) => no >= first && no < first + items.length);
    const item = group?.items[no - group.first];
    if (group === undefined || item === undefined) return undefined;
    group.items[no - group.first] = undefined;
    group.waiting -= 1;
    if (group.waiting === 0) this.#groups = this.#groups.filter((each) => each !== group);
    this.#size -= 1;
    this.#bytes -= item.bytes;
    return item;
  }

  /** Takes all items. */
  clear(): Item[] {
    const items = this.#groups.flatMap((group) => group.items.filter((item) => item !== undefined));
    this.#groups = [];
    this.#size = 0;
    this.#bytes = 0;
    return items;
  }
}
