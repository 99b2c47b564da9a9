/** The events of a run as a stream of chunks, so that a run of a million never stands in memory. */
import { readRunEvent, type RunEvent } from '../core/runevent.ts';
import type { RunOf, TaskContext } from './work.ts';

const chunkEvents = 100;

/** Events from `fromSeq` on with an index below `beforeIndex`, bodies included. */
export async function* runEvents(
  { reader, breathe }: TaskContext,
  { projectId, runId }: RunOf,
  range: { readonly fromSeq: number; readonly beforeIndex: number },
): AsyncGenerator<RunEvent[], void, undefined> {
  let { fromSeq } = range;
  for (;;) {
    const leaves = await reader.runLeaves(projectId, runId, {
      fromSeq,
      beforeIndex: range.beforeIndex,
      limit: chunkEvents,
      bodies: true,
    });
    if (leaves.length > 0) yield leaves.map(readRunEvent);
    if (leaves.length < chunkEvents) return;
    fromSeq += leaves.length;
    await breathe();
  }
}
