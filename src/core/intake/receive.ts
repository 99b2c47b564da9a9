/**
 * Received OTLP requests as events. Other than a file, a request is a part: the parents of its spans, and the span that
 * names their conversation, may come later. Ids of events therefore depend on the record alone, and a trace stays with the
 * run that was known first. Tested by `test/core/intake/receive.test.ts`.
 */
import { hash } from 'node:crypto';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { ContentCapture } from '../../contract/projects.ts';
import { withCallHash } from '../coverage/call-hash.ts';
import { isOwnId } from '../coverage/join.ts';
import { sequenceOf } from '../coverage/report.ts';
import { describeLog } from './pieces/otlp-logs.ts';
import { describeSpan } from './pieces/otlp-spans.ts';
import { recorded, type TimedDraft } from './pieces/otlp-timed.ts';
import { runOfLog, tracesNamed } from './formats/otlp.ts';
import { capture } from './otlp/capture.ts';
import { inSessions, threadNames } from './otlp/codex-threads.ts';
import { textAttribute } from './otlp/dialects.ts';
import type { Signal } from './otlp/protobuf.ts';
import { logsOf, metricsOf, spansOf, type LogRecord, type SpanRecord } from './otlp/records.ts';
import { observed, sourceIdOf, sourceNameOf, type SourceActivity } from './otlp/sources.ts';
import { reportOfLog, reportOfSpan, type Report } from './otlp/history.ts';
import type { KnownSpan, ModelReport, TraceCalls } from './otlp/joins.ts';
import { SpanTree, startedRun } from './otlp/tree.ts';
import { RunBuilder, runIdFrom, type Source } from './run.ts';

/** The records of one request. */
export interface Batch {
  readonly signal: Signal;
  readonly spans: readonly SpanRecord[];
  readonly logs: readonly LogRecord[];
  readonly metrics: number;
  readonly rejected: RejectionCount;
  /** By `sourceId`. */
  readonly sources: ReadonlyMap<string, SourceActivity>;
  /** Numbers of records by session, with the source of the session. */
  readonly sequences: ReadonlyMap<string, { readonly source: string; readonly numbers: number[] }>;
}

/** Records that were refused alone, and why the first one was. */
interface RejectionCount {
  count: number;
  reason: string | null;
}

const receivedAs = { traces: 'spans', logs: 'logs', metrics: 'metrics' } as const;

/**
 * Reads the records of a request. Each that cannot be read is refused alone. `startedIn`: the run of the credential that
 * sent it, whatever run the records name.
 */
export function readBatch(
  signal: Signal,
  request: Source,
  { atMs, startedIn }: { readonly atMs: number; readonly startedIn?: string | undefined },
): Batch {
  const sources = new Map<string, SourceActivity>();
  const rejected: RejectionCount = { count: 0, reason: null };
  const seen = (resource: Source): SourceActivity => {
    const id = sourceIdOf(resource);
    const known = sources.get(id) ?? observed(sourceNameOf(resource));
    sources.set(id, known);
    return known;
  };
  const refuse = (reason: string, resource: Source): void => {
    rejected.count += 1;
    rejected.reason ??= reason;
    const source = seen(resource);
    source.rejected += 1;
    source.rejectedWhy ??= reason;
    source[receivedAs[signal]] += 1;
  };
  const own = <Record extends SpanRecord | LogRecord>(record: Record): Record =>
    startedIn === undefined ? record : { ...record, resource: { ...record.resource, 'gov.run': startedIn } };
  const spans = (signal === 'traces' ? spansOf([request], refuse) : []).map((span) =>
    own(timely(span, atMs)),
  );
  const logs = (signal === 'logs' ? logsOf([request], refuse) : []).map((log) => own(timely(log, atMs)));
  const metrics = signal === 'metrics' ? metricsOf([request], refuse) : [];
  for (const { resource } of metrics) seen(resource).metrics += 1;
  const sequences = new Map<string, { source: string; numbers: number[] }>();
  for (const record of [...spans, ...logs]) {
    const source = seen(record.resource);
    source[receivedAs[signal]] += 1;
    const time = ('end' in record ? record.end : record.at)?.unixMs;
    if (time !== undefined) source.newestMs = Math.max(source.newestMs ?? time, time);
  }
  for (const { attributes, resource } of logs) {
    const session = textAttribute(attributes, 'run');
    const number = attributes['event.sequence'];
    if (session === undefined || number === undefined) continue;
    const source = sourceIdOf(resource);
    const id = digest([source, session]);
    const known = sequences.get(id) ?? { source, numbers: [] };
    known.numbers.push(Number(number));
    sequences.set(id, known);
  }
  return { signal, spans, logs, metrics: metrics.length, rejected, sources, sequences };
}

/** No agent worked before this time. */
const earliestMs = Date.UTC(2000, 0, 1);

