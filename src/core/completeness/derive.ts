/**
 * Derives the map of a log from its records in order, and says of each `gov.index/1` leaf whether it has the root, the number
 * of keys and the time that its map function gives, and of each event whether its number is its place in its run, and whether
 * its server time goes back: answers about periods rest on the order of times.
 *
 * The size of an index leaf may be below its own place, so records wait until `settle`: the map then stands at the largest
 * size that an index leaf named. Memory: 600 bytes for each key in use, and the records that wait.
 * Proven by `test/core/completeness/derive.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { Frontier, leafHash } from '../merkle/tree.ts';
import { readIndex, type IndexRecord } from './index-leaf.ts';
import type { StoredList } from './key-list.ts';
import { LogMap, type ChangedList } from './log-map.ts';
import { isMapFunction, keyOfText, mapFunction, readMapped, type MapFunction } from './map-function.ts';
import type { PathEnd } from './map.ts';
import { PrefixTree, type Part } from './prefix-tree.ts';

/** What makes the index of a log false. */
export interface FalseIndex {
  /** The index leaf, or the event whose number is not its place or whose time goes back. */
  readonly index: number;
  readonly detail: string;
  /** The leaves from here up to the index leaf's size are those that it may have left out. */
  readonly since: number;
}

/** Keeps the lists and parts that a map dropped. */
export interface MapStore {
  part(part: Part): Iterable<PathEnd>;
  list(keyHash: Buffer): StoredList | null;
}

/** Where a derivation stands: the map covers `size` leaves, whose tree has these peaks. */
export interface DerivedState {
  readonly size: number;
  readonly ms: number;
  readonly fn: MapFunction;
  readonly peaks: readonly Uint8Array[];
  /** The tree of the map in parts (`PrefixTree.parts`). */
  readonly parts: Uint8Array;
}

/** The derivation has to begin again, by this function and with a stop at each of these sizes. */
export interface Restart {
  readonly fn: MapFunction;
  readonly stops: readonly number[];
}

interface Waiting {
  /** The leaf hash, 32 one-byte characters. */
  readonly leaf: string;
  readonly record: string;
}

interface Claimed extends IndexRecord {
  readonly index: number;
}

export class IndexDeriver {
  readonly #map: LogMap;
  readonly #store: MapStore | null;
  /** Of the leaves that the map covers, and of all that were taken. */
  readonly #tree: Frontier;
  readonly #seen: Frontier;
  #waiting: Waiting[] = [];
  #claimed: Claimed[] = [];
  /** By size: what the map was there. Only of the newest index leaves. */
  readonly #roots = new Map<number, { readonly root: Buffer; readonly keys: number; readonly ms: number }>();
  readonly #stops: Set<number>;
  #fault: FalseIndex | null = null;
  #restart: Restart | null = null;
  #unknown: string | null = null;

