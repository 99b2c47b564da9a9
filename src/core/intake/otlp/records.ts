/**
 * Spans and log records of OTLP requests, flattened: attributes as plain values, with their resource and scope. Ids may come
 * in any case; what is missing is empty. Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { parseTimestamp } from '../../time.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { readTime, type SourceTime } from '../time.ts';

export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  readonly start: SourceTime | null;
  readonly end: SourceTime | null;
  readonly attributes: Source;
  readonly resource: Source;
  readonly scope: string | undefined;
  readonly failed: boolean;
  readonly statusMessage: string | undefined;
}

export interface LogRecord {
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly at: SourceTime | null;
  readonly name: string;
  readonly body: unknown;
  readonly attributes: Source;
  readonly resource: Source;
  readonly scope: string | undefined;
}

export const signals = ['resourceSpans', 'resourceLogs', 'resourceMetrics'] as const;

export const isRequest = (value: unknown): value is Source =>
  isSource(value) && signals.some((signal) => Array.isArray(value[signal]));

const list = (value: unknown): readonly Source[] => (Array.isArray(value) ? value.filter(isSource) : []);

/** Returns the spans of requests, each once: an exporter may send one twice. */
export function spansOf(requests: readonly Source[]): SpanRecord[] {
  const spans = new Map<string, SpanRecord>();
  for (const { record, resource, scope } of recordsOf(requests, ['resourceSpans', 'scopeSpans', 'spans'])) {
    const status = isSource(record['status']) ? record['status'] : {};
    const span: SpanRecord = {
      traceId: idOf(record['traceId']) ?? '',
      spanId: idOf(record['spanId']) ?? '',
      parentId: idOf(record['parentSpanId']),
      name: textOf(record['name']) ?? 'span',
      start: nanosTime(record['startTimeUnixNano']),
      end: nanosTime(record['endTimeUnixNano']),
      attributes: attributesOf(record['attributes']),
      resource,
      scope,
      failed: status['code'] === 2 || status['code'] === 'STATUS_CODE_ERROR',
      statusMessage: textOf(status['message']),
    };
    spans.set(`${span.traceId} ${span.spanId}`, span);
  }
  return [...spans.values()];
}

export function logsOf(requests: readonly Source[]): LogRecord[] {
  return recordsOf(requests, ['resourceLogs', 'scopeLogs', 'logRecords']).map(
    ({ record, resource, scope }) => {
      const attributes = attributesOf(record['attributes']);
      const body = valueOf(record['body']);
      return {
        traceId: idOf(record['traceId']),
        spanId: idOf(record['spanId']),
        at:
          nanosTime(record['timeUnixNano']) ??
          readTime(attributes['event.timestamp']) ??
          nanosTime(record['observedTimeUnixNano']),
        name: textOf(attributes['event.name']) ?? textOf(record['eventName']) ?? textOf(body) ?? 'log',
        body,
        attributes,
        resource,
        scope,
      };
    },
  );
}

interface Placed {
  readonly record: Source;
  readonly resource: Source;
  readonly scope: string | undefined;
}

function recordsOf(
  requests: readonly Source[],
  [signal, scopes, records]: readonly [string, string, string],
): Placed[] {
  return requests.flatMap((request) =>
    list(request[signal]).flatMap((group) => {
      const resource = isSource(group['resource']) ? attributesOf(group['resource']['attributes']) : {};
      return list(group[scopes]).flatMap((within) => {
        const scope = isSource(within['scope']) ? textOf(within['scope']['name']) : undefined;
        return list(within[records]).map((record) => ({ record, resource, scope }));
      });
    }),
  );
}

/** An id of zeros is none. */
const idOf = (value: unknown): string | undefined => {
  const id = textOf(value)?.toLowerCase();
  return id === undefined || /^0*$/.test(id) ? undefined : id;
};

function attributesOf(attributes: unknown): Source {
  return Object.fromEntries(
    list(attributes)
      .filter((each) => typeof each['key'] === 'string')
      .map((each) => [String(each['key']), valueOf(each['value'])]),
  );
}

/** Returns the plain value of an AnyValue; an empty one is undefined. */
function valueOf(value: unknown): unknown {
  if (!isSource(value)) return value ?? undefined;
  const [[kind, inner] = []] = Object.entries(value);
  switch (kind) {
    case 'arrayValue':
      return isSource(inner) && Array.isArray(inner['values']) ? inner['values'].map(valueOf) : [];
    case 'kvlistValue':
      return isSource(inner) ? attributesOf(inner['values']) : {};
    case 'intValue':
      return Number.isSafeInteger(Number(inner)) ? Number(inner) : inner;
    default:
      return inner;
  }
}

/** Returns the time of a count of nanoseconds since 1970, which OTLP writes as text; null for zero. */
function nanosTime(value: unknown): SourceTime | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  if (!/^\d{16,20}$/.test(String(value))) return null;
  const nanos = BigInt(value);
  const unixMs = Number(nanos / 1_000_000n);
  const timestamp = `${new Date(unixMs - (unixMs % 1000)).toISOString().slice(0, 19)}.${String(nanos % 1_000_000_000n).padStart(9, '0')}Z`;
  return parseTimestamp(timestamp) === null ? null : { timestamp, source: 'source', unixMs };
}
