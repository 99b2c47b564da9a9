/** The events of a run as a stream of chunks, so that a run of a million never stands in memory. */
import { GovError } from '../../contract/problems.ts';
import { readRecord, recordDigests, type RunEvent } from '../../core/event/run-entry.ts';
import type { Bodies, Leaf } from '../../store/port/store.ts';
import { refuseLost } from '../erasure/erased.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

const chunkEvents = 100;

/**
 * Events from `fromSeq` on with an index below `beforeIndex`; bodies are read unless told otherwise. STORAGE_FAULT where one
 * that is read whole lost something that was not erased.
 */
export async function* runEvents(
  { reader, breathe }: TaskContext,
  { projectId, runId }: RunOf,
  range: { readonly fromSeq: number; readonly beforeIndex: number; readonly bodies?: Bodies },
): AsyncGenerator<RunEvent[], void, undefined> {
  const { beforeIndex, bodies = true } = range;
  let { fromSeq } = range;
  for (;;) {
    const leaves = await reader
      .runLeaves(projectId, runId, { fromSeq, beforeIndex, limit: chunkEvents, bodies })
      .catch((error: unknown) => {
        const below = prunedBelow(error);
        throw below === null ? error : prunedRun(runId, below);
      });
    if (bodies === true) leaves.forEach(requireKept);
    if (leaves.length > 0) yield leaves.map((leaf) => ({ ...leaf, clear: readRecord(leaf.record) }));
    if (leaves.length < chunkEvents) return;
    fromSeq += leaves.length;
    await breathe();
  }
}

/** Cost: none where all stands there as it was recorded, which whoever reads has seen by one hash (`Leaf.bounds`). */
function requireKept(leaf: Leaf): void {
  const { record, disclosures, bounds, isGone } = leaf;
  if (disclosures !== null && bounds === undefined && isGone !== true) return;
  const digests = recordDigests(record) ?? [];
  if (bounds?.length !== 2 * digests.length) refuseLost(leaf, digests);
}

export const noEvents = (runId: string): GovError =>
  new GovError('RUN_HAS_NO_EVENTS', `expected events of run ${runId}, got none; record events first`);

/** The index below which events were pruned, where that is why something is not there; else null. */
export function prunedBelow(error: unknown): number | null {
  const below = error instanceof GovError ? error.extensions['prunedBelow'] : undefined;
  return typeof below === 'number' ? below : null;
}

const prunedRun = (runId: string, below: number): GovError =>
  new GovError(
    'RUN_HAS_NO_EVENTS',
    `expected all events of run ${runId}, but those below leaf ${below} were pruned, and stand in an archive`,
    { extensions: { prunedBelow: below } },
  );
