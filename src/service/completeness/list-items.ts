/**
 * The items of a list, from the tables: the caller compares their root with the map. Items that are places have no table of
 * their own, so they are derived from the leaves between the first and the last item. Proven by
 * `test/service/completeness/attack.test.ts` and `test/service/completeness/ask.engines.test.ts`.
 */
import {
  keyText,
  placeItem,
  readMapped,
  type MapFunction,
  type MappedRecord,
} from '../../core/completeness/map-function.ts';
import type { ListValue, MapKey } from '../../core/completeness/map.ts';
import type { IndexedLeaf, Leaf } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';

export interface ListItems {
  /** Hashes of the items, 32 bytes each. */
  readonly hashes: Buffer;
  readonly indexes: readonly number[];
  /** Server times. */
  readonly times: readonly number[];
  /** Client times, for items that have them. */
  readonly clientTimes?: readonly number[];
}

const leavesAtOnce = 500;

/** Items that are leaves, in the tables of runs and decisions, below a leaf. Memory: about 50 bytes an item. */
export async function listItems(
  context: TaskContext,
  projectId: string,
  { key, below }: { readonly key: MapKey; readonly below: number },
): Promise<ListItems> {
  const hashes: Buffer[] = [];
  const indexes: number[] = [];
  const times: number[] = [];
  for (;;) {
    const page = { key, below, count: indexes.length, after: indexes.at(-1) ?? -1 };
    const leaves = await pageOf(context, projectId, page);
    hashes.push(Buffer.concat(leaves.map(({ hash }) => hash)));
    for (const { index, record } of leaves) {
      indexes.push(index);
      times.push(readMapped(record).ms ?? 0);
    }
    if (leaves.length < leavesAtOnce) return { hashes: Buffer.concat(hashes), indexes, times };
    await context.breathe();
  }
}

function pageOf(
  { reader }: TaskContext,
  projectId: string,
  of: { key: MapKey; below: number; count: number; after: number },
): Promise<Leaf[]> {
  const [kind, name = '', runId = ''] = of.key;
  if (kind === 'run') {
    const range = { fromSeq: of.count, beforeIndex: of.below, limit: leavesAtOnce, bodies: false };
    return reader.runLeaves(projectId, name, range);
  }
  // the keys of a proof's lists name indexed types
  const filter = { type: name as IndexedLeaf, runId, beforeIndex: of.below };
  return reader.leavesOf(projectId, filter, { after: of.after, limit: leavesAtOnce, order: 'asc' });
}

/** The item of a run in the list of runs, which is that of its first event. */
const firstOf = (event: MappedRecord['event']): { readonly item: 'place' } | null =>
  event?.runSeq === 0 ? { item: 'place' } : null;

/** Items that are places. Cost: 10 µs for each leaf between the first and the last item. */
export async function placeItems(
  context: TaskContext,
  projectId: string,
  { key, value, fn }: { readonly key: MapKey; readonly value: ListValue; readonly fn: MapFunction },
): Promise<ListItems> {
  const wanted = keyText(key);
  const clientTimes: number[] = [];
  const hashes: string[] = [];
  const indexes: number[] = [];
  const times: number[] = [];
  let newestMs = value.firstMs;
  for (let from = value.first; from <= value.last; from += leavesAtOnce) {
    const range = { from, to: Math.min(value.last + 1, from + leavesAtOnce), bodies: false } as const;
    for (const { index, record } of await context.reader.leaves(projectId, 'audit', range)) {
      const { ms, event, items } = readMapped(record, fn);
      newestMs = Math.max(newestMs, ms ?? 0);
      const found = items.find(({ text }) => text === wanted) ?? (wanted === 'runs' ? firstOf(event) : null);
      if (found === null) continue;
      const clientMs = found.item === 'event' ? event?.clientMs : undefined;
      if (clientMs !== undefined) clientTimes.push(clientMs);
      hashes.push(placeItem(index, newestMs, clientMs));
      indexes.push(index);
      times.push(newestMs);
    }
    await context.breathe();
  }
  const listed = { hashes: Buffer.from(hashes.join(''), 'latin1'), indexes, times };
  return clientTimes.length === 0 ? listed : { ...listed, clientTimes };
}
