/**
 * One call, one event, also where its spans come in several requests and the inner ones first. A call keeps the event that
 * it has: a span around it is then an observation, and an `event.completed` gives the call its id. Where another source
 * has the call already, or two spans were recorded as two calls before a third one joined them, the `event.completed` says
 * that the event is to be read as an observation (`readAs`). Tested by `test/http/otlp/one-call.test.ts`.
 */
import type { EventInput } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import { observedType } from '../../coverage/join.ts';
import { formatTimestamp } from '../../time.ts';
import { callIdOf, CallSpans, decidedBefore, type CallSpan, type EarlierSpan } from './same-call.ts';

/** What a request made known of a span, for later requests of its trace. */
export interface KnownSpan extends EarlierSpan {
  readonly runId?: string | undefined;
  /** The call id in its events. */
  readonly recordedAs?: string | undefined;
  /** Whether its events are the call and the result, and no observations. */
  readonly isCall?: boolean | undefined;
  readonly isResult?: boolean | undefined;
  /** Whether another source has the call, or the result. */
  readonly isCallElsewhere?: boolean | undefined;
  readonly isResultElsewhere?: boolean | undefined;
  /** Of a model: whether the call has an event, from the span or from a log record that names it. */
  readonly isReported?: boolean | undefined;
}

/** The spans of a trace in this request, and those of earlier ones. */
export interface TraceCalls {
  readonly traceId: string;
  readonly fresh: readonly CallSpan[];
  /** Log records of calls of a model, and the spans that they name. */
  readonly logged?: readonly { readonly spanId: string; readonly eventId: string }[];
  readonly earlier: readonly KnownSpan[];
}

export interface JoinOptions {
  /** Events of this request by clientEventId. */
  readonly events: ReadonlyMap<string, EventInput>;
  /** Ids of calls and results of this request that another source or signal has recorded. */
  readonly elsewhere: ReadonlySet<string>;
  readonly atMs: number;
}

export interface JoinedSpans {
  /** Events of this request that are observations of a call that an earlier request recorded, by clientEventId. */
  readonly observations: ReadonlySet<string>;
  readonly completions: readonly EventInput[];
  /** What later requests need of the trace. */
  readonly known: readonly KnownSpan[];
}

const parts = ['call', 'result'] as const;
type Part = (typeof parts)[number];
const types = { call: 'tool.call', result: 'tool.result' } as const;
const flags = { call: 'isCall', result: 'isResult' } as const;
const elsewhereFlags = { call: 'isCallElsewhere', result: 'isResultElsewhere' } as const;

/** Returns what becomes of the calls of a trace. Cost: once over its spans. */
export function joinCalls(trace: TraceCalls, options: JoinOptions): JoinedSpans {
  const { traceId, fresh, earlier } = trace;
  const old = new Map(earlier.map((span) => [span.spanId, span]));
  const all: KnownSpan[] = [...earlier, ...fresh.filter(({ spanId }) => !old.has(spanId))];
  const spans = new CallSpans(all, decidedBefore(earlier));
  const depthOf = ({ spanId }: CallSpan): number => spans.around(spanId).length;
  const tools = all.filter(({ role }) => role === 'tool').toSorted((a, b) => depthOf(a) - depthOf(b));
  const groups = Map.groupBy(tools, (span) => spans.around(span.spanId).at(-1) ?? span);
  const observations = new Set<string>();
  const completions: EventInput[] = [];
  const known = new Map(all.map((span) => [span.spanId, span]));
  for (const [root, group] of groups) {
    const sheet: Group = { ...options, traceId, root, old, spans: group };
    const isElsewhere = {
      call: group.some((span) => isOfOther(span, 'call', sheet)),
      result: group.some((span) => isOfOther(span, 'result', sheet)),
    };
    const kept = {
      call: isElsewhere.call ? undefined : keeper('call', sheet),
      result: isElsewhere.result ? undefined : keeper('result', sheet),
    };
    for (const span of group) {
      const isNew = !old.has(span.spanId);
      for (const part of parts) {
        const event = isNew ? eventOf(span, { part, ...sheet }) : undefined;
        if (event?.eventType === types[part] && kept[part] !== span)
          observations.add(event.clientEventId ?? '');
      }
      if (!isNew) completions.push(...completionsOf(span, { ...sheet, kept }));
      known.set(span.spanId, {
        ...span,
        above: spans.around(span.spanId)[0]?.spanId,
        runId: span.runId ?? eventOf(span, { part: 'call', ...sheet })?.runId,
        recordedAs: callIdOf(root),
        isCall: kept.call === span || undefined,
        isResult: kept.result === span || undefined,
        isCallElsewhere: isElsewhere.call || undefined,
        isResultElsewhere: isElsewhere.result || undefined,
      });
    }
  }
  for (const id of reportedModels(trace, known)) observations.add(id);
  return { observations, completions, known: newest([...known.values()], spans) };
}

