/**
 * What a thread was sent and has not answered, by number. In groups, as it was sent, not in a map: one that is added to and
 * deleted from all the time leaves its outgrown tables behind, each of which leads to the next, so that once one is old all
 * that was ever sent lives until the old generation is collected. Of single events that was 2 KB each, and a tenth of what
 * they cost. Proven by `test/store/sqlite/write/unanswered.test.ts`.
 */
interface Group<Item> {
  readonly first: number;
  /** Undefined where it is answered. */
  readonly items: (Item | undefined)[];
  waiting: number;
}

export class SentWrites<Item extends { readonly bytes: number }> {
  /** Few: answers come group by group. */
  #groups: Group<Item>[] = [];
  #count = 0;
  #size = 0;
  #bytes = 0;

  /** How many are not answered, and what they will roughly write. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number that the first of the next group gets; the others follow. */
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

  /** The item of this number, which is answered now; undefined where it was before, or never was sent. */
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

  /** Takes all. */
  clear(): Item[] {
    const items = this.#groups.flatMap((group) => group.items.filter((item) => item !== undefined));
    this.#groups = [];
    this.#size = 0;
    this.#bytes = 0;
    return items;
  }
}
