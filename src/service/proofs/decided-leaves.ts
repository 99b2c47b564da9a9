/**
 * Reads the decided leaves of a run below a tree size, a few at a time. Proven by
 * `test/service/proofs/compliance.engines.test.ts`.
 */
import { openLeaf, type OpenLeaf } from '../../core/decided/leaf.ts';
import type { IndexedLeaf, Leaf } from '../../store/port/store.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

/** A run at a tree size. */
export interface RunAt extends RunOf {
  readonly treeSize: number;
}

/** Leaves read at once. One can be twice `limits.checkpointBytes` large. */
export const chunkLeaves = 20;

/** The leaves of one type of the run with an index below `beforeIndex`, in log order. */
export async function* decidedLeaves(
  { reader, breathe }: TaskContext,
  { projectId, runId }: RunOf,
  range: { readonly type: IndexedLeaf; readonly beforeIndex: number; readonly after?: number },
): AsyncGenerator<OpenLeaf, void, undefined> {
  const { type, beforeIndex } = range;
  let { after } = range;
  for (;;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'asc' } as const;
    const leaves: Leaf[] = await reader.leavesOf(projectId, { type, runId, beforeIndex }, page);
    for (const leaf of leaves) yield openLeaf(leaf);
    if (leaves.length < chunkLeaves) return;
    after = leaves.at(-1)?.index;
    await breathe();
  }
}
