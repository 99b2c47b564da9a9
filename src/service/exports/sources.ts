/**
 * Reads the leaves of an export in log order and below its tree size, one page at a time. Events recorded
 * later are never part of it. Proven by `test/service/exports/handlers.test.ts`.
 */
import type { ExportFilters } from '../../contract/exports.ts';
import { GovError } from '../../contract/problems.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { openReplay } from '../../core/decided/replay.ts';
import { leafTypes, type ExportLeaf } from '../../core/exports/row.ts';
import { systemRun } from '../../core/events/record.ts';
import { readRecord } from '../../core/events/run-entry.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { ExportSelection, LeafPages } from './exporting.ts';
import { graphs, proofs } from './beside.ts';
import { timeRange } from '../call/pages.ts';
import { loggedResult } from '../jobs/result.ts';
import { runEvents } from '../events/run-stream.ts';
import type { TaskContext } from '../call/work.ts';

/** Small: garbage collection copies the content of a page each time the page survives one. */
const pageLeaves = 64;
/** Rows of a page of replays; each includes its result. */
const largePage = 16;

/** `filters` must be accepted by `createExport`. */
export function leavesOf(context: TaskContext, exporting: ExportSelection): LeafPages {
  switch (exporting.resource) {
    case 'audit_events':
      return exporting.filters.runId === undefined
        ? allEvents(context, exporting)
        : eventsOfRun(context, exporting, exporting.filters.runId);
    case 'risk_decisions':
      return decided(context, exporting, 'gov.decision/1');
    case 'policy_evaluations':
      return decided(context, exporting, 'gov.evaluation/1');
    case 'replays':
      return replays(context, exporting);
    case 'compliance_proofs':
      return proofs(context, exporting);
    case 'causal_graphs':
      return graphs(context, exporting);
  }
}

/** All events. Pruned events are in an archive; events of the system run are never pruned. */
async function* allEvents(
  context: TaskContext,
  { projectId, filters, treeSize }: ExportSelection,
): LeafPages {
  const { reader, breathe } = context;
  const isWanted = eventFilter(filters);
  const below = Math.min(await reader.prunedBelow(projectId), treeSize);
  const kept = { fromSeq: 0, beforeIndex: below };
  for await (const events of runEvents(context, { projectId, runId: systemRun }, kept)) {
    yield events.filter(isWanted);
  }
  const read = (from: number): Promise<Leaf[]> =>
    reader.leaves(projectId, 'audit', { from, to: Math.min(from + pageLeaves, treeSize) });
  for (let from = below, coming = below < treeSize ? read(below) : null; coming !== null;) {
    const leaves = await coming;
    from += pageLeaves;
    // a database reads the next page while this page is written
    coming = from < treeSize ? read(from) : null;
    coming?.catch(() => {}); // the error is thrown where the read is awaited
    yield leaves.filter(isWanted);
    await breathe();
  }
}

const eventEnd = `"type":"${leafTypes.audit_events}"}`;

/** Filters by the client timestamp, like lists of events. */
function eventFilter(filters: ExportFilters): (leaf: ExportLeaf) => boolean {
  const { eventType } = filters;
  const { startMs = -Infinity, endMs = Infinity } = timeRange(filters, 'body');
  const takesAll = eventType === undefined && startMs === -Infinity && endMs === Infinity;
  return ({ record }) => {
    if (!record.endsWith(eventEnd)) return false;
    if (takesAll) return true;
    const clear = readRecord(record);
    const atMs = clear === null ? null : parseTimestamp(clear.timestamp);
    if (clear === null || atMs === null) return false;
    return (eventType === undefined || clear.eventType === eventType) && startMs <= atMs && atMs <= endMs;
  };
}

async function* eventsOfRun(
  { reader, breathe }: TaskContext,
  exporting: ExportSelection,
  runId: string,
): LeafPages {
  const { projectId, filters, treeSize } = exporting;
  const { eventType } = filters;
  const filter = { runId, ...(eventType === undefined ? {} : { eventType }), ...timeRange(filters, 'body') };
  const fromIndex = runId === systemRun ? 0 : await reader.prunedBelow(projectId);
  for (let after: number | undefined; ;) {
    const position = after === undefined ? {} : { after };
    const page = { order: 'asc', limit: pageLeaves, fromIndex, ...position } as const;
    const leaves = await reader.events(projectId, filter, page);
    yield leaves.filter(({ index }) => index < treeSize);
    after = leaves.at(-1)?.index;
    if (leaves.length < pageLeaves || after === undefined || after >= treeSize) return;
    await breathe();
  }
}

/** Pages of leaves of one type. */
async function* logged(
  { reader, breathe }: TaskContext,
  { projectId, filters: { runId }, treeSize }: ExportSelection,
  type: 'gov.decision/1' | 'gov.evaluation/1' | 'gov.replay/1',
): AsyncGenerator<Leaf[], void, undefined> {
  const filter = { type, beforeIndex: treeSize, ...(runId === undefined ? {} : { runId }) };
  const limit = type === 'gov.replay/1' ? largePage : pageLeaves;
  for (let after: number | undefined; ;) {
    const page = { order: 'asc', limit, ...(after === undefined ? {} : { after }) } as const;
    const leaves = await reader.leavesOf(projectId, filter, page);
    yield leaves;
    after = leaves.at(-1)?.index;
    if (leaves.length < limit || after === undefined) return;
    await breathe();
  }
}

async function* decided(
  context: TaskContext,
  exporting: ExportSelection,
  type: 'gov.decision/1' | 'gov.evaluation/1',
): LeafPages {
  const isWanted = timeFilter(exporting.filters);
  for await (const leaves of logged(context, exporting, type)) {
    yield leaves.filter((leaf) => isWanted(openLeaf(leaf).clear['evaluatedAt']));
  }
}

async function* replays(context: TaskContext, exporting: ExportSelection): LeafPages {
  const isWanted = timeFilter(exporting.filters);
  for await (const leaves of logged(context, exporting, 'gov.replay/1')) {
    for (const leaf of leaves) {
      const { replayId } = openReplay(openLeaf(leaf));
      const stored = await loggedResult(context.reader, exporting.projectId, replayId);
      if (stored === null)
        throw new GovError('STORAGE_FAULT', `expected the result of ${replayId}, got none`);
      if (isWanted((JSON.parse(stored) as { createdAt?: unknown }).createdAt)) yield [{ ...leaf, stored }];
    }
  }
}

/** Whether the time of a row is within the bounds. */
function timeFilter(filters: ExportFilters): (timestamp: unknown) => boolean {
  const { startMs, endMs } = timeRange(filters, 'body');
  if (startMs === undefined && endMs === undefined) return () => true;
  return (timestamp) => {
    const atMs = typeof timestamp === 'string' ? parseTimestamp(timestamp) : null;
    return atMs !== null && atMs >= (startMs ?? -Infinity) && atMs <= (endMs ?? Infinity);
  };
}
