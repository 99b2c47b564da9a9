/**
 * Which source reported a tool call, and how the report of a further source is recorded. Within a run, a call id that
 * another source has recorded is not a second call: the report becomes an event `x.tool.observed`, which names the type
 * that it would have had. The graph, counts of calls and `policy_compliance` then see the call once, and coverage still
 * has each source. Tested by `test/core/coverage/report.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import type { EventInput } from '../../contract/events.ts';
import { digestOf, isDigest } from '../json/digest.ts';
import { isObservation, isOwnId, joinOf, observedType, observedTypes } from './join.ts';

/** What the kernel saw below a sandbox, where the event names who recorded it. */
export const kernelTypes: ReadonlySet<string> = new Set(['x.kernel.exec', 'x.kernel.connect']);

/** Whether an event says that a kernel saw it, or that a sandbox started. An agent must not record it. */
export const speaksForKernel = ({
  eventType,
  metadata,
}: Pick<EventInput, 'eventType' | 'metadata'>): boolean =>
  eventType === 'sandbox.started' ||
  eventType.startsWith('x.kernel.') ||
  metadata?.['recordedBy'] === 'kernel';

/** Whether a source asks for decisions before calls run; the others report calls from elsewhere. */
export const governs = (source: ReportSource): boolean =>
  source !== 'otlp' && source !== 'transcript' && source !== 'kernel';

type Metadata = Readonly<Record<string, unknown>>;

/** Whether a call names the decision about it, and comes from a source that asks for decisions. */
export const namesDecision = (metadata: Metadata): boolean =>
  governs(sourceOf(metadata)) && typeof metadata['evaluationId'] === 'string';

/**
 * Returns `hook` or `mcp` (the MCP proxy) for the programs that name themselves in `recordedBy`; `direct` for another
 * program that governs the call, such as the SDK; `otlp` for telemetry; `transcript` for an imported recording.
 * Importers write `timestampSource` in each event; the receiver and files of OTLP also write `importer`. No importer names
 * an evaluation.
 */
export function sourceOf(metadata: Metadata): ReportSource {
  if (metadata['importer'] === 'otlp') return 'otlp';
  const { recordedBy, evaluationId } = metadata;
  if (recordedBy === 'hook' || recordedBy === 'mcp') return recordedBy;
  if (typeof recordedBy === 'string' || typeof evaluationId === 'string') return 'direct';
  return typeof metadata['timestampSource'] === 'string' ? 'transcript' : 'direct';
}

/** Names the call or result that an event reports; null for other events, and for calls without an id of their own. */
export function reportKey({
  eventType,
  metadata,
}: Pick<EventInput, 'eventType' | 'metadata'>): string | null {
  const type = eventType === observedType ? metadata?.['observed'] : eventType;
  const id = metadata?.['toolCallId'];
  const isReport = type === 'tool.call' || type === 'tool.result';
  return isReport && isOwnId(id) ? `${type} ${id}` : null;
}

/**
 * Names what an event leaves no room for from another source: the same call or result. A refused call did not run, so a
 * call or result that another source reports of it is an observation.
 */
export function claimedKeys(event: Pick<EventInput, 'eventType' | 'metadata'>): readonly string[] {
  const id = event.metadata?.['toolCallId'];
  if (event.eventType === 'tool.denied' && isOwnId(id)) return [`tool.call ${id}`, `tool.result ${id}`];
  const join = joinOf(event);
  if (join !== null) return join.isCopy || !isOwnId(join.to) ? [] : [`${join.type} ${join.to}`];
  const key = event.eventType === observedType ? null : reportKey(event);
  return key === null ? [] : [key];
}

/** Returns the number that a session gave the log record of an event; null if it has none. */
export function sequenceOf(metadata: Metadata): number | null {
  const otel = metadata['otel'];
  const given =
    typeof otel === 'object' && otel !== null && 'event.sequence' in otel ? otel['event.sequence'] : null;
  const number = typeof given === 'string' && given !== '' ? Number(given) : given;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** An event of an importer, before it has its place in a run or after. */
interface Observable {
  readonly eventType: string;
  readonly action: string;
  readonly resource?: string | { readonly name?: unknown } | undefined;
  readonly metadata?: Metadata;
}

/** Members with content: the source that recorded the call has it. What a model says is in its recording alone. */
const contents = ['arguments', 'content'] as const;

/** Returns the event that reports a call which another source has recorded. The same event always gives the same one. */
export function observationOf<Report extends Observable>(event: Report): Report {
  const { resource, eventType, metadata = {}, ...rest } = event;
  if (isObservation(eventType)) return event;
  const { details: _details, ...facts } = metadata;
  const isModel = eventType === 'model.invoked';
  const digests = contents.flatMap((name) => {
    const value = facts[name];
    if (isModel || value === undefined || value === null) return [];
    return [[name, isDigest(value) ? value : digestOf(value)] as const];
  });
  const tool = typeof resource === 'object' && resource !== null ? resource.name : resource;
  return {
    ...rest,
    eventType: observedTypes[eventType] ?? observedType,
    action: 'observe',
    metadata: {
      ...facts,
      observed: eventType,
      ...(tool === undefined ? {} : { [isModel ? 'model' : 'tool']: tool }),
      ...Object.fromEntries(digests),
    },
    // the same members but for the resource, which no event must have
  } as unknown as Report;
}
