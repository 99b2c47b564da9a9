/**
 * One page of a search, newest first: the leaves after the last indexed block are read one by one, older ones are found by
 * the index. What the index finds is compared with the leaf itself. Proven by
 * `test/service/search/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { blockLeaves, readPlaces } from '../../core/search/places.ts';
import { leafTerms, searchTerms, type SearchQuery } from '../../core/search/terms.ts';
import type { Leaf, Store } from '../../store/port/store.ts';
import type { Slice } from '../call/slices.ts';
import { termHash } from './block-task.ts';

/** Leaves of one read beside the index. */
const leavesAtOnce = 64;
/** Blocks of one read of the index. */
const blocksAtOnce = 256;

export interface Walk<Item> {
  readonly store: Store;
  readonly projectId: string;
  readonly key: Uint8Array;
  readonly wanted: SearchQuery;
  /** Returns what the page shows of a leaf that matches; null for nothing. */
  readonly open: (leaf: Leaf) => Promise<Item | null>;
  readonly slice: Slice;
  /** Only leaves below this index. */
  readonly before: number;
  readonly limit: number;
}

export interface MatchPage<Item> {
  readonly items: Item[];
  /** Where the next page starts, as `before`; null after the oldest leaf. */
  readonly before: number | null;
}

export async function walk<Item>(input: Walk<Item>): Promise<MatchPage<Item>> {
  const { store, projectId } = input;
  for (;;) {
    const head = await store.termHead(projectId);
    const found = await walkOnce(input, head.blocks);
    // an erasure dropped blocks of the index during the walk, which then missed their events
    if ((await store.termHead(projectId)).changes === head.changes) return found;
  }
}

async function walkOnce<Item>(input: Walk<Item>, blocks: number): Promise<MatchPage<Item>> {
  const { store, projectId } = input;
  const floor = await store.prunedBelow(projectId);
  const page = new Page(input);
  const indexed = Math.max(floor, Math.min(blocks * blockLeaves, input.before));
  for (let to = input.before; to > indexed; to -= leavesAtOnce) {
    const from = Math.max(indexed, to - leavesAtOnce);
    for (const leaf of (await store.leaves(projectId, 'audit', { from, to })).toReversed()) {
      if (await page.take(leaf)) return page.found(leaf.index);
    }
  }
  for await (const index of indexedPlaces(input, { from: floor, to: indexed })) {
    const leaf = await store.leaf(projectId, index);
    if (leaf !== null && (await page.take(leaf))) return page.found(index);
  }
  return page.found(null);
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Indexes of the leaves of [from, to) that the index has for all terms of a search, newest first. */
async function* indexedPlaces(input: Walk<unknown>, range: Range): AsyncGenerator<number> {
  const timed = await timedPlaces(input, range);
  if (timed === null) return yield* termPlaces(input, range);
  const [newest = -1] = timed;
  const { kind, search } = input.wanted;
  const { startMs: _start, endMs: _end, ...others } = search;
  // events of one time need no terms
  if (kind === 'event' && Object.keys(others).length === 0) return yield* timed;
  const within = new Set(timed);
  for await (const index of termPlaces(input, { from: timed.at(-1) ?? 0, to: newest + 1 })) {
    if (within.has(index)) yield index;
  }
}

/**
 * Indexes of the events of [from, to) within the times of a search, newest first, by the index of times: it finds the few
 * events of an hour in a log whose times are in no order. Null if they are many, and without times: then their blocks tell.
 */
async function timedPlaces(
  { store, projectId, wanted }: Walk<unknown>,
  range: Range,
): Promise<number[] | null> {
  const { startMs, endMs } = wanted.search;
  // evaluations are recorded in the order of their times
  if (wanted.kind !== 'event' || (startMs === undefined && endMs === undefined)) return null;
  const times = { startMs: startMs ?? 0, endMs: endMs ?? Number.MAX_SAFE_INTEGER };
  if ((await store.countEvents(projectId, times)) > limits.searchLeaves) return null;
  return store.eventsWithin(projectId, { ...range, ...times });
}

async function* termPlaces(
  { store, projectId, key, wanted }: Walk<unknown>,
  { from, to }: Range,
): AsyncGenerator<number> {
  const terms = searchTerms(wanted).map((term) => termHash(key, term));
  const { startMs = 0, endMs = Number.MAX_SAFE_INTEGER } = wanted.search;
  const last = Math.floor(from / blockLeaves);
  for (let end = Math.ceil(to / blockLeaves); end > last; end -= blocksAtOnce) {
    const range = { from: Math.max(last, end - blocksAtOnce), to: end, startMs, endMs };
    const [first = [], ...others] = await Promise.all(
      terms.map((term) => store.termBlocks(projectId, term, range)),
    );
    const rest = others.map((blocks) => new Map(blocks.map(({ block, places }) => [block, places])));
    for (const { block, places } of first) {
      const sets = rest.map((blocks) => new Set(readPlaces(blocks.get(block) ?? Buffer.alloc(0))));
      for (const offset of readPlaces(places).toReversed()) {
        const index = block * blockLeaves + offset;
        if (index >= from && index < to && sets.every((set) => set.has(offset))) yield index;
      }
    }
  }
}

/** Collects the leaves that match, up to the bounds of a page. */
class Page<Item> {
  readonly #input: Walk<Item>;
  readonly #terms: readonly string[];
  readonly #items: Item[] = [];
  #bytes = 0;
  #looks = 0;

  constructor(input: Walk<Item>) {
    this.#input = input;
    this.#terms = searchTerms(input.wanted);
  }

  /** Takes a leaf if it matches. True where the page is full. */
  async take(leaf: Leaf): Promise<boolean> {
    const { slice, limit, open } = this.#input;
    if (slice.isOver()) await slice.next();
    this.#looks += 1;
    if (this.#matches(leaf)) {
      const item = await open(leaf);
      if (item !== null) this.#items.push(item);
      this.#bytes += leaf.record.length + (leaf.disclosures?.length ?? 0);
    }
    return (
      this.#items.length >= limit || this.#bytes > limits.pageBytes || this.#looks >= limits.searchLeaves
    );
  }

  /** A damaged leaf that does not match is not read further. */
  #matches(leaf: Leaf): boolean {
    const found = leafTerms(leaf);
    if (found === null) return false;
    const { startMs = 0, endMs = Infinity } = this.#input.wanted.search;
    const isInTime = found.atMs >= startMs && found.atMs <= endMs;
    return isInTime && this.#terms.every((term) => found.terms.has(term));
  }

  found(before: number | null): MatchPage<Item> {
    return { items: this.#items, before: before === 0 ? null : before };
  }
}
