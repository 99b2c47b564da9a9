/**
 * A reader that notes whether a leaf had erased fields: results from such leaves may differ from the first
 * ones. Proven by `test/service/proofs/compliance.engines.test.ts`.
 */
import type { Leaf, StoreReader } from '../../store/port/store.ts';
import { Erasures } from './fields.ts';

export function erasureNoting(
  reader: StoreReader,
  projectId: string,
): {
  readonly reader: StoreReader;
  /** Whether any leaf read so far had erased fields. */
  readonly found: () => boolean;
} {
  const erasures = new Erasures(reader, projectId);
  let found = false;
  const noted = async (leaves: Leaf[]): Promise<Leaf[]> => {
    for (const leaf of leaves) {
      if (leaf.erased === undefined) continue;
      await erasures.require(leaf);
      found = true;
    }
    return leaves;
  };
  const noting: Pick<StoreReader, 'leavesOf' | 'runLeaves'> = {
    leavesOf: async (...asked) => noted(await reader.leavesOf(...asked)),
    runLeaves: async (...asked) => noted(await reader.runLeaves(...asked)),
  };
  return { reader: { ...reader, ...noting }, found: () => found };
}
