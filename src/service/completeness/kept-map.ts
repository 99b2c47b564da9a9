/**
 * The map of one log in the memory of a worker thread, extended from the leaves. It takes nothing on trust from a table:
 *
 * - a saved map must have the root that an index leaf in the signed tree has, and each part and list the hash that the map
 *   has of it;
 * - the leaves that it reads must lead to the root of a signed checkpoint;
 * - each index leaf that it passes must have its root.
 *
 * So an altered table stops a proof (STORAGE_FAULT), and never gets into an index leaf.
 * Proven by `test/service/completeness/attack.test.ts` and, for writes that fail, `test/service/completeness/crash.long.test.ts`.
 */
import { readIndex } from '../../core/completeness/index-leaf.ts';
import { LogMap } from '../../core/completeness/log-map.ts';
import { keyHash, type ListValue, type MapKey, type MapPath } from '../../core/completeness/map.ts';
import {
  isMapFunction,
  keyText,
  readMapped,
  type MapFunction,
  type MappedRecord,
} from '../../core/completeness/map-function.ts';
import { PrefixTree } from '../../core/completeness/prefix-tree.ts';
import { Frontier, verifyConsistency, verifyInclusion } from '../../core/merkle/tree.ts';
import type { Leaf, SavedMap } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';
import { consistencyAt, inclusionAt, peaksAt } from '../log/tree-proofs.ts';
import { indexMismatch } from './mismatch.ts';

/** A signed head of the log. */
export interface SignedSize {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

/** Leaves read at a time: about 5 ms. */
const leavesAtOnce = 500;
/** Lists that stay in memory after a save: about 10 MB. */
const listsHeld = 16_384;

interface PassedLeaf {
  readonly index: number;
  readonly size: number;
  readonly root: Buffer;
}

export class KeptMap {
  readonly #projectId: string;
  readonly #frontier: Frontier;
  readonly map: LogMap;
  /** The size of the saved map that this one continues; 0 without one. */
  savedSize: number;

  private constructor(projectId: string, map: LogMap, frontier: Frontier) {
    this.#projectId = projectId;
    this.#frontier = frontier;
    this.map = map;
    this.savedSize = map.size;
  }

  /**
   * Continues the saved map, or starts an empty one; also where another map function made the saved one, which is then
   * dropped. STORAGE_FAULT where the saved map is not that of the log.
   */
  static async open(
    { reader, host }: TaskContext,
    { projectId, signed, fn }: { projectId: string; signed: SignedSize; fn: MapFunction },
  ): Promise<KeptMap> {
    const empty = () => new KeptMap(projectId, new LogMap(null, fn), new Frontier());
    const saved = await reader.savedMap(projectId);
    if (saved === null || saved.leafIndex >= signed.size) return empty();
    const { size, ms, leafIndex, parts } = saved;
    const tree = PrefixTree.closed(parts);
    const leaf = await reader.leaf(projectId, leafIndex);
    const record = leaf === null ? null : readIndex(leaf.record);
    const isOurs =
      leaf !== null &&
      record !== null &&
      isMapFunction(record.fn) &&
      tree?.root().equals(record.root) === true &&
      record.size === size &&
      record.throughMs === ms;
    if (!isOurs || tree === null) throw indexMismatch('the saved map of the log', leafIndex);
    // a row of hashes may have been altered together with the record
    const path = await inclusionAt(reader, projectId, { index: leafIndex, size: signed.size });
    if (!verifyInclusion({ ...signed, index: leafIndex, leaf: leaf.hash, path }))
      throw indexMismatch('the index leaf of the saved map', leafIndex);
    if (record.fn !== fn) {
      await host.dropMap();
      return empty();
    }
    const frontier = Frontier.from(size, await peaksAt(reader, projectId, size));
    return new KeptMap(projectId, new LogMap({ size, ms, tree }, fn), frontier);
  }