/** A time that no clock shows counts as missing; the attribute says which it was. */
function timely<Rec extends SpanRecord | LogRecord>(record: Rec, atMs: number): Rec {
  const time = 'end' in record ? record.start : record.at;
  if (time === null) return record;
  const isUsable = time.unixMs >= earliestMs && time.unixMs <= atMs + limits.futureSkewSeconds * 1000;
  if (isUsable) return record;
  const attributes = { ...record.attributes, 'gov.unusable_time': time.timestamp };
  return { ...record, attributes, ...('end' in record ? { start: null, end: null } : { at: null }) };
}

/** An event of a record, before the service judges it. */
export interface ReceivedEvent {
  readonly event: EventInput;
  /** Number of its record in the request. */
  readonly record: number;
  /** The source of its record. */
  readonly source: string;
  /** The call or result that it reports, which another signal may report too. */
  readonly call: string | null;
  /** What earlier requests may have reported already. */
  readonly report: Report | null;
  /** Whether the event holds the number of its record in its session. */
  readonly isNumbered: boolean;
  /** The run in which `gov run` started the program, or null. */
  readonly startedIn: string | null;
}

export interface IntakeResult {
  readonly events: readonly ReceivedEvent[];
  /** Runs of traces to remember, by trace id. */
  readonly traces: ReadonlyMap<string, string>;
  /** Sessions of conversations to remember, by `threadName`. */
  readonly threads: ReadonlyMap<string, string>;
  /** The spans of the traces with a record that was kept. */
  readonly calls: readonly TraceCalls[];
  /** Records that say nothing about an agent, by source. */
  readonly filtered: ReadonlyMap<string, number>;
}

export interface ReceiveOptions {
  readonly atMs: number;
  readonly capture: ContentCapture;
  /** Runs by trace id, and sessions by `threadName`, as earlier requests made them known. */
  readonly known: ReadonlyMap<string, string>;
  /** Spans of tools in earlier requests, by trace id. */
  readonly earlier?: ReadonlyMap<string, readonly KnownSpan[]>;
}

/** Names of the sessions that a batch needs to know. */
export const threadNamesOf = ({ logs }: Pick<Batch, 'logs'>): string[] => threadNames(logs);

/** Names of traces that a batch needs to know. */
export const traceIdsOf = ({ spans, logs }: Pick<Batch, 'spans' | 'logs'>): string[] => [
  ...new Set([...spans, ...logs].flatMap(({ traceId }) => (isTraceId(traceId) ? [traceId] : []))),
];

const isTraceId = (id: string | undefined): id is string => id !== undefined && /^[0-9a-f]{32}$/.test(id);

/** The run of a trace that nothing has named yet. */
export const unnamedRun = (traceId: string): string => `trace:${traceId}`;

interface PendingTraceRun {
  readonly timed: TimedDraft;
  readonly record: number;
  readonly source: string;
  readonly startedIn: string | null;
  readonly reportOf: (event: EventInput) => Report | null;
}

/** Returns the events of a batch, in the order of their times, in their runs. */
export function receive(batch: Batch, options: ReceiveOptions): IntakeResult {
  const { spans } = batch;
  const { logs: ownLogs, threads } = inSessions(batch.logs, options.known);
  const logs = options.capture === 'full' ? ownLogs : ownLogs.map(withPlainName);
  const named = new Map([...options.known].filter(([trace, run]) => run !== unnamedRun(trace)));
  const fresh = tracesNamed({ spans, logs });
  const earlier = options.earlier ?? new Map<string, readonly KnownSpan[]>();
  const tree = new SpanTree(spans, new Map([...fresh, ...named]), earlier);
  const builders = new Map<string, { run: RunBuilder; described: PendingTraceRun[] }>();
  const filtered = new Map<string, number>();
  const traces = new Map<string, string>();
  const write = (id: string, at: Omit<PendingTraceRun, 'timed'>, of: (run: RunBuilder) => TimedDraft[]) => {
    const found = builders.get(id) ?? { run: builderOf(id, options), described: [] };
    builders.set(id, found);
    const events = of(found.run);
    if (events.length === 0) filtered.set(at.source, (filtered.get(at.source) ?? 0) + 1);
    for (const timed of events) found.described.push({ timed, ...at });
    return events.length > 0;
  };
  const remember = (trace: string): void => {
    if (!traces.has(trace)) traces.set(trace, runIdFrom(tree.runOfTrace(trace)));
  };
  spans.forEach((span, record) => {
    const source = sourceIdOf(span.resource);
    const reportOf = (event: EventInput) => reportOfSpan(span, event);
    const isKept = write(tree.runOf(span), { record, source, startedIn: startedIn(span), reportOf }, (run) =>
      describeSpan(span, { run, tree, awaits: true }),
    );
    if (isKept) remember(span.traceId);
  });
  logs.forEach((log, record) => {
    const source = sourceIdOf(log.resource);
    const reportOf = ({ metadata = {}, ...event }: EventInput) => reportOfLog(log, { ...event, metadata });
    const isKept = write(
      runOfLog(log, tree),
      { record: spans.length + record, source, startedIn: startedIn(log), reportOf },
      (run) => describeLog(log, run, logKey(log)),
    );
    if (isKept && isTraceId(log.traceId)) remember(log.traceId);
  });
  for (const [trace, run] of fresh)
    if (isTraceId(trace) && !named.has(trace)) traces.set(trace, runIdFrom(run));
  const events = [...builders.values()].flatMap((each) => eventsOf(each, options));
  const isOfAgent = (traceId: string): boolean => traces.has(traceId) || options.known.has(traceId);
  const models = modelReports(events, { spans, logs });
  // a trace without a record of an agent may have any number of spans, and none of a call
  const calls = traceIdsOf({ spans, logs: logs.filter(({ traceId = '' }) => models.has(traceId)) })
    .filter(isOfAgent)
    .map((traceId): TraceCalls => ({
      traceId,
      spans: tree.calls(traceId),
      earlier: earlier.get(traceId) ?? [],
      models: models.get(traceId) ?? [],
      copies: tree.modelCopies(traceId),
    }));
  return { events, traces, threads, filtered, calls };
}

