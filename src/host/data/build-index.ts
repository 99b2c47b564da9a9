/**
 * `gov log index build`: derives the map of a log from its leaves, appends an index leaf and saves the map. A serving process
 * does the same in the background. It makes the saved map again, unless leaves were pruned. A crash
 * leaves the part that was saved. Proven by `test/host/data/build-index.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Services } from '../../service/port/services.ts';

export interface BuiltIndex {
  readonly projectId: string;
  /** Leaves that the index covers, and its own leaf. */
  readonly size: number;
  readonly leafIndex: number;
}

/**
 * NOT_FOUND for an unknown project. STORAGE_FAULT where the leaves are not those of the signed log. CONFLICT where leaves
 * were pruned before the log had an index.
 */
export async function buildIndex(services: Services, projectId: string): Promise<BuiltIndex> {
  const built = await buildIfWhole(services, projectId);
  if (built !== null) return built;
  const detail = 'expected the leaves of the whole log, but some were pruned before the log had an index';
  throw new GovError('CONFLICT', detail);
}

/** The same, or null where leaves were pruned before the log had an index. */
export async function buildIfWhole(
  { store, checkpoints, indexer }: Services,
  projectId: string,
): Promise<BuiltIndex | null> {
  if ((await store.project(projectId)) === null)
    throw new GovError('NOT_FOUND', `no project has the id ${projectId}`);
  const { size, root } = (await checkpoints.sign(projectId)).checkpoint;
  const input = { projectId, mode: 'build', signed: { size, root }, treeSize: 0, lists: [] } as const;
  // the saved map is a cache, which may be damaged; all leaves are there to make it again
  if ((await store.prunedBelow(projectId)) === 0) await store.dropMap(projectId);
  const built = await indexer.index(input);
  if (built === null || built.leafIndex === null) return null;
  await checkpoints.sign(projectId);
  return { projectId, size, leafIndex: built.leafIndex };
}
