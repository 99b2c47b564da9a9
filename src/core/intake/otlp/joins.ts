/**
 * One call, one event, also where its spans come in several requests and the inner ones first. A call keeps the event that
 * it has: a span around it is then an observation, and an `event.completed` gives the call its id. Where another source
 * has the call already, or two spans were recorded as two calls before a third one joined them, the `event.completed` says
 * that the event is to be read as an observation (`readAs`), as of two spans of models that a third one joins. Tested by `test/http/otlp/one-call.test.ts`.
 */
import type { EventInput } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import { observedType, observedTypes } from '../../coverage/join.ts';
import { formatTimestamp } from '../../time.ts';
import { matchedBy } from './asked-calls.ts';
import { inputOf, ownCallId, type CallSpan, type CallSpans, type EarlierSpan } from './same-call.ts';

/** What a request made known of a span, for later requests of its trace. */
export interface KnownSpan extends EarlierSpan {
  readonly runId?: string | undefined;
  /** The call id in its events, where it is that of another span. */
  readonly recordedAs?: string | undefined;
  /** Whether its events are the call and the result, and no observations. */
  readonly isCall?: boolean | undefined;
  readonly isResult?: boolean | undefined;
  /** Whether another source has the call, or the result. */
  readonly isCallElsewhere?: boolean | undefined;
  readonly isResultElsewhere?: boolean | undefined;
  /** Of a model: whether the call has an event, from the span or from a log record that names it. */
  readonly isReported?: boolean | undefined;
  /** Of a model: the span that has the event, where this one reports the same call. */
  readonly copyOf?: string | undefined;
}

/** The spans of a trace in this request, and those of earlier ones. */
export interface TraceCalls {
  readonly traceId: string;
  readonly spans: CallSpans<KnownSpan>;
  readonly earlier: readonly KnownSpan[];
  /** Events of this request that report calls of a model, and the spans of these calls. */
  readonly models: readonly ModelReport[];
  /** Spans of models that report the call of another one. */
  readonly copies: ReadonlyMap<string, string>;
}

export interface ModelReport {
  readonly spanId: string;
  readonly parentId?: string | undefined;
  readonly eventId: string;
  /** That of the event, if it is of the span itself. */
  readonly runId?: string | undefined;
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
  const { traceId, spans, earlier } = trace;
  const old = new Set(earlier.map(({ spanId }) => spanId));
  const depthOf = ({ spanId }: CallSpan): number => spans.around(spanId).length;
  const known = new Map(spans.all.map((span) => [span.spanId, span]));
  const tools = [...known.values()].filter(({ role }) => role === 'tool');
  tools.sort((a, b) => depthOf(a) - depthOf(b));
  const remembered = new Set(newest([...known.values()], spans).map(({ spanId }) => spanId));
  const own = ownEvents(tools, { traceId, old, ...options });
  const groups = Map.groupBy(tools, (span) => spans.rootOf(span));
  const observations = new Set<string>();
  const completions: EventInput[] = [];
  for (const [root, group] of groups) {
    const call = spans.callOf(root);
    const sheet: Group = { ...options, traceId, root, old, spans: group, own, call };
    const isElsewhere = {
      call: group.some((span) => isOfOther(span, 'call', sheet)),
      result: group.some((span) => isOfOther(span, 'result', sheet)),
    };
    const kept = {
      call: isElsewhere.call ? undefined : keeper('call', sheet),
      result: isElsewhere.result ? undefined : keeper('result', sheet),
    };
    for (const span of group) {
      for (const part of parts) {
        const event = own.get(span.spanId)?.[part];
        if (event?.eventType === types[part] && kept[part] !== span)
          observations.add(event.clientEventId ?? '');
      }
      if (old.has(span.spanId)) completions.push(...completionsOf(span, { ...sheet, kept }));
      if (remembered.has(span.spanId))
        known.set(span.spanId, {
          ...span,
          input: inputOf(span, own.get(span.spanId)?.call?.metadata?.['arguments']),
          above: spans.around(span.spanId)[0]?.spanId,
          runId: span.runId ?? own.get(span.spanId)?.call?.runId,
          joinedId: call.isAsked ? call.id : undefined,
          recordedAs: call.id === ownCallId(span) ? undefined : call.id,
          isCall: kept.call === span || undefined,
          isResult: kept.result === span || undefined,
          isCallElsewhere: isElsewhere.call || undefined,
          isResultElsewhere: isElsewhere.result || undefined,
        });
    }
  }
  completions.push(...lateCopies(trace, options.atMs));
  for (const id of reportedModels(trace, { known, remembered })) observations.add(id);
  return { observations, completions, known: newest([...known.values()], spans) };
}

/** A call of a model has one event: of its span, or of the first log record that names the span. Returns the others. */
function reportedModels(
  { models, copies }: TraceCalls,
  { known, remembered }: { readonly known: Map<string, KnownSpan>; readonly remembered: ReadonlySet<string> },
): string[] {
  for (const [spanId, copyOf] of copies) {
    const span = known.get(spanId);
    if (span !== undefined) known.set(spanId, { ...span, copyOf, isReported: true });
  }
  return models.flatMap(({ eventId, ...span }) => {
    const before = known.get(span.spanId);
    if (before === undefined || remembered.has(span.spanId))
      known.set(span.spanId, { ...span, ...before, role: 'model', isReported: true });
    return before?.isReported === true ? [eventId] : [];
  });
}