/** Events of calls of a model by trace: of spans, and of log records that name the span of the call. */
function modelReports(
  events: readonly ReceivedEvent[],
  { spans, logs }: Pick<Batch, 'spans' | 'logs'>,
): ReadonlyMap<string, ModelReport[]> {
  const models = events.flatMap(({ event, record, report }) => {
    if (event.eventType !== 'model.invoked' || event.action !== 'inference') return [];
    const { traceId, spanId, parentId } = spans[record] ?? {
      ...logs[record - spans.length],
      parentId: undefined,
    };
    const isNamed = isTraceId(traceId) && spanId !== undefined && (record < spans.length || report === null);
    const runId = record < spans.length ? event.runId : undefined;
    return isNamed ? [{ traceId, spanId, parentId, eventId: event.clientEventId ?? '', runId }] : [];
  });
  return Map.groupBy(models, ({ traceId }) => traceId);
}

const startedIn = ({ resource }: SpanRecord | LogRecord): string | null => {
  const run = startedRun(resource);
  return run === undefined ? null : runIdFrom(run);
};

const builderOf = (id: string, { atMs }: ReceiveOptions): RunBuilder =>
  new RunBuilder('otlp', { id }, { importedAt: atMs, sourceName: '', idBase: 'otlp' });

/** A record without a name may have its text in place of one. */
const withPlainName = (log: LogRecord): LogRecord =>
  /^[\w.:/-]{1,128}$/.test(log.name) ? log : { ...log, name: 'log' };

/** A record is known by its content: a session that is resumed may begin to count again. */
const logKey = ({ name, at, attributes, body, traceId, spanId, resource, scope }: LogRecord): string => {
  const sorted = (values: Source) => Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `log.${digest([name, at?.timestamp, sorted(attributes), body, traceId, spanId, sorted(resource), scope])}`;
};

const digest = (value: unknown): string => hash('sha256', JSON.stringify(value), 'hex').slice(0, 32);

function eventsOf(
  { run, described }: { readonly run: RunBuilder; readonly described: readonly PendingTraceRun[] },
  { capture: policy }: ReceiveOptions,
): ReceivedEvent[] {
  const sorted = described.toSorted(inOrder);
  for (const { timed } of sorted) {
    // capture leaves no arguments to compare
    const { metadata } = policy === 'none' ? timed : withCallHash(timed);
    run.add(recorded({ ...timed, metadata: capture(metadata, policy) }));
  }
  const { events } = run.finish(described.length);
  // one event for each that was added, in the same order
  return sorted.flatMap(({ timed, reportOf, ...described }, at) => {
    const event = events[at];
    if (event === undefined) return [];
    const [call, report] = [callOf(run, timed), reportOf(event)];
    return [{ event, ...described, call, report, isNumbered: isNumbered(timed) }];
  });
}

const inOrder = ({ timed: a }: PendingTraceRun, { timed: b }: PendingTraceRun): number =>
  (a.at?.unixMs ?? 0) - (b.at?.unixMs ?? 0) || a.rank - b.rank;

/** A record of a call and its result gives its number to both; the result keeps it. */
const isNumbered = ({ eventType, metadata }: TimedDraft): boolean =>
  eventType === 'tool.result' && sequenceOf(metadata) !== null;

/** Names a call or its result in a run; null for a call without an id of its own. */
function callOf({ runId }: RunBuilder, { eventType, metadata, observes }: TimedDraft): string | null {
  const id = metadata['toolCallId'];
  if (observes === true || !/^tool\.(call|result)$/.test(eventType) || !isOwnId(id)) return null;
  return digest([runId, eventType, id]);
}
