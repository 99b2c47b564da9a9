/**
 * What a received request reports that the project has already: calls that another signal, another source or another span
 * has reported, the history of a conversation that a client sends with each request, and calls of a model and prompts that
 * several records report. Each is one event; a further report is an observation, or nothing.
 * Proven by `test/http/otlp/one-call.test.ts` and `test/http/otlp/history.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import { observationOf, reportKey, sequenceOf } from '../../core/coverage/report.ts';
import {
  readReport,
  reportsOfModel,
  type Reading,
  type Report,
  type ReportState,
} from '../../core/intake/otlp/history.ts';
import { joinCalls } from '../../core/intake/otlp/joins.ts';
import type { Signal } from '../../core/intake/otlp/protobuf.ts';
import type { IntakeResult, ReceivedEvent } from '../../core/intake/receive.ts';
import { factNames, type Facts } from './facts.ts';
import { ofNoRecord } from './links.ts';
import type { KnownCalls } from './recorded-calls.ts';

interface Context {
  readonly facts: Facts;
  readonly signal: Signal;
  readonly others: KnownCalls;
  readonly atMs: number;
}

/** Names of the facts that decide about an event. */
export const factsOf = ({ call, report, event }: ReceivedEvent): string[] => [
  ...(call === null ? [] : [factNames.call + call]),
  ...(report === null ? [] : [factNames.report + report.key]),
  ...reportsOfModel(event, report).map(({ report: { key } }) => factNames.report + key),
];

/** Whether others than telemetry may have recorded an event. */
export const isCompared = ({ call, report, event }: ReceivedEvent): boolean =>
  call !== null || report?.kind === 'prompt' || reportsOfModel(event, report).length > 0;

/** Returns the events to record, and remembers what was reported. */
export function eachOnce(received: IntakeResult, context: Context): ReceivedEvent[] {
  const reported = unreported(received.events, context).flatMap((each) => unlessRead(each, context));
  return joined(received, reported, context);
}

const observed = (received: ReceivedEvent): ReceivedEvent => ({
  ...received,
  event: observationOf(received.event),
});

/** A message of the history, a prompt or a call of a model. */
function unlessRead(received: ReceivedEvent, context: Context): ReceivedEvent[] {
  const { report, event } = received;
  const ofOthers = context.others.sightings(event.runId);
  const readings = reportsOfModel(event, report).map(({ name, report: each }) =>
    read(event, { report: each, others: ofOthers.countOfOthers(name, 'otlp') }, context),
  );
  if (report !== null) {
    const others = report.kind === 'prompt' ? ofOthers.promptsOfOthers(report.content, 'otlp') : 0;
    readings.push(read(event, { report, others }, context));
  }
  // a number that is left out would count as missing
  const isNumbered = sequenceOf(event.metadata ?? {}) !== null;
  if (readings.includes('repeat') && !isNumbered) return [];
  return [readings.every((reading) => reading === 'event') ? received : observed(received)];
}

/** Returns how an event reads, and remembers that it was reported. */
function read(
  { clientEventId: id = '' }: EventInput,
  { report, others }: { readonly report: Report; readonly others: number },
  { facts }: Context,
): Reading {
  const name = factNames.report + report.key;
  const { reading, state } = readReport(report, { id, before: facts.json<ReportState>(name), others });
  facts.set(name, JSON.stringify(state));
  return reading;
}

/**
 * Leaves out calls and results that another signal has reported, and remembers the others. What another source than
 * telemetry recorded is an observation.
 */
function unreported(events: readonly ReceivedEvent[], { facts, signal, others }: Context): ReceivedEvent[] {
  return events.flatMap((received) => {
    const { call, event, isNumbered } = received;
    if (call === null) return [received];
    const by = facts.get(factNames.call + call) ?? signal;
    // a number that is left out would count as missing
    if (by !== signal && !isNumbered) return [];
    facts.set(factNames.call + call, by);
    const isKnown = by !== signal || others.has(event.runId, reportKey(event));
    return [isKnown ? observed(received) : received];
  });
}

/**
 * Gives calls whose spans come in several requests one event (`core/intake/otlp/joins.ts`), and remembers their spans.
 * `reported`: the events that are left of the received ones.
 */
function joined(
  { events: received, calls }: IntakeResult,
  reported: readonly ReceivedEvent[],
  { facts, atMs }: Context,
): ReceivedEvent[] {
  const byId = new Map(reported.map(({ event }) => [event.clientEventId ?? '', event]));
  const elsewhere = new Set(
    received.flatMap(({ call, event: { clientEventId = '', eventType } }) =>
      call !== null && byId.get(clientEventId)?.eventType !== eventType ? [clientEventId] : [],
    ),
  );
  const [observations, completions] = [new Set<string>(), new Array<EventInput>()];
  for (const trace of calls) {
    const result = joinCalls(trace, { events: byId, elsewhere, atMs });
    for (const id of result.observations) observations.add(id);
    completions.push(...result.completions);
    if (result.known.length > 0) facts.set(factNames.spans + trace.traceId, JSON.stringify(result.known));
  }
  if (observations.size === 0 && completions.length === 0) return [...reported];
  return [
    ...reported.map((each) =>
      observations.has(each.event.clientEventId ?? '') ? { ...each, event: observationOf(each.event) } : each,
    ),
    ...completions.map((event) => ofNoRecord(event, received[0]?.source ?? '')),
  ];
}
