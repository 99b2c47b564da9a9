/**
 * Files of OTLP requests, as JSON (one or one a line) or protobuf: spans and log records of agents. The run is the
 * conversation that a span, its ancestors or its trace name, else the trace. Records that say nothing about an agent are
 * counted, not recorded. Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { sequenceOf } from '../../coverage/report.ts';
import type { Format } from '../format.ts';
import { inSessions } from '../otlp/codex-threads.ts';
import { textAttribute } from '../otlp/dialects.ts';
import {
  isRequest,
  logsOf,
  metricsOf,
  signals,
  spansOf,
  type LogRecord,
  type SpanRecord,
} from '../otlp/records.ts';
import {
  readReport,
  reportOfLog,
  reportOfSpan,
  reportsOfModel,
  type Reading,
  type Report,
  type ReportState,
} from '../otlp/history.ts';
import { namedTraces, SpanTree, startedRun } from '../otlp/tree.ts';
import { RunBuilder, shortHash, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { describeLog } from '../pieces/otlp-logs.ts';
import { describeSpan } from '../pieces/otlp-spans.ts';
import { recorded, type TimedDraft } from '../pieces/otlp-timed.ts';

const name = 'otlp';

/** Returns the runs that documents name for traces, for files that hold other parts of them. */
export function tracesIn(documents: readonly unknown[]): Map<string, string> {
  const requests = documents.filter(isRequest);
  return tracesNamed({ spans: spansOf(requests), logs: logsOf(requests) });
}

/** Returns the runs that spans name for their traces, else those that log records name. */
export const tracesNamed = ({
  spans,
  logs,
}: {
  readonly spans: readonly SpanRecord[];
  readonly logs: readonly LogRecord[];
}): Map<string, string> => namedTraces([...spans, ...logs]);

const isRequests = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isRequest);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const requests = (Array.isArray(document) ? document : [document]) as readonly Source[]; // detect has checked it
  const spans = spansOf(requests);
  const { logs } = inSessions(logsOf(requests), context.traces ?? new Map());
  const tree = new SpanTree(spans, new Map([...tracesNamed({ spans, logs }), ...(context.traces ?? [])]));
  const byRun = new Map<string, { spans: SpanRecord[]; logs: LogRecord[] }>();
  const of = (id: string) => {
    const found = byRun.get(id) ?? { spans: [], logs: [] };
    byRun.set(id, found);
    return found;
  };
  for (const span of tree.spans) of(tree.runOf(span)).spans.push(span);
  for (const log of logs) of(runOfLog(log, tree)).logs.push(log);
  for (const [id, { spans, logs }] of byRun) {
    const run = write(id, { spans, logs, tree }, context);
    if (run.events.length > 0) yield run;
    else context.skipped?.(run.items);
  }
  const metrics = metricsOf(requests).length;
  if (metrics > 0) context.skipped?.(metrics);
}

export function runOfLog(log: LogRecord, tree: SpanTree): string {
  const own = textAttribute(log.attributes, 'run');
  if (own !== undefined) return own;
  if (log.traceId !== undefined) return tree.runOfTrace(log.traceId);
  return startedRun(log.resource) ?? `log:${shortHash(JSON.stringify(log.resource))}`;
}

function write(
  id: string,
  { spans, logs, tree }: { spans: readonly SpanRecord[]; logs: readonly LogRecord[]; tree: SpanTree },
  context: ImportContext,
): ImportedRun {
  const run = new RunBuilder(name, { id }, context);
  const once = new EachOnce(run.runId);
  const events = [
    ...spans.flatMap((span) => once.ofSpan(span, describeSpan(span, { run, tree }))),
    ...logs.flatMap((log) => once.ofLog(log, describeLog(log, run))),
  ];
  const bySpan = new Set(events.filter(isSpan).map(callOf).filter(Boolean));
  const kept = events.filter((event) => {
    const repeats = !isSpan(event) && bySpan.has(callOf(event));
    if (repeats && event.eventType === 'tool.call') run.changes.add('call_merged');
    return !repeats;
  });
  for (const event of kept.toSorted((a, b) => (a.at?.unixMs ?? 0) - (b.at?.unixMs ?? 0) || a.rank - b.rank))
    run.add(recorded(event));
  return run.finish(spans.length + logs.length);
}

