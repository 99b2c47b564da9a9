/**
 * Task: extends the map of a log (`kept-map.ts`), compares a proof's lists with it, and has index leaves appended. The map
 * stays in memory between tasks; one task at a time works on it. Proven by
 * `test/service/completeness/attack.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { mapEntry, growthOf, type MapEntry } from '../../core/completeness/entry.ts';
import { readIndex } from '../../core/completeness/index-leaf.ts';
import { listProofs } from '../../core/completeness/list-proof.ts';
import type { ListValue } from '../../core/completeness/map.ts';
import { isMapFunction, mapFunction, type MapFunction } from '../../core/completeness/map-function.ts';
import { hashText } from '../../core/hash.ts';
import type { ShownList } from '../../core/proofs/completeness.ts';
import type { StoreReader } from '../../store/port/store.ts';
import { coveredUntil } from '../../core/proofs/answer.ts';
import type { OpenIndex } from '../../core/proofs/completeness.ts';
import { answerOf } from './answer.ts';
import type { IndexQuestion, IndexAnswer, IndexInput, Task, TaskContext } from '../call/work.ts';
import { KeptMap } from './kept-map.ts';
import { listItems } from './list-items.ts';
import { indexMismatch, isLeafLost } from './mismatch.ts';

/** The map of one log, and the task that works on it. */
interface Slot {
  kept: KeptMap | null;
  working: Promise<unknown>;
  /** A task reads so many leaves that no proof waits for it. */
  isBuilding: boolean;
  /** A leaf was altered, or pruned before the map was saved: proofs go on, and show no completeness. */
  isLost: boolean;
}

/** By reader, because tests run several stores in one thread. */
const slots = new WeakMap<StoreReader, Map<string, Slot>>();

/** Lists in memory, over all logs: about 60 MB. */
const listsOfAll = 100_000;

const newSlot = (): Slot => ({ kept: null, working: Promise.resolve(), isBuilding: false, isLost: false });

function slotOf(reader: StoreReader, projectId: string): Slot {
  let byProject = slots.get(reader);
  if (byProject === undefined) slots.set(reader, (byProject = new Map()));
  const slot = byProject.get(projectId) ?? newSlot();
  byProject.delete(projectId);
  byProject.set(projectId, slot);
  let lists = 0;
  for (const { kept } of byProject.values()) lists += kept?.map.held ?? 0;
  for (const [id, { kept, isBuilding }] of byProject) {
    if (lists <= listsOfAll || id === projectId) break;
    if (isBuilding) continue;
    lists -= kept?.map.held ?? 0;
    byProject.delete(id);
  }
  return slot;
}

export const index: Task<'index'> = async (context, input) => {
  const slot = slotOf(context.reader, input.projectId);
  if (slot.isLost && input.mode !== 'build') return null;
  if (slot.isBuilding && input.mode !== 'build' && !(await isBuiltSoon(slot, input))) return null;
  const before = slot.working;
  const work = async (): Promise<IndexAnswer | null> => {
    await before.catch(() => {});
    try {
      return await indexed(context, input, slot);
    } catch (error) {
      slot.kept = null;
      if (!isLeafLost(error)) throw error;
      slot.isLost = true;
      return null;
    } finally {
      slot.isBuilding = false;
    }
  };
  const working = work();
  slot.working = working;
  return working;
};

/**
 * Waits for a map that is built, if it is nearly complete, for at most `limits.indexWaitSeconds`. Returns whether it is
 * built. The background does not wait: it comes again with later leaves.
 */
async function isBuiltSoon({ kept, working }: Slot, { mode, signed }: IndexInput): Promise<boolean> {
  const lacking = signed.size - (kept?.map.size ?? 0);
  if (mode === 'due' || lacking > limits.indexWaitLeaves) return false;
  const ended = new AbortController();
  const built = working.then(
    () => true,
    () => true, // the caller meets the failure itself
  );
  const { signal } = ended;
  const late = pause(limits.indexWaitSeconds * 1000, false, { signal, ref: false }).catch(() => false);
  const isBuilt = await Promise.race([built, late]);
  ended.abort();
  return isBuilt;
}

async function indexed(context: TaskContext, input: IndexInput, slot: Slot): Promise<IndexAnswer | null> {
  const { projectId, mode, signed, treeSize } = input;
  const fn = slot.kept?.map.fn ?? (await functionOf(context, projectId));
  const newest = await newestLeaf(context, projectId, fn);
  if (mode === 'due' && signed.size - (newest?.size ?? 0) < limits.indexLeaves) return null;
  slot.kept ??= await KeptMap.open(context, { projectId, signed, fn });
  const { kept } = slot;
  if (mode === 'due' || mode === 'build') {
    slot.isBuilding = signed.size - kept.map.size > limits.indexBehind;
    return build(context, input, kept);
  }
  const { ask } = input;
  const isNewer = newest !== null && newest.size >= kept.map.size;
  const isCovered =
    isNewer && (ask === undefined ? newest.size >= treeSize : answers(newest, ask, signed.size));
  if (ask !== undefined && !isCovered && input.mayAppend !== true) {
    const coveredMs = newest === null ? null : coveredUntil(newest);
    return { leafIndex: null, entries: [], size: kept.map.size, fn, coveredMs };
  }
  const least = ask === undefined || isCovered ? treeSize : signed.size;
  const to = Math.max(least, kept.map.size, isCovered && mode === 'leaf' ? newest.size : 0);
  if (to - kept.map.size > limits.indexBehind) return null;
  await kept.extend(context, signed, to);
  const entries: MapEntry[] = [];
  for (const list of input.lists) entries.push(await entryOf(context, input, { kept, list }));
  const { map } = kept;
  for (const key of input.keys ?? []) {
    const { path, value } = await kept.path(context, key);
    entries.push(mapEntry(key, path, value));
  }
  const found = { entries, size: map.size, fn };
  if (mode === 'check') return { leafIndex: null, ...found };
  const isExact = ask !== undefined && !isCovered && (ask.untilMs ?? 0) > map.ms;
  const leafIndex = await leafFor(context, projectId, kept, isExact);
  if (leafIndex < 0) return { leafIndex: null, ...found };
  if (ask === undefined) return { leafIndex, ...found };
  return { leafIndex, ...found, answer: await answerOf(context, { projectId, kept, ask }) };
}

