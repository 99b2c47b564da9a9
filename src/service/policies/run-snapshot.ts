/**
 * The governance snapshot of a run, read from its leaf; the worker thread reads it too. Proven by
 * `test/service/policies/snapshots.engines.test.ts`.
 */
import { openLeaf } from '../../core/decided/leaf.ts';
import { openSnapshot, type Snapshot } from '../../core/decided/snapshot.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { RunOf } from '../call/work.ts';

/** The first snapshot of a run, which is final; null where it has none. */
export async function snapshotOf(store: StoreReader, { projectId, runId }: RunOf): Promise<Snapshot | null> {
  const filter = { type: 'gov.snapshot/1', runId } as const;
  const [leaf] = await store.leavesOf(projectId, filter, { limit: 1, order: 'asc' });
  return leaf === undefined ? null : openSnapshot(openLeaf(leaf));
}
