/**
 * An event as coverage reads it. Clients write these values: one of an unexpected type counts as absent.
 * Tested by `test/core/coverage/judge.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import { statedByMember } from '../../contract/stated-by.ts';
import { valuesAt } from '../events/bodies.ts';
import type { Fields } from '../events/links.ts';
import type { RunEvent } from '../events/run-entry.ts';
import type { Json } from '../json/parse.ts';
import { parseTimestamp } from '../time.ts';
import { observedType } from './join.ts';
import { kernelTypes, sourceOf } from './report.ts';

export interface ReadEvent {
  readonly index: number;
  readonly eventId: string;
  /** The type; of an observation, the type that the event would have had. */
  readonly type: string;
  readonly atMs: number;
  readonly serverMs: number;
  readonly source: ReportSource;
  readonly metadata: Readonly<Record<string, Json>>;
  readonly tool: string | null;
  readonly actor: string | null;
}

const members = [
  'toolCallId',
  'importer',
  'signal',
  'record',
  'scope',
  'timestampSource',
  'evaluationId',
  'recordedBy',
  statedByMember,
  'outcome',
  'ok',
  'observed',
  'tool',
  'extra',
  'otel',
  'completedType',
  'added',
  'client',
  'callHash',
  'argumentsHash',
  'arguments',
  'durationMs',
  'pid',
  'ppid',
  'path',
  'argv',
  'cut',
  'run',
] as const;
const wanted = new Set([
  '/resource',
  '/resource/name',
  '/actor',
  '/actor/name',
  ...members.map((member) => `/metadata/${member}`),
]);

/** Reads an event; null if it is malformed. `fields`: its disclosed values, if they were parsed before. */
export function readEvent({ index, clear, disclosures }: RunEvent): ReadEvent | null {
  if (clear === null) return null;
  const fields: Fields = disclosures === null ? new Map() : valuesAt(disclosures, wanted);
  const metadata: Record<string, Json> = {};
  for (const member of members) {
    const value = fields.get(`/metadata/${member}`);
    if (value !== undefined) metadata[member] = value;
  }
  const { observed, tool } = metadata;
  const isObserved = clear.eventType === observedType && typeof observed === 'string';
  const named = isObserved ? tool : (fields.get('/resource/name') ?? fields.get('/resource'));
  // without that member an agent may have written it
  const isOfKernel = kernelTypes.has(clear.eventType) && typeof metadata[statedByMember] === 'string';
  const actor = fields.get('/actor/name') ?? fields.get('/actor');
  return {
    index,
    eventId: clear.eventId,
    type: isObserved ? observed : clear.eventType,
    atMs: parseTimestamp(clear.timestamp) ?? 0,
    serverMs: parseTimestamp(clear.serverTimestamp) ?? 0,
    source: isOfKernel ? 'kernel' : sourceOf(metadata),
    metadata,
    tool: typeof named === 'string' ? named : null,
    actor: typeof actor === 'string' ? actor : null,
  };
}
