/**
 * Reads a log through its service, and believes nothing that does not lead to the root of a checkpoint.
 * Tested by `test/client/receipts/keeper.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { parseHash } from '../../core/hash.ts';
import { type TileId, tilePath } from '../../core/merkle/tile-path.ts';
import { inclusionPlan, inclusionProof } from '../../core/merkle/tile-proof.ts';
import { tileOf } from '../../core/merkle/tile-source.ts';
import { hashBytes, verifyConsistency, verifyInclusion } from '../../core/merkle/tree.ts';
import type { LeafPath } from '../../core/note/heads.ts';
import type { Client } from '../create.ts';
import { GovNetworkError } from '../errors.ts';

/** The size and the root of a tree. */
export interface TreeHead {
  readonly size: number;
  readonly root: Uint8Array;
}

type Reads = Pick<Client, 'getLogConsistency' | 'getTile'>;

const withoutPrefix = (path: string): string => path.replace(/^tile\//, '');

/** One tree of a log. */
export class LogReader {
  readonly #client: Reads;
  readonly #head: TreeHead;
  readonly #signal: AbortSignal;
  readonly #tiles = new Map<string, Uint8Array>();
  /** Consistency paths, by the size of the smaller tree. */
  readonly #paths = new Map<number, readonly Buffer[]>();

  constructor(client: Reads, head: TreeHead, signal: AbortSignal) {
    this.#client = client;
    this.#head = head;
    this.#signal = signal;
  }

  get size(): number {
    return this.#head.size;
  }

  /** For each head whether the tree is proven to begin with it. Cost: one request for `limits.consistencySizes` sizes. */
  async beginsWith(heads: readonly TreeHead[]): Promise<readonly boolean[]> {
    const paths = this.#paths;
    const sizes = [...new Set(heads.map(({ size }) => size))].filter(
      (size) => size <= this.size && !paths.has(size),
    );
    for (let at = 0; at < sizes.length; at += limits.consistencySizes) {
      const query = {
        from: sizes.slice(at, at + limits.consistencySizes).join(','),
        to: String(this.size),
      };
      const { body } = await this.#client.getLogConsistency({ query, signal: this.#signal });
      for (const { fromSize, path } of body.proofs)
        paths.set(
          fromSize,
          path.flatMap((text) => parseHash(text) ?? []),
        );
    }
    return heads.map(({ size, root: firstRoot }) => {
      const path = paths.get(size);
      const tree = { first: size, second: this.size, firstRoot, secondRoot: this.#head.root };
      return path !== undefined && verifyConsistency({ ...tree, path });
    });
  }

  /** The leaf at an index below the size, with its path to the root. Throws `GovNetworkError` where none leads there. */
  async leaf(index: number): Promise<LeafPath> {
    const own = tileOf({ start: index, height: 0 }, this.size);
    for (const tile of [own, ...inclusionPlan(index, this.size)]) await this.#read(tile);
    const tile = (level: number, at: number): Uint8Array =>
      this.#tiles.get(`${level}/${at}`) ?? new Uint8Array();
    const start = (index - own.index * 256) * hashBytes;
    const leaf = tile(own.level, own.index).subarray(start, start + hashBytes);
    const path = inclusionProof(index, this.size, tile);
    if (verifyInclusion({ index, size: this.size, leaf, path, root: this.#head.root }))
      return { index, leaf, path };
    throw new GovNetworkError(
      'INVALID_RESPONSE',
      `expected tiles that lead from leaf ${index} to the root of the checkpoint, got others`,
    );
  }

  async #read(tile: TileId): Promise<void> {
    const name = `${tile.level}/${tile.index}`;
    if (this.#tiles.has(name)) return;
    const params = { '*': withoutPrefix(tilePath(tile)) };
    const { bytes } = await this.#client.getTile({ params, signal: this.#signal });
    if (bytes.length !== tile.width * hashBytes)
      throw new GovNetworkError(
        'INVALID_RESPONSE',
        `tile ${name}: expected ${tile.width} hashes, got ${bytes.length} bytes`,
      );
    this.#tiles.set(name, bytes);
  }
}