/** Whether an index leaf covers the period of a question. Without an end it is about the log as it is now: all but that leaf. */
const answers = (leaf: NewestLeaf, { untilMs }: IndexQuestion, size: number): boolean =>
  untilMs === null ? leaf.size === leaf.index && leaf.index + 1 === size : untilMs <= coveredUntil(leaf);

/** Extends the map to the head, with a leaf and a save on the way, so that memory stays bounded. */
async function build(
  context: TaskContext,
  { projectId, signed, mode }: IndexInput,
  kept: KeptMap,
): Promise<IndexAnswer> {
  for (;;) {
    await kept.extend(context, signed, Math.min(signed.size, kept.map.size + limits.indexSaveLeaves));
    const leafIndex = await leafFor(context, projectId, kept);
    if (kept.map.size < signed.size) continue;
    if (mode === 'build' && kept.map.size > kept.savedSize) await kept.save(context, leafIndex);
    return { leafIndex, entries: [], size: kept.map.size, fn: kept.map.fn };
  }
}

type NewestLeaf = OpenIndex;

/**
 * The map function that the index goes on with: the newest one, except where leaves were pruned while an older one indexed
 * the log, because nothing can be derived from them again.
 */
async function functionOf(context: TaskContext, projectId: string): Promise<MapFunction> {
  if ((await context.reader.prunedBelow(projectId)) === 0) return mapFunction;
  return (await newestLeaf(context, projectId))?.fn ?? mapFunction;
}

/** The newest index leaf; null in a log without one, and where it has another map function than `fn`. */
async function newestLeaf(
  { reader }: TaskContext,
  projectId: string,
  fn?: MapFunction,
): Promise<NewestLeaf | null> {
  const page = { limit: 1, order: 'desc' } as const;
  const [leaf] = await reader.leavesOf(projectId, { type: 'gov.index/1' }, page);
  const read = leaf === undefined ? null : readIndex(leaf.record);
  if (leaf === undefined || read === null || !isMapFunction(read.fn)) return null;
  return fn === undefined || fn === read.fn ? { ...read, fn: read.fn, index: leaf.index } : null;
}

/** The index leaf of the map, appended if the log has none; saves the map where that is due. */
async function leafFor(
  context: TaskContext,
  projectId: string,
  kept: KeptMap,
  isExact = false,
): Promise<number> {
  const { map } = kept;
  const root = map.root();
  const newest = await newestLeaf(context, projectId, map.fn);
  const isOurs = newest !== null && newest.size === map.size && (!isExact || newest.index === map.size);
  if (isOurs && !newest.root.equals(root)) throw indexMismatch('the map of the leaves', newest.index);
  const { size, keys, ms, fn } = map;
  const leafIndex = isOurs
    ? newest.index
    : await context.host.appendIndex({ size, root, keys, ms, fn, isExact });
  if (leafIndex < 0) return leafIndex;
  if (size - kept.savedSize >= limits.indexSaveLeaves) await kept.save(context, leafIndex);
  return leafIndex;
}

/** What the map says of a list that a proof shows. STORAGE_FAULT where the list is not that of the log below S. */
async function entryOf(
  context: TaskContext,
  { projectId, treeSize }: IndexInput,
  { kept, list }: { kept: KeptMap; list: ShownList },
): Promise<MapEntry> {
  const { key, n, root, what } = list;
  const { path, value } = await kept.path(context, key);
  const entry = mapEntry(key, path, value);
  const found = value?.n ?? 0;
  if (found === n && (root === null || value === null || value.root === root)) return entry;
  const name = `the list of the ${what} of ${key.at(-1)}: it has ${n} below leaf ${treeSize}, and the log ${found}`;
  const differs = () => indexMismatch(name, value?.last ?? treeSize);
  if (value === null || found <= n) throw differs();
  return { ...entry, growth: await growth(context, { projectId, kept, list, value, treeSize, differs }) };
}

async function growth(
  context: TaskContext,
  of: {
    projectId: string;
    kept: KeptMap;
    list: ShownList;
    value: ListValue;
    treeSize: number;
    differs: () => Error;
  },
): Promise<NonNullable<MapEntry['growth']>> {
  const { projectId, kept, list, value, treeSize, differs } = of;
  const items = await listItems(context, projectId, { key: list.key, below: kept.map.size });
  const proofs = listProofs(items.hashes);
  const next = items.indexes[list.n];
  if (proofs.n !== value.n || hashText(proofs.root()) !== value.root || next === undefined) throw differs();
  if (next < treeSize) throw differs();
  const leaf = items.hashes.subarray(list.n * 32, (list.n + 1) * 32);
  return growthOf(proofs, { n: list.n, whole: list.root !== null, index: next, leaf, inclusion: [] });
}
