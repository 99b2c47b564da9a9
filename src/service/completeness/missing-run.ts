/**
 * A run without rows: either the log has no event of it, or somebody deleted its rows below the store. The map of the log
 * tells one from the other. Proven by `test/service/proofs/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { RunOf } from '../call/work.ts';
import type { Services } from '../port/services.ts';
import { noEvents } from '../events/run-stream.ts';

/**
 * Returns the error for a run whose tables have no events: STORAGE_FAULT where the log has some, else RUN_HAS_NO_EVENTS.
 * While the map is built, RUN_HAS_NO_EVENTS alone.
 */
export async function missingRun(services: Services, { projectId, runId }: RunOf): Promise<GovError> {
  const { size, root } = (await services.checkpoints.sign(projectId)).checkpoint;
  const list = { key: ['run', runId], what: 'events', n: 0, root: null };
  const input = { projectId, mode: 'check', signed: { size, root }, treeSize: size, lists: [list] } as const;
  try {
    await services.indexer.index(input);
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return error;
    throw error;
  }
  return noEvents(runId);
}
