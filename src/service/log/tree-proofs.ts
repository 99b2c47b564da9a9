/**
 * Roots and proofs of the audit tree, and inclusion proofs of both trees, read from the store: plan, one read, pure compute
 * (`src/core/merkle/tile-proof.ts`). Proven by `test/service/proofs/handlers.engines.test.ts`.
 */
import { sharedPath } from '../../core/merkle/shared-path.ts';
import { tileWidth, type TileId } from '../../core/merkle/tile-path.ts';
import { hashBytes } from '../../core/merkle/tree.ts';
import {
  consistencyPlan,
  consistencyProof,
  frontierFromTiles,
  inclusionPlan,
  inclusionProof,
  rootFromTiles,
  rootPlan,
} from '../../core/merkle/tile-proof.ts';
import type { TileRead } from '../../core/merkle/tile-source.ts';
import type { StoreReader, TreeName } from '../../store/port/store.ts';

type Tiles = Pick<StoreReader, 'tiles'>;

async function readPlan(
  reader: Tiles,
  projectId: string,
  plan: readonly TileId[],
  tree: TreeName = 'audit',
): Promise<TileRead> {
  const tiles = await reader.tiles(projectId, tree, plan);
  const byName = new Map(plan.map(({ level, index }, at) => [`${level}/${index}`, tiles[at]]));
  return (level, index) => byName.get(`${level}/${index}`) ?? new Uint8Array();
}

/** The root hash of the first `size` leaves. */
export async function rootAt(reader: Tiles, projectId: string, size: number): Promise<Buffer> {
  return rootFromTiles(size, await readPlan(reader, projectId, rootPlan(size)));
}

/** The peaks of the tree of the first `size` leaves, the largest subtree first. */
export async function peaksAt(reader: Tiles, projectId: string, size: number): Promise<Buffer[]> {
  return frontierFromTiles(size, await readPlan(reader, projectId, rootPlan(size))).hashes();
}

export async function inclusionAt(
  reader: Tiles,
  projectId: string,
  { index, size, tree }: { index: number; size: number; tree?: TreeName },
): Promise<Buffer[]> {
  return inclusionProof(index, size, await readPlan(reader, projectId, inclusionPlan(index, size), tree));
}

/** The hashes of consecutive leaves in a tree of `size` leaves, in order. */
export async function leafHashesAt(
  reader: Tiles,
  projectId: string,
  { first, last, size }: { first: number; last: number; size: number },
): Promise<Uint8Array[]> {
  const from = Math.floor(first / tileWidth);
  const plan = Array.from({ length: Math.floor(last / tileWidth) - from + 1 }, (_, at) => ({
    level: 0,
    index: from + at,
    width: Math.min(tileWidth, size - (from + at) * tileWidth),
  }));
  const bytes = Buffer.concat(await reader.tiles(projectId, 'audit', plan));
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const start = (first - from * tileWidth + at) * hashBytes;
    return bytes.subarray(start, start + hashBytes);
  });
}

export async function consistencyAt(
  reader: Tiles,
  projectId: string,
  { first, second }: { first: number; second: number },
): Promise<Buffer[]> {
  return consistencyProof(first, second, await readPlan(reader, projectId, consistencyPlan(first, second)));
}

/** One shared path for many leaves in ascending order. Reads each tile that any of them needs once. */
export async function sharedInclusionAt(
  reader: Tiles,
  projectId: string,
  { indexes, size }: { indexes: readonly number[]; size: number },
): Promise<Uint8Array[]> {
  const plan = new Map<string, TileId>();
  for (const index of indexes) {
    for (const tile of inclusionPlan(index, size)) {
      const name = `${tile.level}/${tile.index}`;
      const known = plan.get(name);
      if (known === undefined || known.width < tile.width) plan.set(name, tile);
    }
  }
  const read = await readPlan(reader, projectId, [...plan.values()]);
  return sharedPath(indexes, size, (index) => inclusionProof(index, size, read));
}