  /**
   * Extends the map to `to` leaves of a signed head. STORAGE_FAULT where the leaves in the tables are not those of the
   * head; the map is then of no use.
   */
  async extend(context: TaskContext, signed: SignedSize, to: number): Promise<void> {
    const { map } = this;
    if (map.size >= to) return;
    const passed = await this.#passed(context, to);
    while (map.size < to) {
      const next = passed.find(({ size }) => size > map.size)?.size ?? to;
      const range = {
        from: map.size,
        to: Math.min(to, next, map.size + leavesAtOnce),
        bodies: false,
      } as const;
      await this.#add(context, await context.reader.leaves(this.#projectId, 'audit', range));
      for (const { index, size, root } of passed) {
        if (size === map.size && !root.equals(map.root()))
          throw indexMismatch('the map of the leaves', index);
      }
      await context.breathe();
    }
    const sizes = { first: to, second: signed.size };
    const path = to === signed.size ? [] : await consistencyAt(context.reader, this.#projectId, sizes);
    const firstRoot = this.#frontier.root();
    if (!verifyConsistency({ ...sizes, firstRoot, secondRoot: signed.root, path }))
      throw indexMismatch('the tree of the stored leaves', to - 1);
  }

  /** The index leaves whose maps this one passes, of the same map function. */
  async #passed({ reader }: TaskContext, to: number): Promise<PassedLeaf[]> {
    const found: PassedLeaf[] = [];
    let after = this.map.size - 1;
    for (;;) {
      const page = { after, limit: leavesAtOnce, order: 'asc' } as const;
      const leaves = await reader.leavesOf(this.#projectId, { type: 'gov.index/1' }, page);
      for (const { index, record } of leaves) {
        const read = readIndex(record);
        if (read === null || read.fn !== this.map.fn) continue;
        if (read.size > this.map.size && read.size <= to) found.push({ ...read, index });
      }
      if (leaves.length < leavesAtOnce) return found.toSorted((a, b) => a.size - b.size);
      after = leaves.at(-1)?.index ?? after;
    }
  }

  async #add(context: TaskContext, leaves: readonly Leaf[]): Promise<void> {
    const { map } = this;
    const records: MappedRecord[] = leaves.map(({ record }) => readMapped(record, map.fn));
    const missing = new Map<string, Buffer>();
    for (const record of records) map.missing(record, missing);
    await this.#load(context, missing);
    for (const [at, { index, hash }] of leaves.entries()) {
      const record = records[at];
      if (record === undefined || !map.add(hash.toString('latin1'), record))
        throw indexMismatch('the number of an event in its run', index);
      this.#frontier.append(hash);
    }
  }

  /** Loads the lists and parts that keys need, by their text. */
  async #load({ reader }: TaskContext, keys: ReadonlyMap<string, Buffer>): Promise<void> {
    const altered = () => indexMismatch('a list or part of the saved map of the log', this.map.size);
    const present: [string, Buffer][] = [];
    for (const [text, hash] of keys) {
      const part = this.map.closedAt(hash);
      if (part !== null && !this.map.open(part, await reader.mapPart(this.#projectId, part))) throw altered();
      if (this.map.has(hash)) present.push([text, hash]);
    }
    if (present.length === 0) return;
    const hashes = present.map(([, hash]) => hash);
    const lists = await reader.mapLists(this.#projectId, hashes);
    for (const [text, hash] of present) {
      const list = lists.get(hash.toString('hex'));
      if (list === undefined || !this.map.restore(text, hash, list)) throw altered();
    }
  }

  /** The path and the value of a key; the value is null for a key that the map lacks. */
  async path(context: TaskContext, key: MapKey): Promise<{ path: MapPath; value: ListValue | null }> {
    this.map.root();
    const text = keyText(key);
    if (!this.map.holds(text)) await this.#load(context, new Map([[text, keyHash(key)]]));
    return this.map.path(key);
  }

  /** Saves the map, whose root stands in the leaf `leafIndex`. A crash before the store answers leaves the saved one. */
  async save({ host }: TaskContext, leafIndex: number): Promise<void> {
    const { parts, lists } = this.map.unsaved();
    const map: SavedMap = { size: this.map.size, ms: this.map.ms, leafIndex, parts };
    await host.saveMap({ map, since: this.savedSize, lists });
    this.savedSize = map.size;
    this.map.saved(listsHeld);
  }
}
