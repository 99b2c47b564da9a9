/**
 * The map of a log up to a size, extended leaf by leaf. Lists and parts of the tree that are not in memory are named by
 * `missing`, and given by `restore` and `open`; what was altered is refused. A caller that never drops anything, such as
 * `fsck`, needs neither.
 * Proven by `test/core/completeness/log-map.test.ts` (a map built from all records at once as oracle).
 */
import { KeyList, type StoredList } from './key-list.ts';
import { keyHash, valueHash, type ListValue, type MapKey, type MapPath, type PathEnd } from './map.ts';
import {
  keyOfText,
  keyText,
  mapFunction,
  placeItem,
  textItem,
  type MapFunction,
  type MappedRecord,
} from './map-function.ts';
import { PrefixTree, type Part } from './prefix-tree.ts';

interface HeldList {
  readonly hash: Buffer;
  readonly list: KeyList;
}

/** A changed list with the hashes of its place in the map. */
export interface ChangedList extends PathEnd {
  readonly list: StoredList;
}

export class LogMap {
  #tree: PrefixTree;
  /** By the text of the key. */
  readonly #lists = new Map<string, HeldList>();
  /** Keys whose value in the tree is older than their list. */
  readonly #stale = new Set<HeldList>();
  /** Keys that changed since the last `saved`. */
  readonly #unsaved = new Set<HeldList>();
  #size: number;
  #ms: number;

  /** The function that the records were read with. */
  readonly fn: MapFunction;

  /** `ms`: the server time at `size`, 0 in an empty log. */
  constructor(
    from: { readonly size: number; readonly ms: number; readonly tree: PrefixTree } | null = null,
    fn: MapFunction = mapFunction,
  ) {
    this.fn = fn;
    this.#size = from?.size ?? 0;
    this.#ms = from?.ms ?? 0;
    this.#tree = from?.tree ?? new PrefixTree();
  }

  /** The number of leaves that the map covers. */
  get size(): number {
    return this.#size;
  }

  /** The server time of the newest leaf that has one. Every later leaf has this time or a later one. */
  get ms(): number {
    return this.#ms;
  }

  get keys(): number {
    return this.#tree.keys;
  }

  /** Lists in memory. */
  get held(): number {
    return this.#lists.size;
  }

  /** The keys of a record that are not in memory, with their hashes. Empty for a caller that drops nothing. */
  missing(record: MappedRecord, into: Map<string, Buffer>): void {
    for (const { text, opens } of record.items) {
      this.#miss(text, into);
      if (opens !== undefined) this.#miss(opens, into);
    }
  }

  #miss(text: string, into: Map<string, Buffer>): void {
    if (!this.#lists.has(text) && !into.has(text)) into.set(text, keyHash(keyOfText(text)));
  }

  /** Whether the list of a key, by its text, is in memory. */
  holds(text: string): boolean {
    return this.#lists.has(text);
  }

  closedAt(hash: Uint8Array): Part | null {
    return this.#tree.closedAt(hash);
  }

  open(part: Part, entries: Iterable<PathEnd>): boolean {
    return this.#tree.open(part, entries);
  }

  /** Whether the map has a key whose place is open. */
  has(hash: Uint8Array): boolean {
    return this.#tree.get(hash) !== null;
  }

  /** Takes a list from a table; false unless it is the one that the map commits to. */
  restore(text: string, hash: Buffer, stored: StoredList): boolean {
    const list = KeyList.from(stored);
    const value = this.#tree.get(hash);
    if (list === null || list.n === 0 || value === null) return false;
    if (!valueHash(list.value()).equals(value)) return false;
    this.#lists.set(text, { hash, list });
    return true;
  }

  /**
   * Adds the next leaf; `leaf`: its hash, 32 one-byte characters. Returns false if the number of an event in its run is not
   * its place in the run's list: another event of the run has that number, or is missing.
   */
  add(leaf: string, record: MappedRecord): boolean {
    const index = this.#size;
    const ms = Math.max(this.#ms, record.ms ?? 0);
    this.#ms = ms;
    this.#size = index + 1;
    const { event, items } = record;
    let inOrder = true;
    let place = '';
    for (const { text, item, opens } of items) {
      const held = this.#take(text);
      if (item === 'event' && place === '') place = placeItem(index, ms, event?.clientMs);
      held.list.add(item === 'leaf' ? leaf : item === 'event' ? place : placeItem(index, ms), index, ms);
      if (event !== null && item === 'leaf' && event.runSeq !== held.list.n - 1) inOrder = false;
      if (opens === undefined || held.list.n > 1) continue;
      // the last member of the key is the name of the run, type or day
      const opening = opens === 'runs' ? placeItem(index, ms) : textItem(keyOfText(text).at(-1) ?? '');
      this.#take(opens).list.add(opening, index, ms);
    }
    return inOrder;
  }

  #take(text: string): HeldList {
    let held = this.#lists.get(text);
    if (held === undefined) {
      held = { hash: keyHash(keyOfText(text)), list: new KeyList() };
      this.#lists.set(text, held);
    }
    this.#stale.add(held);
    this.#unsaved.add(held);
    return held;
  }

  /** The root of the map at `size`. Cost: about 6 µs for each key that changed since the last call. */
  root(): Buffer {
    for (const held of this.#stale) this.#tree.set(held.hash, valueHash(held.list.value()));
    this.#stale.clear();
    return this.#tree.root();
  }

  /** The path of a key whose place is open, and its value if its list is in memory. Call `root` first. */
  path(key: MapKey): { readonly path: MapPath; readonly value: ListValue | null } {
    if (this.#stale.size > 0) throw new Error('expected the root before a path of the map');
    const held = this.#lists.get(keyText(key));
    return { path: this.#tree.path(held?.hash ?? keyHash(key)), value: held?.list.value() ?? null };
  }

  /** What a table must keep: the tree in parts, and the lists that changed since the last `saved`. */
  unsaved(): { readonly parts: Buffer; readonly lists: readonly ChangedList[] } {
    this.root();
    const lists = Array.from(this.#unsaved, ({ hash, list }) => ({
      keyHash: hash,
      valueHash: valueHash(list.value()),
      list: list.stored(),
    }));
    return { parts: this.#tree.parts(), lists };
  }

  /** Call it after the table has what `unsaved` returned. Drops lists and parts if there are more than `most`. */
  saved(most: number): void {
    this.#unsaved.clear();
    if (this.#lists.size <= most) return;
    this.#lists.clear();
    this.#tree = PrefixTree.closed(this.#tree.parts()) ?? this.#tree;
  }
}
