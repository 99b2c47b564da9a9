/**
 * Reads the parts of reports and answers from a plane's own logs: roots, paths and metering leaves. It finds
 * metering leaves by time and by unit. One instance reads one log for one message and keeps the tiles that it
 * read. Proven by `test/plane/telemetry/report.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { encodeBase64 } from '../../src/core/json/base64.ts';
import { hashBytes, merkleRoot } from '../../src/core/merkle/tree.ts';
import { parseMeterRecord, sumOf, type MeterLeaf } from '../../src/core/planes/metering.ts';
import {
  consistencyPlan,
  consistencyProof,
  inclusionPlan,
  inclusionProof,
  rootFromTiles,
  rootPlan,
  TileCache,
  tileWidth,
  type TileId,
} from '../../src/core/merkle/tile.ts';
import { parseTimestamp } from '../../src/core/time.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import type { TreeName } from '../../src/store/port/store.ts';

export type LogReader = Pick<
  StoreReader,
  'head' | 'tiles' | 'leaf' | 'leaves' | 'leavesOf' | 'meterLeaf' | 'meterIndexOf' | 'unmeteredLeaves'
>;

/** A parsed leaf with its text. */
export interface MeterLogEntry extends MeterLeaf {
  readonly index: number;
  readonly record: string;
  readonly atMs: number;
}

/** Base64, as messages carry hashes. */
export const pathText = (path: readonly Uint8Array[]): string[] => path.map(encodeBase64);

export class PlaneLog {
  readonly projectId: string;
  readonly #reader: LogReader;
  readonly #caches = { audit: new TileCache(), metering: new TileCache() };
  /** Leaves that earlier searches read. Searches often read the same leaves. */
  readonly #met = new Map<number, MeterLogEntry>();

  constructor(reader: LogReader, projectId: string) {
    this.#reader = reader;
    this.projectId = projectId;
  }

  head(tree: TreeName): Promise<{ readonly size: number; readonly root: Buffer }> {
    return this.#reader.head(this.projectId, tree);
  }

  /** Loads the tiles that a proof needs, so that the proof reads only memory. */
  async #prepare(tree: TreeName, plan: readonly TileId[]) {
    const cache = this.#caches[tree];
    const wanted = plan.filter((tile) => cache.get(tile) === undefined);
    const tiles = wanted.length === 0 ? [] : await this.#reader.tiles(this.projectId, tree, wanted);
    const byName = new Map(wanted.map(({ level, index }, at) => [`${level}/${index}`, tiles[at]]));
    const read = (level: number, index: number): Uint8Array =>
      byName.get(`${level}/${index}`) ?? new Uint8Array();
    return { read, options: { cache } };
  }

  async root(tree: TreeName, size: number): Promise<Buffer> {
    const { read, options } = await this.#prepare(tree, rootPlan(size));
    return rootFromTiles(size, read, options);
  }

  async inclusion(tree: TreeName, index: number, size: number): Promise<string[]> {
    const { read, options } = await this.#prepare(tree, inclusionPlan(index, size));
    return pathText(inclusionProof(index, size, read, options));
  }

  /** Empty from size 0 and between equal sizes. */
  async consistency(first: number, second: number): Promise<string[]> {
    if (first === 0 || first === second) return [];
    const { read, options } = await this.#prepare('metering', consistencyPlan(first, second));
    return pathText(consistencyProof(first, second, read, options));
  }

  /** STORAGE_FAULT where the leaf is missing or is not a metering leaf. */
  async leaf(index: number): Promise<MeterLogEntry> {
    const known = this.#met.get(index);
    if (known !== undefined) return known;
    const [found] = await this.#reader.leaves(this.projectId, 'metering', { from: index, to: index + 1 });
    const leaf = found === undefined ? null : parseMeterRecord(found.record);
    const atMs = leaf === null ? null : parseTimestamp(leaf.at);
    if (found === undefined || leaf === null || atMs === null) throw damaged(index);
    const metered = { ...leaf, index, record: found.record, atMs };
    this.#met.set(index, metered);
    return metered;
  }

  /** Returns the audit leaves that a metering leaf covers, and the nonce that binds them. */
  async covered(index: number) {
    const leaf = await this.#reader.meterLeaf(this.projectId, index);
    if (leaf === null) throw damaged(index);
    return leaf;
  }

  /** Returns the index of the metering leaf that covers an audit leaf. */
  async covering(auditIndex: number): Promise<number> {
    const index = await this.#reader.meterIndexOf(this.projectId, auditIndex);
    if (index !== null) return index;
    throw new GovError(
      'STORAGE_FAULT',
      `expected a metering leaf that covers audit leaf ${auditIndex}; run fsck`,
    );
  }

  /** Counts the leaves of [from, to) that meter nothing. */
  unmetered(from: number, to: number): Promise<number> {
    return this.#reader.unmeteredLeaves(this.projectId, { from, to });
  }

  /** Counts the leaves before a time among the first `size`. O(log n) reads: times never run backwards. */
  sizeBefore(ms: number, { from, size }: { from: number; size: number }): Promise<number> {
    return this.#first({ from, to: size }, ({ atMs }) => atMs >= ms);
  }

  /** Finds the first of `size` leaves whose totals reach a unit, over all types. O(log n) reads. */
  reaching(unit: number, size: number): Promise<number> {
    return this.#first({ from: 0, to: size }, ({ totals }) => sumOf(totals) >= unit);
  }

  async #first(
    { from, to }: { from: number; to: number },
    holds: (leaf: MeterLogEntry) => boolean,
  ): Promise<number> {
    let [low, high] = [from, to];
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      if (holds(await this.leaf(middle))) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns leaf hashes of the audit log, [from, from + count). */
  async auditHashes(from: number, count: number): Promise<Buffer[]> {
    if (count > limits.meterLeafCount)
      throw new RangeError(`expected at most ${limits.meterLeafCount} leaves`);
    const first = Math.floor(from / tileWidth);
    const last = Math.floor((from + count - 1) / tileWidth);
    const wanted = Array.from({ length: last - first + 1 }, (_, at) => ({
      level: 0,
      index: first + at,
      width: first + at === last ? ((from + count - 1) % tileWidth) + 1 : tileWidth,
    }));
    const tiles = await this.#reader.tiles(this.projectId, 'audit', wanted);
    return Array.from({ length: count }, (_, at) => {
      const tile = tiles[Math.floor((from + at) / tileWidth) - first] ?? new Uint8Array();
      const start = ((from + at) % tileWidth) * hashBytes;
      if (tile.length < start + hashBytes) {
        throw new GovError('STORAGE_FAULT', `expected the hash of audit leaf ${from + at}; run fsck`);
      }
      return Buffer.from(tile.subarray(start, start + hashBytes));
    });
  }
}

const damaged = (index: number): GovError =>
  new GovError('STORAGE_FAULT', `expected leaf ${index} of the metering log, which is not there; run fsck`);

/** RFC 6962 §2.1.1, PATH(index, D) over leaf hashes in memory: from the leaf up. */
export function pathAmong(hashes: readonly Uint8Array[], index: number): Buffer[] {
  if (hashes.length <= 1) return [];
  let split = 1;
  while (split * 2 < hashes.length) split *= 2;
  const [left, right] = [hashes.slice(0, split), hashes.slice(split)];
  return index < split
    ? [...pathAmong(left, index), merkleRoot(right)]
    : [...pathAmong(right, index - split), merkleRoot(left)];
}
