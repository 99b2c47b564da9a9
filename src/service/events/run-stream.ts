/**
 * Reads the events of a run in chunks, so that a run of a million events never fills memory. Proven by
 * `test/service/replay/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { readRecord, recordDigests, type RunEvent } from '../../core/events/run-entry.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { Bodies } from '../../store/port/store.ts';
import { refuseLost } from '../erased/fields.ts';
import type { RunOf, TaskContext } from '../call/work.ts';

const chunkEvents = 100;
/** Of the first chunk, while the size of events is unknown. */
const firstEvents = 8;

/**
 * Events from `fromSeq` on with an index below `beforeIndex`; reads bodies by default. `chunkChars`: about how
 * large a chunk is; default 100 events of any size. STORAGE_FAULT where a whole event lacks a field that was
 * not erased.
 */
export async function* runEvents(
  { reader, breathe }: TaskContext,
  { projectId, runId }: RunOf,
  range: {
    readonly fromSeq: number;
    readonly beforeIndex: number;
    readonly bodies?: Bodies;
    readonly chunkChars?: number;
  },
): AsyncGenerator<RunEvent[], void, undefined> {
  const { beforeIndex, bodies = true, chunkChars } = range;
  let { fromSeq } = range;
  let limit = chunkChars === undefined ? chunkEvents : firstEvents;
  for (;;) {
    const leaves = await reader
      .runLeaves(projectId, runId, { fromSeq, beforeIndex, limit, bodies })
      .catch((error: unknown) => {
        const below = prunedBelow(error);
        throw below === null ? error : prunedRun(runId, below);
      });
    if (bodies === true) leaves.forEach(requireKept);
    if (leaves.length > 0) yield leaves.map((leaf) => ({ ...leaf, clear: readRecord(leaf.record) }));
    if (leaves.length < limit) return;
    fromSeq += leaves.length;
    if (chunkChars !== undefined) limit = Math.min(chunkEvents, eventsIn(chunkChars, leaves));
    await breathe();
  }
}

/** How many events like these have so many characters; one at least. */
function eventsIn(chars: number, leaves: readonly Leaf[]): number {
  const size = leaves.reduce(
    (sum, { record, disclosures }) => sum + record.length + (disclosures?.length ?? 0),
    0,
  );
  return Math.max(1, Math.floor((chars * leaves.length) / size));
}

/**
 * Checks that only erased fields are missing. Costs nothing for a complete event, whose single hash the
 * caller checks (`Leaf.bounds`).
 */
function requireKept(leaf: Leaf): void {
  const { record, disclosures, bounds, isGone } = leaf;
  if (disclosures !== null && bounds === undefined && isGone !== true) return;
  const digests = recordDigests(record) ?? [];
  if (bounds?.length !== 2 * digests.length) refuseLost(leaf, digests);
}

export const noEvents = (runId: string): GovError =>
  new GovError('RUN_HAS_NO_EVENTS', `expected events of run ${runId}, got none; record events first`);

/** The index below which events were pruned, where an error says so; else null. */
export function prunedBelow(error: unknown): number | null {
  const below = error instanceof GovError ? error.extensions['prunedBelow'] : undefined;
  return typeof below === 'number' ? below : null;
}

const prunedRun = (runId: string, below: number): GovError =>
  new GovError(
    'RUN_HAS_NO_EVENTS',
    `expected all events of run ${runId}, but those below leaf ${below} were pruned, and are in an archive`,
    { extensions: { prunedBelow: below } },
  );
