/**
 * The hash of the risk router's configuration in force at each index of the log, from its `gov.config/1`
 * leaves. Proven by `test/service/proofs/compliance.engines.test.ts`.
 */
import { openConfigChange } from '../../core/decided/risk-config.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { defaultConfigHash } from '../../core/risk/config.ts';
import type { TaskContext } from '../call/work.ts';
import { LeafReader } from '../in-force/leaf-reader.ts';

/** Reads the log once, forwards. */
export class LoggedConfigs {
  readonly #leaves: LeafReader;
  #configHash = defaultConfigHash;

  /** Reads leaves below `beforeIndex`. */
  constructor(
    context: Pick<TaskContext, 'reader' | 'breathe'>,
    { projectId }: { readonly projectId: string },
    beforeIndex: number,
  ) {
    this.#leaves = new LeafReader(context, { projectId, type: 'gov.config/1', beforeIndex });
  }

  /** The `configHash` in force at a leaf. Indexes must not decrease between calls. */
  async at(index: number): Promise<string> {
    for (
      let leaf = await this.#leaves.below(index);
      leaf !== undefined;
      leaf = await this.#leaves.below(index)
    )
      this.#configHash = openConfigChange(openLeaf(leaf)).configHash;
    return this.#configHash;
  }
}
