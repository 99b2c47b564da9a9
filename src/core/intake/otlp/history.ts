/**
 * What telemetry reports again. A client sends the whole conversation with each request, and its instrumentation records
 * each message again; a program reports one call of a model in several records; a prompt was recorded by a hook before.
 * Equal content at an equal place of the conversation is one prompt, and the n-th record of each kind is of the n-th call.
 * Tested by `test/core/intake/otlp/history.test.ts` and `test/http/otlp/history.test.ts`.
 */
import { hash } from 'node:crypto';
import type { EventInput } from '../../../contract/events.ts';
import { contentHash, modelNames } from '../../coverage/sightings.ts';
import { textOf, type Source } from '../run.ts';
import type { LogRecord, SpanRecord } from './records.ts';

/** What an event may repeat. `key`: names the state that its earlier reports left. */
export type Report =
  /** A message of the history, in the request to a model that the span `within` is of. */
  | { readonly kind: 'message'; readonly key: string; readonly within: string }
  /** A prompt that others than telemetry record too. `content`: its hash, or null where the record has no text. */
  | { readonly kind: 'prompt'; readonly key: string; readonly content: string | null }
  /**
   * A call of a model by a program that writes a record of each `channel` for each call. `isNamed`: the record has an id,
   * by which it is compared with others that have one (`reportsOfModel`).
   */
  | { readonly kind: 'call'; readonly key: string; readonly channel: string; readonly isNamed?: boolean };

/** How often each channel reported, and the newest reports, so that one that an exporter repeats does not count. */
export interface ReportState {
  readonly counts: Readonly<Record<string, number>>;
  readonly recent: readonly string[]; // a short hash of its id, and how it read
  /** Of a message: the span of the newest report, and how often it has the message. */
  readonly within?: string;
  readonly seen?: number;
}

/** `observation`: another record is the event. `repeat`: the run has the event, and this record adds nothing. */
const readings = ['event', 'observation', 'repeat'] as const;
export type Reading = (typeof readings)[number];

/** Programs that report each call of a model in each of their records. */
const programs = /^(?:com\.anthropic\.)?(claude|gemini|codex)[_-](?:code|cli)/;
const programOf = (...names: readonly unknown[]): string | undefined =>
  names.map((name) => programs.exec(String(name))?.[1]).find((each) => each !== undefined);

const digest = (...parts: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);

const messageNames = /^gen_ai\.(?:system|user|assistant|tool)\.message$/;

/** Returns what an event of a log record may repeat. `content` is captured already. */
export function reportOfLog(
  { name, attributes, resource, scope, traceId, spanId }: LogRecord,
  { runId, eventType, metadata }: { runId: string; eventType: string; metadata: Source },
): Report | null {
  const text = contentHash(metadata['content'] ?? metadata['body']);
  if (messageNames.test(name)) {
    const within = spanId ?? traceId;
    // equal results of two calls are two, also where a request does not repeat the first one
    const call = [metadata['toolCallId']].filter((id) => textOf(id) !== undefined);
    return within === undefined
      ? null // nothing says where a request begins
      : { kind: 'message', key: digest(runId, name, text, ...call), within: `${traceId ?? ''} ${within}` };
  }
  if (eventType === 'prompt.submitted')
    return { kind: 'prompt', key: digest(runId, 'prompt', text), content: text };
  const program = programOf(name, scope, resource['service.name']);
  if (eventType !== 'model.invoked' || program === undefined) return null;
  const isAnswer =
    attributes['gen_ai.output.messages'] !== undefined ||
    attributes['gen_ai.response.finish_reasons'] !== undefined;
  const channel = isAnswer ? `${name} answer` : name;
  return { kind: 'call', key: digest(runId, program), channel, isNamed: isNamed({ eventType, metadata }) };
}

const isNamed = (event: Parameters<typeof modelNames>[0]): boolean => modelNames(event).length > 0;

type ReportedEvent = Pick<EventInput, 'runId' | 'eventType' | 'metadata'>;

/** Returns what an event of a span may repeat. */
export function reportOfSpan(
  { scope, resource }: SpanRecord,
  event: ReportedEvent & { readonly action: string },
): Report | null {
  const { runId, eventType, action } = event;
  const program = programOf(scope, resource['service.name']);
  if (eventType !== 'model.invoked' || action !== 'inference' || program === undefined) return null;
  return { kind: 'call', key: digest(runId, program), channel: 'span', isNamed: isNamed(event) };
}

/**
 * Returns what a call of a model may repeat by each of its ids, which another kind of record or another source may have.
 * `report`: what it may repeat by its number.
 */
export function reportsOfModel(
  event: ReportedEvent,
  report: Report | null,
): { readonly name: string; readonly report: Report }[] {
  const { runId, eventType, metadata = {} } = event;
  if (eventType !== 'model.invoked') return [];
  const record = [metadata['signal'], metadata['record']].filter((each) => each !== undefined).join(' ');
  const channel = report?.kind === 'call' ? report.channel : record;
  return modelNames(event).map((name) => ({
    name,
    report: { kind: 'call', key: digest(runId, name), channel },
  }));
}

const recentMost = 64;

/**
 * Returns how an event reads after the reports before it, and the state after it. `others`: how often another source than
 * telemetry recorded the prompt, or the call of the model.
 */
export function readReport(
  report: Report,
  { id, before, others }: { id: string; before: ReportState | null; others: number },
): { readonly reading: Reading; readonly state: ReportState } {
  const state = before ?? { counts: {}, recent: [] };
  const name = digest(id).slice(0, 12);
  const again = state.recent.find((each) => each.startsWith(name));
  if (again !== undefined)
    return { reading: readings.find((each) => again.endsWith(each)) ?? 'event', state };
  const countOf = (channel: string): number => state.counts[channel] ?? 0;
  const after = (reading: Reading, channel: string, more: Partial<ReportState> = {}) => ({
    reading,
    state: {
      counts: reading === 'repeat' ? state.counts : { ...state.counts, [channel]: countOf(channel) + 1 },
      recent: [...state.recent, `${name} ${reading}`].slice(-recentMost),
      ...more,
    },
  });
  if (report.kind === 'message') {
    const { within } = report;
    const seen = state.within === within ? (state.seen ?? 0) + 1 : 1;
    return after(seen > countOf('messages') ? 'event' : 'repeat', 'messages', { within, seen });
  }
  if (report.kind === 'prompt')
    return after(countOf('prompts') < others ? 'observation' : 'event', 'prompts');
  const { channel } = report;
  const own = countOf(channel) + countOf(`${channel}${named}`);
  const rest = new Map<string, number>();
  for (const [name, count] of Object.entries(state.counts)) {
    const base = name.replace(named, '');
    if (base !== channel && !(report.isNamed === true && name.endsWith(named)))
      rest.set(base, (rest.get(base) ?? 0) + count);
  }
  const reading = own < Math.max(others, ...rest.values()) ? 'observation' : 'event';
  return after(reading, report.isNamed === true ? `${channel}${named}` : channel);
}

/** The end of a channel's records that have an id: they are compared by their number with those alone that have none. */
const named = ' with id';
