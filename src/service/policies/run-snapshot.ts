/** The governance snapshot of a run, from its leaf; the worker thread reads it too. */
import { openLeaf } from '../../core/decided/leaf.ts';
import { openSnapshot, type Snapshot } from '../../core/decided/snapshot.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { RunOf } from '../call/work.ts';

/** The first one stays; null where there is none. */
export async function snapshotOf(store: StoreReader, { projectId, runId }: RunOf): Promise<Snapshot | null> {
  const filter = { type: 'gov.snapshot/1', runId } as const;
  const [leaf] = await store.leavesOf(projectId, filter, { limit: 1, order: 'asc' });
  return leaf === undefined ? null : openSnapshot(openLeaf(leaf));
}
