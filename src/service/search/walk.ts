/**
 * One page of a search, newest first: the leaves after the last indexed block are read one by one, older ones are found by
 * the index. What the index finds is compared with the event itself. Proven by
 * `test/service/search/handlers.engines.test.ts`.
 */
import type { AuditEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { openEvent } from '../../core/event/record.ts';
import { blockLeaves, readPlaces } from '../../core/search/places.ts';
import { eventTerms, searchTerms, type EventSearch } from '../../core/search/terms.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf, Store } from '../../store/port/store.ts';
import type { Slice } from '../call/slices.ts';
import { Erasures } from '../erasure/erased.ts';
import { openLeaf } from '../events/handlers.ts';
import { termHash } from './block-task.ts';

/** Leaves of one read beside the index. */
const leavesAtOnce = 64;
/** Blocks of one read of the index. */
const blocksAtOnce = 256;

export interface Walk {
  readonly store: Store;
  readonly projectId: string;
  readonly key: Uint8Array;
  readonly search: EventSearch;
  readonly slice: Slice;
  /** Only leaves below this index. */
  readonly before: number;
  readonly limit: number;
}

export interface Found {
  readonly events: AuditEvent[];
  /** Where the next page starts, as `before`; null after the oldest event. */
  readonly before: number | null;
}

export async function walk(input: Walk): Promise<Found> {
  const { store, projectId } = input;
  for (;;) {
    const head = await store.termHead(projectId);
    const found = await walkOnce(input, head.blocks);
    // an erasure dropped blocks of the index during the walk, which then missed their events
    if ((await store.termHead(projectId)).changes === head.changes) return found;
  }
}

async function walkOnce(input: Walk, blocks: number): Promise<Found> {
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

/** Indexes of the leaves of [from, to) that the index has for all terms of a search, newest first. */
async function* indexedPlaces(
  { store, projectId, key, search }: Walk,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<number> {
  const terms = searchTerms(search).map((term) => termHash(key, term));
  const { startMs = 0, endMs = Number.MAX_SAFE_INTEGER } = search;
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

/** Collects the events that match, up to the bounds of a page. */
class Page {
  readonly #input: Walk;
  readonly #terms: readonly string[];
  readonly #erasures: Erasures;
  readonly #events: AuditEvent[] = [];
  #bytes = 0;
  #looks = 0;

  constructor(input: Walk) {
    this.#input = input;
    this.#terms = searchTerms(input.search);
    this.#erasures = new Erasures(input.store, input.projectId);
  }

  /** Takes the event of a leaf if it matches. True where the page is full. */
  async take(leaf: Leaf): Promise<boolean> {
    const { slice, limit } = this.#input;
    if (slice.isOver()) await slice.next();
    this.#looks += 1;
    if (this.#matches(leaf)) {
      const event = openLeaf(leaf);
      if (leaf.erased !== undefined) await this.#erasures.require(leaf);
      if (event !== null) this.#events.push(event);
      this.#bytes += leaf.record.length + (leaf.disclosures?.length ?? 0);
    }
    return (
      this.#events.length >= limit || this.#bytes > limits.pageBytes || this.#looks >= limits.searchLeaves
    );
  }

  /** A damaged event that does not match is not read further. */
  #matches({ index, record, disclosures }: Leaf): boolean {
    if (!record.endsWith('"type":"gov.event/1"}')) return false;
    const event = openEvent(index, record, disclosures ?? '[]');
    const { startMs = 0, endMs = Infinity } = this.#input.search;
    const ms = parseTimestamp(event.timestamp) ?? 0;
    if (ms < startMs || ms > endMs) return false;
    const terms = eventTerms(event);
    return this.#terms.every((term) => terms.has(term));
  }

  found(before: number | null): Found {
    return { events: this.#events, before: before === 0 ? null : before };
  }
}