/** Leaves out what a file reports again (`otlp/history.ts`). A receiver compares with earlier requests too. */
class EachOnce {
  readonly #runId: string;
  readonly #states = new Map<string, ReportState>();
  /** Spans of models, by the span or by a log record that names it. */
  readonly #models = new Set<string>();

  constructor(runId: string) {
    this.#runId = runId;
  }

  ofSpan(span: SpanRecord, events: readonly TimedDraft[]): TimedDraft[] {
    return events.flatMap((event) => {
      if (event.eventType === 'model.invoked') this.#models.add(`${span.traceId} ${span.spanId}`);
      return this.#read(event, reportOfSpan(span, { runId: this.#runId, ...event }));
    });
  }

  ofLog(log: LogRecord, events: readonly TimedDraft[]): TimedDraft[] {
    return events.flatMap((event) => {
      const report = reportOfLog(log, { runId: this.#runId, ...event });
      if (report !== null || event.eventType !== 'model.invoked' || log.spanId === undefined)
        return this.#read(event, report);
      const name = `${log.traceId ?? ''} ${log.spanId}`;
      const isKnown = this.#models.has(name);
      this.#models.add(name);
      return isKnown ? [{ ...event, observes: true }] : this.#read(event, null);
    });
  }

  #read(event: TimedDraft, report: Report | null): TimedDraft[] {
    const byId = event.observes === true ? [] : reportsOfModel({ runId: this.#runId, ...event }, report);
    const readings = [report, ...byId.map((each) => each.report)]
      .filter((each) => each !== null)
      .map((each) => this.#readOne(event, each));
    if (readings.every((reading) => reading === 'event')) return [event];
    const isNumbered = sequenceOf(event.metadata) !== null;
    return readings.includes('repeat') && !isNumbered ? [] : [{ ...event, observes: true }];
  }

  #readOne({ key: id }: TimedDraft, report: Report): Reading {
    const before = this.#states.get(report.key) ?? null;
    const { reading, state } = readReport(report, { id, before, others: 0 });
    this.#states.set(report.key, state);
    return reading;
  }
}

const isSpan = ({ metadata }: TimedDraft): boolean => metadata['signal'] === 'span';

/** Names a call or its result, which a span and a log may both report. */
const callOf = ({ eventType, metadata }: TimedDraft): string | undefined =>
  /^tool\.(call|result)$/.test(eventType) && metadata['toolCallId'] !== undefined
    ? `${eventType} ${String(metadata['toolCallId'])}`
    : undefined;

export const otlp: Format = {
  name,
  about: 'OpenTelemetry traces and logs in OTLP files, JSON or protobuf',
  expects: '{resourceSpans} or {resourceLogs}, or their protobuf form',
  maps: [
    ['span of a model: chat, generate_content, LLM', 'model.invoked'],
    ['span of a tool: execute_tool, TOOL, tools/call', 'tool.call, and tool.result if it has one'],
    ['span of an agent, workflow, plan, retrieval, memory, guardrail', 'agent.invoked, workflow.invoked, …'],
    ['log user_prompt', 'prompt.submitted'],
    ['log tool_decision', 'tool.decision, or tool.call_blocked'],
    ['log tool_result', 'tool.call and tool.result, unless a span reports the call'],
    ['log api_request, api_error', 'model.invoked, run.error'],
    ['other logs with a session', 'agent.step'],
    ['other span with attributes of a model, an agent or MCP', 'agent.step'],
    ['tool span below another of the same call', 'x.tool.observed'],
    ['other spans, logs and metrics', 'counted, not recorded'],
  ],
  example: {
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'agent' } }] },
        scopeSpans: [
          {
            spans: [
              {
                traceId: '5b8efff798038103d269b633813fc60c',
                spanId: 'eee19b7ec3c1b174',
                name: 'execute_tool pay',
                startTimeUnixNano: '1767603600000000000',
                endTimeUnixNano: '1767603601000000000',
                attributes: [
                  { key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } },
                  { key: 'gen_ai.tool.name', value: { stringValue: 'pay' } },
                  { key: 'gen_ai.conversation.id', value: { stringValue: 'conv-1' } },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  detect: (document) => {
    const request = isRequests(document) ? document[0] : isRequest(document) ? document : undefined;
    const signal = signals.find((each) => request !== undefined && each in request);
    return signal === undefined ? undefined : `OTLP with ${signal}`;
  },
  isLine: isRequest,
  runs,
};