/** A call of a model has one event: of its span, or of the first log record that names the span. Returns the others. */
function reportedModels(
  { traceId, fresh, logged = [] }: TraceCalls,
  known: Map<string, KnownSpan>,
): string[] {
  const models = fresh.filter(({ role }) => role === 'model');
  const reports = [
    ...models.map((span) => ({ ...span, eventId: idOf(traceId, span, 'call') })),
    ...logged.map((log) => ({ ...log, role: 'model' as const })),
  ];
  return reports.flatMap(({ eventId, ...span }) => {
    const before = known.get(span.spanId);
    known.set(span.spanId, { ...span, ...before, role: 'model', isReported: true });
    return before?.isReported === true ? [eventId] : [];
  });
}

/** The spans of one call. */
interface Group extends JoinOptions {
  readonly traceId: string;
  /** The outermost one. */
  readonly root: KnownSpan;
  /** From the outside in. */
  readonly spans: readonly KnownSpan[];
  readonly old: ReadonlyMap<string, KnownSpan>;
}

const idOf = (traceId: string, { spanId }: CallSpan, part: Part): string =>
  `otlp:span.${traceId}.${spanId}${part === 'call' ? '' : '.result'}`;

const eventOf = (
  span: CallSpan,
  { part, events, traceId }: Pick<Group, 'events' | 'traceId'> & { readonly part: Part },
): EventInput | undefined => events.get(idOf(traceId, span, part));

const isOfOther = (span: KnownSpan, part: Part, { old, elsewhere, traceId }: Group): boolean =>
  span[elsewhereFlags[part]] === true || (!old.has(span.spanId) && elsewhere.has(idOf(traceId, span, part)));

/** The span whose event is the call or the result of its group: the one that has it already, else the outermost. */
function keeper(part: Part, group: Group): KnownSpan | undefined {
  const { spans, old } = group;
  return (
    spans.find((span) => span[flags[part]] === true) ??
    spans.find(
      (span) => !old.has(span.spanId) && eventOf(span, { part, ...group })?.eventType === types[part],
    )
  );
}

/** The events that say what a call of an earlier request is, now that a span around it is known. */
function completionsOf(
  span: KnownSpan,
  { kept, ...group }: Group & { readonly kept: Readonly<Record<Part, KnownSpan | undefined>> },
): EventInput[] {
  const { traceId, root, atMs } = group;
  const { recordedAs: before, runId, startMs } = span;
  const toolCallId = callIdOf(root);
  if (before === undefined || runId === undefined) return [];
  const outer = eventOf(root, { part: 'call', ...group });
  const run = root.runId ?? outer?.runId;
  const input = span.hasInput === true ? undefined : outer?.metadata?.['arguments'];
  return parts.flatMap((part): EventInput[] => {
    const isCopy = kept[part] !== span;
    if (span[flags[part]] !== true || (before === toolCallId && !isCopy)) return [];
    const completes = idOf(traceId, span, part);
    const added = {
      toolCallId,
      ...(isCopy ? { readAs: observedType } : {}),
      ...(part === 'call' && input !== undefined ? { arguments: input } : {}),
      ...(run === undefined || run === runId ? {} : { run }),
    };
    const facts = { importer: 'otlp', signal: 'span', completes, completedType: types[part] };
    return [
      {
        runId,
        eventType: 'event.completed',
        actor: { name: 'gov', role: 'system' },
        action: 'complete',
        timestamp: formatTimestamp(startMs ?? atMs),
        metadata: { ...facts, toolCallId: before, added, timestampSource: 'source' },
        causedBy: [completes],
        clientEventId: `${completes}.${isCopy ? 'observed' : 'joined'}`,
      },
    ];
  });
}

/** The newest spans of tools and models, and spans that may stand between two of them. */
const newest = (all: readonly KnownSpan[], spans: CallSpans<KnownSpan>): readonly KnownSpan[] =>
  all
    .filter((span) => span.role === 'tool' || span.role === 'model' || spans.mayLead(span))
    .slice(-limits.otlpTraceSpans);
