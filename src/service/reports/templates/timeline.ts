/** The events of one run as rows, for the evidence of a run and for incidents. */
import { endingOf, isFailure } from '../../../contract/endings.ts';
import { limits } from '../../../contract/limits.ts';
import { hashText } from '../../../core/hash.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { increase } from '../counts/by-name.ts';
import { eventsOf, partyText, textOf, type ReadEvent } from './read.ts';
import { Rows } from './rows.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';

export const timelineTable: TableSpec = {
  id: 'events',
  title: 'Events of the run',
  lists: 'All events of the run below the checkpoint; blocked calls and errors first, each part in order',
  columns: columns({
    number: ['Number in the run', 'number'],
    leaf: ['Leaf', 'number'],
    timestamp: ['Time of the client', 'time'],
    recordedAt: ['Recorded', 'time'],
    eventType: 'Type',
    actor: 'Actor',
    action: 'Action',
    resource: 'Resource',
    outcome: ['Outcome', 'status'],
    evaluationId: 'Evaluation',
    erased: ['Fields erased', 'number'],
    eventId: 'Event',
    leafHash: ['Leaf hash', 'hash'],
  }),
};

export interface Timeline {
  readonly rows: Rows;
  readonly types: Map<string, number>;
  /** Number of the first kept event in the run: those before it were pruned. 0 for a run without events. */
  readonly firstSeq: number;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Erased fields, and events with one. */
  readonly erased: number;
  readonly erasedEvents: number;
  readonly actors: ReadonlySet<string>;
}

export const failing = /^(?:tool\.(?:call_blocked|denied)|run\.error|approval\.rejected|quota\.exceeded)$/;

export async function timelineOf(source: ReportSource, runId: string): Promise<Timeline> {
  const rows = new Rows(timelineTable);
  const types = new Map<string, number>();
  const actors = new Set<string>();
  let [firstMs, lastMs, erased, erasedEvents] = [Infinity, 0, 0, 0];
  let firstSeq: number | null = null;
  for await (const event of eventsOf(source, runId)) {
    const ms = parseTimestamp(event.clear.timestamp) ?? event.serverMs;
    firstSeq ??= event.clear.runSeq;
    firstMs = Math.min(firstMs, ms);
    lastMs = Math.max(lastMs, ms);
    erased += event.erased;
    erasedEvents += event.erased > 0 ? 1 : 0;
    increase(types, event.clear.eventType);
    const actor = partyText(event.members.get('actor'));
    if (actor !== null && actors.size < limits.reportGroups) actors.add(actor);
    rows.add(timelineRow(event, actor), isFailing(event));
  }
  return {
    rows,
    types,
    firstSeq: firstSeq ?? 0,
    firstMs: Math.min(firstMs, lastMs),
    lastMs,
    erased,
    erasedEvents,
    actors,
  };
}

export const isFailing = ({ clear: { eventType }, metadata }: ReadEvent): boolean =>
  failing.test(eventType) ||
  isFailure(endingOf(metadata['outcome'])) ||
  metadata['ok'] === false ||
  metadata['decision'] === 'deny';

function timelineRow(event: ReadEvent, actor: string | null): (string | number | null)[] {
  const { clear, index, members, metadata, erased, leaf } = event;
  return [
    clear.runSeq,
    index,
    clear.timestamp,
    clear.serverTimestamp,
    clear.eventType,
    actor,
    textOf(members.get('action')),
    partyText(members.get('resource')),
    outcomeText(event),
    textOf(metadata['evaluationId']),
    erased,
    clear.eventId,
    hashText(leaf.hash),
  ];
}

/** What an event says of how it ended. */
export function outcomeText({ metadata }: ReadEvent): string | null {
  const { outcome, decision, status, ok } = metadata;
  if (typeof ok === 'boolean' && outcome === undefined) return ok ? 'ok' : 'error';
  return textOf(outcome ?? decision ?? status);
}
