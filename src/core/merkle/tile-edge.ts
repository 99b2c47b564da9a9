/**
 * The growing right edge of a tiled log (C2SP tlog-tiles). The only writer appends leaf hashes, stores the changed tiles
 * in the same transaction, and settles the edge after the commit. Proven by `test/core/merkle/tile-edge.test.ts`.
 */
import { EdgeNodes } from './edge-nodes.ts';
import { emptyRoot, type Frontier, hashBytes } from './tree.ts';
import { tileWidth } from './tile-path.ts';
import { frontierFromTiles } from './tile-proof.ts';
import type { TileRead } from './tile-source.ts';

/** A tile to store; the hashes stored before are its first ones. */
export interface ChangedTile {
  readonly level: number;
  readonly index: number;
  /** Whole hashes, at most 256. A view, valid until the next `append` or `rollback`. */
  readonly hashes: Buffer;
}

/** The partial tile of one level; `bytes` has room for 256 hashes, of which `width` are set. */
interface OpenTile {
  readonly index: number;
  readonly width: number;
  readonly bytes: Buffer;
}

export class TileEdge {
  #frontier: Frontier;
  readonly #open: OpenTile[] = [];
  #full: ChangedTile[] = [];
  #settledFrontier: Frontier;
  /** `Frontier.edges()`, once needed. */
  #edges: readonly (Buffer | undefined)[] | null = null;
  #settledOpen: readonly OpenTile[];
  #added: EdgeNodes;

  private constructor(frontier: Frontier) {
    this.#frontier = frontier;
    this.#settledFrontier = frontier.clone();
    this.#settledOpen = [];
    this.#added = new EdgeNodes(this.#settledFrontier);
  }

  /** Returns the edge of a stored log. Reads the tiles of `rootPlan(size)`; throws STORAGE_FAULT if a tile is short. */
  static from(size: number, read: TileRead): TileEdge {
    const edge = new TileEdge(frontierFromTiles(size, read));
    for (let level = 0; tileWidth ** level <= size; level++) {
      const index = Math.floor(size / tileWidth ** (level + 1));
      const width = Math.floor(size / tileWidth ** level) % tileWidth;
      const tile = emptyTile(index, width);
      if (width > 0) tile.bytes.set(read(level, index).subarray(0, width * hashBytes));
      edge.#open[level] = tile;
    }
    edge.settle();
    return edge;
  }

  get size(): number {
    return this.#frontier.size;
  }

  /** Returns the root of all appended leaves, settled or not. Cost: at most 52 hashes, the first time. */
  root(): Buffer {
    this.#edges ??= this.#frontier.edges();
    return this.#edges.at(-1) ?? emptyRoot;
  }

  /**
   * Returns the inclusion path of a leaf that is not settled, in the tree of all appended leaves. Throws RangeError for
   * another leaf. Cost: no hash, once the root is known.
   */
  path(index: number): Buffer[] {
    this.#edges ??= this.#frontier.edges();
    return this.#added.path(index, this.size, this.#edges);
  }

  /** Appends leaf hashes of 32 bytes. Cost: one node hash each, about 0.7 µs. */
  append(hashes: readonly Buffer[]): void {
    this.#edges = null;
    for (const leaf of hashes) {
      this.#added.add(0, leaf);
      this.#frontier.append(leaf, this.#completed);
      this.#fill(0, leaf);
    }
  }

  /** Returns the tiles that differ from the settled state: full ones first, then the partial one of each level. */
  changed(): ChangedTile[] {
    const open = this.#open.flatMap(({ index, width, bytes }, level) => {
      const before = this.#settledOpen[level];
      if (width === 0 || (before?.index === index && before.width === width)) return [];
      return [{ level, index, hashes: bytes.subarray(0, width * hashBytes) }];
    });
    return [...this.#full, ...open];
  }

  /** Marks the appended leaves as durable; `rollback` returns to this state. */
  settle(): void {
    this.#settledFrontier = this.#frontier.clone();
    this.#settledOpen = [...this.#open];
    this.#full = [];
    this.#added = new EdgeNodes(this.#settledFrontier);
  }

  /** Returns to the settled state after a failed transaction. */
  rollback(): void {
    this.#frontier = this.#settledFrontier.clone();
    this.#edges = null;
    this.#added = new EdgeNodes(this.#settledFrontier);
    this.#open.splice(0, this.#open.length, ...this.#settledOpen);
    this.#full = [];
  }

  /** Fills the next tile level: every eighth tree level is one. */
  readonly #completed = (height: number, hash: Buffer): void => {
    this.#added.add(height, hash);
    if (height % 8 === 0) this.#fill(height / 8, hash);
  };

  #fill(level: number, hash: Uint8Array): void {
    const { index, width, bytes } = this.#open[level] ?? emptyTile(0, 0);
    bytes.set(hash, width * hashBytes);
    if (width + 1 < tileWidth) {
      this.#open[level] = { index, width: width + 1, bytes };
      return;
    }
    this.#full.push({ level, index, hashes: bytes });
    this.#open[level] = emptyTile(index + 1, 0);
  }
}

const emptyTile = (index: number, width: number): OpenTile => ({
  index,
  width,
  bytes: Buffer.allocUnsafe(tileWidth * hashBytes),
});
