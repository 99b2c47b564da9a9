/**
 * What a result that is kept between proofs has read of a run. It continues with later leaves only where the log still has
 * all that it read: the same tree up to there, no erasure, pruning or other change since, and stored leaves with the same
 * figures (`LeafFigures`). Else the whole run is read again, and that read names what is lost. The figures notice rows that
 * are lost and texts of another length. A text that was altered without a change of its length is for `gov log fsck` and
 * the scrub. Proven by `test/service/log/lost-bodies.test.ts` and `test/service/proofs/continued.engines.test.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  noFigures,
  sumOfFigures,
  type IndexedLeaf,
  type LeafFigures,
  type StoreReader,
} from '../../store/port/store.ts';
import type { RunOf } from '../call/work.ts';
import { rootAt } from '../log/tree-proofs.ts';

interface ReadLeaves {
  /** The types of leaves of the run that are read. */
  readonly types: readonly ('gov.event/1' | IndexedLeaf)[];
  /** A leaf of these types, of any run, changes what was read. */
  readonly changedBy: readonly IndexedLeaf[];
}

export class ReadSoFar {
  readonly #of: RunOf;
  readonly #leaves: ReadLeaves;
  /** The tree of the leaves that were read. */
  #size = 0;
  #root: Buffer = Buffer.alloc(0);
  readonly #figures: Map<ReadLeaves['types'][number], LeafFigures>;

  constructor({ projectId, runId }: RunOf, leaves: ReadLeaves) {
    this.#of = { projectId, runId };
    this.#leaves = leaves;
    this.#figures = new Map(leaves.types.map((type) => [type, noFigures]));
  }

  /** Leaves below this index were read. */
  get size(): number {
    return this.#size;
  }

  /** Cost: 1.5 µs for each leaf that was read. */
  async isStill(reader: StoreReader): Promise<boolean> {
    const { projectId } = this.#of;
    const { size } = await reader.head(projectId, 'audit');
    if (size < this.#size || !this.#root.equals(await rootAt(reader, projectId, this.#size))) return false;
    const later = { after: this.#size - 1, limit: 1, order: 'asc' } as const;
    for (const type of this.#leaves.changedBy) {
      if ((await reader.leavesOf(projectId, { type }, later)).length > 0) return false;
    }
    const range = { from: 0, before: this.#size };
    for (const [type, figures] of this.#figures) {
      if (!isDeepStrictEqual(await this.#stored(reader, type, range), figures)) return false;
    }
    return true;
  }

  /** Call it before the leaves up to a size are read: the read fails where one of them is lost already. */
  async extend(reader: StoreReader, size: number): Promise<void> {
    const range = { from: this.#size, before: size };
    for (const [type, figures] of this.#figures)
      this.#figures.set(type, sumOfFigures(figures, await this.#stored(reader, type, range)));
    this.#root = await rootAt(reader, this.#of.projectId, size);
    this.#size = size;
  }

  #stored(
    reader: StoreReader,
    type: ReadLeaves['types'][number],
    range: { readonly from: number; readonly before: number },
  ): Promise<LeafFigures> {
    return reader.leafFigures(this.#of.projectId, { runId: this.#of.runId, type }, range);
  }
}
