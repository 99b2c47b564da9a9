/**
 * The risk router's configuration in force at each index of the log, by its hash, as the `gov.config/1` leaves give
 * it. Proven by `test/service/proofs/compliance.engines.test.ts`.
 */
import { openConfigChange } from '../../core/decided/risk-config.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { defaultConfigHash } from '../../core/risk/config.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';

const chunkLeaves = 100;

/** Goes through the log once, forwards. */
export class LoggedConfigs {
  readonly #context: Pick<TaskContext, 'reader' | 'breathe'>;
  readonly #projectId: string;
  readonly #beforeIndex: number;
  #ahead: Leaf[] = [];
  #next = 0;
  #after: number | undefined;
  #ended = false;
  #configHash = defaultConfigHash;

  /** Reads leaves below `beforeIndex`. */
  constructor(
    context: Pick<TaskContext, 'reader' | 'breathe'>,
    of: { readonly projectId: string },
    beforeIndex: number,
  ) {
    this.#context = context;
    this.#projectId = of.projectId;
    this.#beforeIndex = beforeIndex;
  }

  /** The `configHash` in force for a leaf at an index; not before an index that was asked for earlier. */
  async at(index: number): Promise<string> {
    for (;;) {
      const leaf = this.#ahead[this.#next];
      if (leaf !== undefined && leaf.index >= index) return this.#configHash;
      if (leaf !== undefined) {
        this.#configHash = openConfigChange(openLeaf(leaf)).configHash;
        this.#next++;
      } else if (this.#ended) return this.#configHash;
      else await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { reader, breathe } = this.#context;
    const after = this.#after;
    this.#ahead = await reader.leavesOf(
      this.#projectId,
      { type: 'gov.config/1', beforeIndex: this.#beforeIndex },
      { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'asc' },
    );
    this.#next = 0;
    this.#after = this.#ahead.at(-1)?.index ?? after;
    this.#ended = this.#ahead.length < chunkLeaves;
    await breathe();
  }
}
