/**
 * Inclusion paths (RFC 6962 §2.1.1) of the leaves that a tree got since it was last stored. They need no read: the siblings
 * to the left are nodes that these leaves completed, or peaks of the stored tree; those to the right consist of new leaves.
 * Proven by `test/core/merkle/tile-edge.test.ts`.
 */
import type { Frontier } from './tree.ts';

export class EdgeNodes {
  readonly #stored: Frontier;
  /** By height: the nodes that new leaves completed, in order; the leaves themselves at height 0. */
  readonly #completed: Buffer[][] = [];

  constructor(stored: Frontier) {
    this.#stored = stored;
  }

  add(height: number, hash: Buffer): void {
    (this.#completed[height] ??= []).push(hash);
  }

  /**
   * The path of a new leaf from its sibling up to the child of the root. `edges`: `Frontier.edges()` of the tree of `size`
   * leaves. Cost: no hash. Throws RangeError for another leaf.
   */
  path(index: number, size: number, edges: readonly (Buffer | undefined)[]): Buffer[] {
    if (index < this.#stored.size || index >= size)
      throw new RangeError(`expected a leaf from ${this.#stored.size} to ${size - 1}, got ${index}`);
    const path: Buffer[] = [];
    let node = index;
    let last = size - 1;
    for (let height = 0; last > 0; height++) {
      const isRight = node % 2 === 1;
      const sibling = isRight ? node - 1 : node + 1;
      // the last node of a height may lack leaves
      const isPartial = sibling === last && size % 2 ** height !== 0;
      if (sibling <= last) path.push(known(isPartial ? edges[height] : this.#node(height, sibling)));
      node = Math.floor(node / 2);
      last = Math.floor(last / 2);
    }
    return path;
  }

  /** A complete node that new leaves completed, or the peak of the stored tree at this height. */
  #node(height: number, position: number): Buffer | undefined {
    const before = Math.floor(this.#stored.size / 2 ** height);
    return position < before ? this.#stored.peak(height) : this.#completed[height]?.[position - before];
  }
}

function known(hash: Buffer | undefined): Buffer {
  if (hash === undefined) throw new Error('expected every node beside a new leaf at the edge, got none');
  return hash;
}
