/** Reads that take note of erased fields: what is computed from such leaves need not come out as it first did. */
import type { Leaf, StoreReader } from '../../store/port/store.ts';
import { Erasures } from './erased.ts';

export function erasureNoting(
  reader: StoreReader,
  projectId: string,
): {
  readonly reader: StoreReader;
  /** Whether a leaf was read of which fields were erased. */
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