  /** `from`: an earlier state, whose lists `store` has. Throws RangeError for a state that no derivation leaves. */
  constructor({ from, restart, store }: { from?: DerivedState; restart?: Restart; store?: MapStore } = {}) {
    const tree = from === undefined ? new PrefixTree() : PrefixTree.closed(from.parts);
    if (tree === null) throw new RangeError('expected a tree in parts, got other bytes');
    this.#map = new LogMap(
      from === undefined ? null : { size: from.size, ms: from.ms, tree },
      from?.fn ?? restart?.fn ?? mapFunction,
    );
    this.#tree = from === undefined ? new Frontier() : Frontier.from(from.size, from.peaks);
    this.#seen = this.#tree.clone();
    this.#stops = new Set(restart?.stops ?? []);
    this.#store = store ?? null;
  }

  /** How many records were taken. */
  get size(): number {
    return this.#seen.size;
  }

  /** The root of the tree of all records that were taken. */
  root(): Buffer {
    return this.#seen.root();
  }

  /** Not null: this derivation cannot judge an index leaf, another one can. */
  get restart(): Restart | null {
    return this.#restart;
  }

  /** Not null: an index leaf is by a map function that this program does not know, and nothing is said from there on. */
  get unknown(): string | null {
    return this.#unknown;
  }

  /** The first fault. */
  get fault(): FalseIndex | null {
    return this.#fault;
  }

  /** Takes the next record. Cost: 10 µs. */
  add(record: string): void {
    const index = this.#seen.size;
    const hash = leafHash(record);
    this.#seen.append(hash);
    if (this.#isOver) return;
    const read = readIndex(record);
    if (read !== null) this.#claimed.push({ ...read, index });
    this.#waiting.push({ leaf: hash.toString('latin1'), record });
    if (this.#waiting.length > limits.indexWaiting) {
      this.settle();
      this.#advance(index + 1 - limits.indexWaiting / 2);
    }
  }

  /** Judges every index leaf that was taken. */
  settle(): void {
    const claimed = this.#claimed.toSorted((one, other) => one.size - other.size);
    this.#claimed = [];
    for (const leaf of claimed) {
      if (this.#isOver) return;
      this.#judge(leaf);
    }
  }

  /** Where the derivation stands, and the lists that changed since `saved`. Call `settle` first. */
  unsaved(): { readonly state: DerivedState; readonly lists: readonly ChangedList[] } {
    const { size, ms, fn } = this.#map;
    const { parts, lists } = this.#map.unsaved();
    return { state: { size, ms, fn, peaks: this.#tree.hashes(), parts }, lists };
  }

  /** Call it after the store has what `unsaved` returned. Drops lists from memory where there are more than `most`. */
  saved(most: number): void {
    this.#map.saved(most);
  }

  get #isOver(): boolean {
    return this.#fault !== null || this.#restart !== null || this.#unknown !== null;
  }

  #judge({ index, size, fn, root, keys, throughMs }: Claimed): void {
    const since = this.#map.size;
    const fail = (detail: string): void => {
      this.#fault = { index, detail, since };
    };
    if (!isMapFunction(fn)) {
      this.#unknown = `index leaf ${index}: this program does not know its map function`;
      return;
    }
    if (size > index) return fail(`index leaf ${index}: its size ${size} is beyond it`);
    if (fn !== this.#map.fn) return this.#again({ fn, stops: [] });
    this.#advance(size);
    if (this.#isOver) return;
    const found = this.#rootAt(size);
    if (found === null) return this.#again({ fn, stops: [size] });
    if (!found.root.equals(root))
      return fail(`index leaf ${index}: root ${short(root)}, its ${size} leaves give ${short(found.root)}`);
    if (found.keys !== keys)
      return fail(`index leaf ${index}: ${keys} keys, its ${size} leaves give ${found.keys}`);
    if (found.ms !== throughMs) fail(`index leaf ${index}: its time is not that of its ${size} leaves`);
  }

  #again({ fn, stops }: Restart): void {
    this.#restart = { fn, stops: [...this.#stops, ...stops] };
  }

  /** What the map is at a size; null where it went on before somebody asked. */
  #rootAt(size: number): { readonly root: Buffer; readonly keys: number; readonly ms: number } | null {
    if (size !== this.#map.size) return this.#roots.get(size) ?? null;
    const { ms } = this.#map;
    const found = { root: this.#map.root(), keys: this.#map.keys, ms };
    this.#roots.set(size, found);
    for (const oldest of this.#roots.keys()) {
      if (this.#roots.size <= limits.indexRootsKept) break;
      this.#roots.delete(oldest);
    }
    return found;
  }

  /** Extends the map to `size` leaves. */
  #advance(size: number): void {
    const map = this.#map;
    const from = map.size;
    for (const { leaf, record } of this.#waiting.slice(0, Math.max(0, size - from))) {
      if (this.#stops.has(map.size)) this.#rootAt(map.size);
      const mapped = readMapped(record, map.fn);
      if (this.#store !== null && !this.#load(mapped, this.#store)) {
        this.#again({ fn: map.fn, stops: [] });
        return;
      }
      const index = map.size;
      if (mapped.items.length === 0) {
        this.#fault = { index, detail: `leaf ${index}: its record is not one of a log`, since: from };
        return;
      }
      if (isOtherEvent(mapped)) {
        this.#unknown = `leaf ${index}: this program does not know its type of event`;
        return;
      }
      const isEarlier = mapped.event !== null && mapped.ms !== null && mapped.ms < map.ms;
      this.#tree.append(Buffer.from(leaf, 'latin1'));
      const isInPlace = map.add(leaf, mapped);
      if (isInPlace && !isEarlier) continue;
      const what = isInPlace ? 'server time goes back' : 'number is not its place in its run';
      this.#fault = { index, detail: `leaf ${index}: its ${what}`, since: from };
      return;
    }
    this.#waiting = this.#waiting.slice(map.size - from);
  }

  /** Loads what the map dropped of the keys of a record. False where the store was altered. */
  #load(record: ReturnType<typeof readMapped>, store: MapStore): boolean {
    const keys = new Map<string, Buffer>();
    this.#map.missing(record, keys);
    for (const [text, hash] of keys) {
      const part = this.#map.closedAt(hash);
      if (part !== null && !this.#map.open(part, store.part(part))) return false;
      if (!this.#map.has(hash)) continue;
      const list = store.list(hash);
      if (list === null || !this.#map.restore(text, hash, list)) return false;
    }
    return true;
  }
}

/** Of a later version: what its lists are is unknown, so it could be an event that no list has. */
const isOtherEvent = ({ event, items }: ReturnType<typeof readMapped>): boolean =>
  event === null && items.some(({ text }) => keyOfText(text)[1]?.startsWith('gov.event/'));

const short = (hash: Uint8Array): string => Buffer.from(hash).toString('hex').slice(0, 12);
