/**
 * Subtree hashes from C2SP tlog-tiles. Each tile is expanded to its inner nodes once; a bounded cache keeps expanded
 * tiles. Proven by `test/core/merkle/tile.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { hashBytes, writeParent } from './tree.ts';
import { type TileId, tileWidth } from './tile-path.ts';

/**
 * Returns the hashes of a tile, at least as many as the width in the plan. A longer, newer tile is as good, because tiles
 * only grow. The bytes are trusted: they come from our own store, and a proof over wrong bytes does not verify.
 */
export type TileRead = (level: number, index: number) => Uint8Array;

/** The first `width` hashes of a tile, and the complete inner nodes above them. */
interface ExpandedTile {
  readonly width: number;
  readonly nodes: Buffer;
}

/**
 * Expanded tiles, least recently used first out. A tile only grows, so a cached tile is never stale, at most too narrow.
 * One cache serves one log. Memory: 16 KiB per tile.
 */
export class TileCache {
  readonly #held = new Map<string, ExpandedTile>();
  readonly #capacity: number;

  constructor(capacity: number = limits.tileCacheTiles) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Returns the tile if the cache has it at this width, and marks it as the most recently used. */
  get({ level, index, width }: TileId): ExpandedTile | undefined {
    const key = `${level}/${index}`;
    const tile = this.#held.get(key);
    if (tile === undefined || tile.width < width) return undefined;
    this.#held.delete(key);
    this.#held.set(key, tile);
    return tile;
  }

  put({ level, index }: TileId, tile: ExpandedTile): void {
    this.#held.delete(`${level}/${index}`);
    this.#held.set(`${level}/${index}`, tile);
    if (this.#held.size <= this.#capacity) return;
    const oldest = this.#held.keys().next();
    if (oldest.done !== true) this.#held.delete(oldest.value);
  }
}

/** A complete subtree: the 2^height leaves from `start`. */
export interface Subtree {
  readonly start: number;
  readonly height: number;
}

/** The tiles of one tree size during one proof; a tile is read if the cache lacks it. */
export class TileSource {
  readonly #size: number;
  readonly #read: TileRead;
  readonly #cache: TileCache;

  /** Default cache: one for this proof, which needs at most 14 tiles. */
  constructor(size: number, read: TileRead, cache: TileCache = new TileCache()) {
    this.#size = size;
    this.#read = read;
    this.#cache = cache;
  }

  /** Returns the hash of a complete subtree within the size. */
  hash(subtree: Subtree): Buffer {
    const heightInTile = subtree.height % tileHeight;
    const position = (subtree.start / 2 ** subtree.height) % 2 ** (tileHeight - heightInTile);
    const offset = (nodesBelow(heightInTile) + position) * hashBytes;
    const { nodes } = this.#tile(tileOf(subtree, this.#size));
    return Buffer.from(nodes.subarray(offset, offset + hashBytes));
  }

  #tile(id: TileId): ExpandedTile {
    const held = this.#cache.get(id);
    if (held !== undefined) return held;
    const bytes = this.#read(id.level, id.index);
    if (bytes.length < id.width * hashBytes) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected ${id.width} hashes in tile ${id.level}/${id.index}, got ${bytes.length} bytes; check the log with fsck`,
      );
    }
    const tile = expand(bytes);
    this.#cache.put(id, tile);
    return tile;
  }
}

const tileHeight = 8;

/** In an expanded tile the hashes of height h follow those of lower heights: 0, 256, 384 … 508. */
const nodesBelow = (height: number): number => 2 * tileWidth - 2 ** (tileHeight + 1 - height);

/** Returns a tile followed by its complete inner nodes of heights 1 to 7. Cost: less than one hash per tile hash. */
function expand(bytes: Uint8Array): ExpandedTile {
  const width = Math.min(tileWidth, Math.floor(bytes.length / hashBytes));
  const nodes = Buffer.alloc(nodesBelow(tileHeight) * hashBytes);
  nodes.set(bytes.subarray(0, width * hashBytes));
  for (let height = 1; height < tileHeight; height++) {
    const parents = nodesBelow(height);
    const children = nodesBelow(height - 1);
    for (let position = 0; position < Math.floor(width / 2 ** height); position++) {
      writeParent(nodes, (children + 2 * position) * hashBytes, (parents + position) * hashBytes);
    }
  }
  return { width, nodes };
}

/** Returns the tile with the hashes below (or at) the root of a subtree. */
export function tileOf({ start, height }: Subtree, size: number): TileId {
  const level = Math.floor(height / tileHeight);
  const index = Math.floor(start / tileWidth ** (level + 1));
  return { level, index, width: widthOf(level, index, size) };
}

const widthOf = (level: number, index: number, size: number): number =>
  Math.min(tileWidth, Math.floor(size / tileWidth ** level) - index * tileWidth);