/** Of models that earlier requests have reported as two calls, before a span between them came: which one is a copy. */
const lateCopies = ({ traceId, earlier, copies }: TraceCalls, atMs: number): EventInput[] =>
  earlier.flatMap((span) => {
    const isLate = span.copyOf === undefined && copies.has(span.spanId);
    if (!isLate || span.runId === undefined) return [];
    const completes = idOf(traceId, span, 'call');
    return [
      {
        runId: span.runId,
        ...completing,
        timestamp: formatTimestamp(span.startMs ?? atMs),
        metadata: {
          importer: 'otlp',
          signal: 'span',
          completes,
          completedType: 'model.invoked',
          added: { readAs: observedTypes['model.invoked'] },
          timestampSource: 'source',
        },
        causedBy: [completes],
        clientEventId: `${completes}.observed`,
      },
    ];
  });

/** The spans of one call. */
interface Group extends JoinOptions {
  readonly traceId: string;
  /** The outermost one. */
  readonly root: KnownSpan;
  /** From the outside in. */
  readonly spans: readonly KnownSpan[];
  readonly old: ReadonlySet<string>;
  readonly own: ReadonlyMap<string, OwnEvents>;
  readonly call: ReturnType<CallSpans['callOf']>;
}

/** The events of a span of this request. */
type OwnEvents = Readonly<Record<Part, EventInput | undefined>>;

const completing = {
  eventType: 'event.completed',
  actor: { name: 'gov', role: 'system' },
  action: 'complete',
};

const idOf = (traceId: string, { spanId }: CallSpan, part: Part): string =>
  `otlp:span.${traceId}.${spanId}${part === 'call' ? '' : '.result'}`;

const ownEvents = (
  tools: readonly KnownSpan[],
  { traceId, old, events }: Pick<Group, 'traceId' | 'old' | 'events'>,
): ReadonlyMap<string, OwnEvents> =>
  new Map(
    tools
      .filter(({ spanId }) => !old.has(spanId))
      .map((span) => {
        const result = span.hasResult === true ? events.get(idOf(traceId, span, 'result')) : undefined;
        return [span.spanId, { call: events.get(idOf(traceId, span, 'call')), result }];
      }),
  );

const isOfOther = (span: KnownSpan, part: Part, { old, elsewhere, traceId }: Group): boolean =>
  span[elsewhereFlags[part]] === true ||
  (elsewhere.size > 0 && !old.has(span.spanId) && elsewhere.has(idOf(traceId, span, part)));

/** The span whose event is the call or the result of its group: the one that has it already, else the outermost. */
function keeper(part: Part, { spans, own }: Group): KnownSpan | undefined {
  return (
    spans.find((span) => span[flags[part]] === true) ??
    spans.find(({ spanId }) => own.get(spanId)?.[part]?.eventType === types[part])
  );
}

/** The events that say what a call of an earlier request is, now that a span around it is known. */
function completionsOf(
  span: KnownSpan,
  { kept, ...group }: Group & { readonly kept: Readonly<Record<Part, KnownSpan | undefined>> },
): EventInput[] {
  const { traceId, root, atMs, own, call } = group;
  const { recordedAs: before = ownCallId(span), runId, startMs } = span;
  const { id: toolCallId, isAsked } = call;
  if (runId === undefined) return [];
  const outer = own.get(root.spanId)?.call;
  const run = root.runId ?? outer?.runId;
  const input = span.hasInput === true ? undefined : outer?.metadata?.['arguments'];
  return parts.flatMap((part): EventInput[] => {
    const isCopy = kept[part] !== span;
    if (span[flags[part]] !== true || (before === toolCallId && !isCopy)) return [];
    const completes = idOf(traceId, span, part);
    const added = {
      toolCallId,
      ...(isAsked ? { matchedBy } : {}),
      ...(isCopy ? { readAs: observedType } : {}),
      ...(part === 'call' && input !== undefined ? { arguments: input } : {}),
      ...(run === undefined || run === runId ? {} : { run }),
    };
    const facts = { importer: 'otlp', signal: 'span', completes, completedType: types[part] };
    return [
      {
        runId,
        ...completing,
        timestamp: formatTimestamp(startMs ?? atMs),
        metadata: { ...facts, toolCallId: before, added, timestampSource: 'source' },
        causedBy: [completes],
        // a span around the one that it was joined with may come later
        clientEventId: `${completes}.${isCopy ? 'observed' : `${isAsked ? 'asked' : 'joined'}.${root.spanId}`}`,
      },
    ];
  });
}

/** The newest spans of tools and models, and spans that may stand between two of them. */
const newest = (all: readonly KnownSpan[], spans: CallSpans<KnownSpan>): readonly KnownSpan[] =>
  all
    .filter((span) => span.role === 'tool' || span.role === 'model' || spans.mayLead(span))
    .slice(-limits.otlpTraceSpans);
