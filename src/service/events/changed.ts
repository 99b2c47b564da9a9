/**
 * Whether an erasure or a pruning was logged: results from earlier reads of events may differ from those of new reads.
 * Proven by `test/service/proofs/continued.engines.test.ts`.
 */
import type { IndexedLeaf, StoreReader } from '../../store/port/store.ts';

const taking: readonly IndexedLeaf[] = ['gov.erasure/1', 'gov.prune/1'];

/** `size`: of the log, before the earlier reads. `types`: leaves that change results as well. Cost: a lookup for each type. */
export async function changedSince(
  reader: Pick<StoreReader, 'leavesOf'>,
  projectId: string,
  { size, types = [] }: { readonly size: number; readonly types?: readonly IndexedLeaf[] },
): Promise<boolean> {
  const page = { after: size - 1, limit: 1, order: 'asc' } as const;
  for (const type of [...taking, ...types]) {
    if ((await reader.leavesOf(projectId, { type }, page)).length > 0) return true;
  }
  return false;
}
