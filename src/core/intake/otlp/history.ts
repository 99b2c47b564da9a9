/**
 * What telemetry reports again. A client sends the whole conversation with each request, and its instrumentation records
 * each message again; a program reports one call of a model in several records; a prompt was recorded by a hook before.
 * Equal content at an equal place of the conversation is one prompt, and the n-th record of each kind is of the n-th call.
 * Tested by `test/core/intake/otlp/history.test.ts` and `test/http/otlp/history.test.ts`.
 */
import { hash } from 'node:crypto';
import { textOf, type Source } from '../run.ts';
import { digestOf, isDigest } from '../../json/digest.ts';
import type { LogRecord, SpanRecord } from './records.ts';

/** What an event may repeat. `key`: names the state that its earlier reports left. */
export type Report =
  /** A message of the history, in the request to a model that the span `within` is of. */
  | { readonly kind: 'message'; readonly key: string; readonly within: string }
  /** A prompt that others than telemetry record too. `content`: its hash, or null where the record has no text. */
  | { readonly kind: 'prompt'; readonly key: string; readonly content: string | null }
  /** A call of a model by a program that writes a record of each `channel` for each call. */
  | { readonly kind: 'call'; readonly key: string; readonly channel: string };

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
type Reading = (typeof readings)[number];

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
  return { kind: 'call', key: digest(runId, program), channel: isAnswer ? `${name} answer` : name };
}

/** Returns what an event of a span may repeat. */
export function reportOfSpan(
  { scope, resource }: SpanRecord,
  { runId, eventType, action }: { runId: string; eventType: string; action: string },
): Report | null {
  const program = programOf(scope, resource['service.name']);
  if (eventType !== 'model.invoked' || action !== 'inference' || program === undefined) return null;
  return { kind: 'call', key: digest(runId, program), channel: 'span' };
}

/** Returns the hash of a text or of its digest; null where it was not kept. */
export function contentHash(content: unknown): string | null {
  if (isDigest(content)) return content.hash;
  return textOf(content) === undefined && (typeof content !== 'object' || content === null)
    ? null
    : digestOf(content).hash;
}

const recentMost = 64;

/**
 * Returns how an event reads after the reports before it, and the state after it. `others`: how often others than telemetry
 * recorded the prompt.
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
  const channel = report.kind === 'prompt' ? 'prompts' : report.channel;
  const rest = Object.entries(state.counts).filter(([each]) => each !== channel);
  const reported = Math.max(others, ...rest.map(([, each]) => each));
  return after(countOf(channel) < reported ? 'observation' : 'event', channel);
}
