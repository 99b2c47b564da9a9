/**
 * Spans and log records of OTLP requests, flattened: attributes as plain values, with their resource and scope. Ids may come
 * in any case; what is missing is empty. Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { readTime, type SourceTime } from '../time.ts';
import { UnreadableRecord, type Signal } from './protobuf.ts';

export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly name: string;
  /** The side of a call between two programs; undefined: neither, or not said. */
  readonly side: 'client' | 'server' | undefined;
  readonly start: SourceTime | null;
  readonly end: SourceTime | null;
  readonly attributes: Source;
  readonly resource: Source;
  readonly scope: string | undefined;
  /** Undefined: unset, as most instrumentations leave it where no error occurred. */
  readonly status: 'ok' | 'error' | undefined;
  readonly events: readonly SpanEvent[];
  readonly statusMessage: string | undefined;
}

/** Something that happened during a span, such as an exception. */
interface SpanEvent {
  readonly name: string;
  readonly at: string | undefined;
  readonly attributes: Source;
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

/** Called for each record that is refused alone. */
export type Refuse = (reason: string, resource: Source) => void;

const list = (value: unknown): readonly Source[] => (Array.isArray(value) ? value.filter(isSource) : []);

/**
 * Returns the spans of requests, each once: an exporter may send one twice. With `refuse`, a span without ids is refused;
 * without, it is read as far as it goes.
 */
export function spansOf(requests: readonly Source[], refuse?: Refuse): SpanRecord[] {
  const spans = new Map<string, SpanRecord>();
  for (const span of eachOf(requests, 'traces', { read: spanOf, refuse })) {
    const fault = refuse === undefined ? undefined : idFault(span);
    if (fault === undefined) spans.set(`${span.traceId} ${span.spanId}`, span);
    else refuse?.(fault, span.resource);
  }
  return [...spans.values()];
}

const idFault = ({ traceId, spanId }: SpanRecord): string | undefined => {
  if (!/^[0-9a-f]{32}$/.test(traceId)) return `expected a trace id of 16 bytes, got ${shown(traceId)}`;
  if (!/^[0-9a-f]{16}$/.test(spanId)) return `expected a span id of 8 bytes, got ${shown(spanId)}`;
  return undefined;
};
const shown = (text: string): string => (text === '' ? 'none' : JSON.stringify(text.slice(0, 64)));

const statuses: Readonly<Record<string, 'ok' | 'error'>> = {
  1: 'ok',
  STATUS_CODE_OK: 'ok',
  2: 'error',
  STATUS_CODE_ERROR: 'error',
};

const sides: Readonly<Record<string, 'client' | 'server'>> = {
  2: 'server',
  SPAN_KIND_SERVER: 'server',
  3: 'client',
  SPAN_KIND_CLIENT: 'client',
};

function spanOf({ record, resource, scope }: ScopedRecord): SpanRecord {
  const status = isSource(record['status']) ? record['status'] : {};
  return {
    traceId: idOf(record['traceId']) ?? '',
    spanId: idOf(record['spanId']) ?? '',
    parentId: idOf(record['parentSpanId']),
    name: textOf(record['name']) ?? 'span',
    side: sides[String(record['kind'])],
    start: nanosTime(record['startTimeUnixNano']),
    end: nanosTime(record['endTimeUnixNano']),
    attributes: attributesOf(record['attributes']),
    resource,
    scope,
    status: statuses[String(status['code'])],
    events: list(record['events']).map((event) => ({
      name: textOf(event['name']) ?? 'event',
      at: nanosTime(event['timeUnixNano'])?.timestamp,
      attributes: attributesOf(event['attributes']),
    })),
    statusMessage: textOf(status['message']),
  };
}

export const logsOf = (requests: readonly Source[], refuse?: Refuse): LogRecord[] =>
  eachOf(requests, 'logs', { read: logOf, refuse });

/** Returns how many metrics requests have. */
export const metricsOf = (requests: readonly Source[], refuse?: Refuse): { readonly resource: Source }[] =>
  eachOf(requests, 'metrics', { read: ({ resource }) => ({ resource }), refuse });

function logOf({ record, resource, scope }: ScopedRecord): LogRecord {
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
}

interface ScopedRecord {
  readonly record: Source;
  readonly resource: Source;
  readonly scope: string | undefined;
}

/** The members that lead to the records of a signal. */
const places = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
} as const satisfies Readonly<Record<Signal, readonly [string, string, string]>>;

/** Reads each record of a signal. One that cannot be read is refused alone, or left out without `refuse`. */
function eachOf<Read>(
  requests: readonly Source[],
  signal: Signal,
  { read, refuse }: { readonly read: (placed: ScopedRecord) => Read; readonly refuse?: Refuse | undefined },
): Read[] {
  const [groups, scopes, records] = places[signal];
  const found: Read[] = [];
  const members = (value: unknown, resource: Source): readonly Source[] =>
    refuse === undefined ? list(value) : readable(value, { resource, refuse });
  const take = (placed: ScopedRecord): void => {
    try {
      found.push(read(placed));
    } catch (error) {
      if (!(error instanceof TooDeep) || refuse === undefined) throw error;
      refuse(error.message, placed.resource);
    }
  };
  for (const request of requests) {
    for (const group of members(request[groups], {})) {
      const resource = resourceOf(group['resource'], refuse !== undefined);
      for (const within of members(group[scopes], resource)) {
        const scope = isSource(within['scope']) ? textOf(within['scope']['name']) : undefined;
        for (const record of members(within[records], resource)) take({ record, resource, scope });
      }
    }
  }
  return found;
}

/** A resource that nests too deep names no source, but its records are read. */
function resourceOf(resource: unknown, isReceived: boolean): Source {
  if (!isSource(resource)) return {};
  try {
    return attributesOf(resource['attributes']);
  } catch (error) {
    if (!(error instanceof TooDeep) || !isReceived) throw error;
    return {};
  }
}

function readable(
  value: unknown,
  { resource, refuse }: { readonly resource: Source; readonly refuse: Refuse },
): readonly Source[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    refuse(`expected a list of records, got ${typeof value}`, resource);
    return [];
  }
  return value.filter((each): each is Source => {
    if (each instanceof UnreadableRecord) refuse(each.reason, resource);
    else if (isSource(each)) return true;
    else
      refuse(
        `expected an object, got ${each === null ? 'null' : Array.isArray(each) ? 'a list' : typeof each}`,
        resource,
      );
    return false;
  });
}

/** Reads an id; zeros mean that there is no id. Hex in any case; also base64, which JSON writers of protobuf use for bytes. */
const idOf = (value: unknown): string | undefined => {
  const text = textOf(value);
  const isBase64 = text?.endsWith('=') === true && /^(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{11}=)$/.test(text);
  const id = isBase64 ? Buffer.from(text, 'base64').toString('hex') : text?.toLowerCase();
  return id === undefined || /^0*$/.test(id) ? undefined : id;
};

class TooDeep extends GovError {
  constructor() {
    super(
      'VALIDATION_ERROR',
      `expected values that are not nested too deep: at most ${limits.otlpDepth} levels`,
    );
  }
}

function attributesOf(attributes: unknown, level = 0): Source {
  const members: [string, unknown][] = [];
  for (const each of list(attributes)) {
    const { key, value } = each;
    if (typeof key === 'string') members.push([key, valueOf(value, level)]);
  }
  return Object.fromEntries(members); // also a name such as `__proto__`
}

/**
 * Returns the plain value of an AnyValue; an empty one is undefined. `level`: lists and maps around it. The bound is small
 * enough that no caller's stack decides; `protobuf.ts` reads one level more.
 */
function valueOf(value: unknown, level = 0): unknown {
  if (!isSource(value)) return value ?? undefined;
  if (level > limits.otlpDepth) throw new TooDeep();
  const [kind] = Object.keys(value);
  const inner = kind === undefined ? undefined : value[kind];
  switch (kind) {
    case 'arrayValue':
      return isSource(inner) && Array.isArray(inner['values'])
        ? inner['values'].map((each) => valueOf(each, level + 1))
        : [];
    case 'kvlistValue':
      return isSource(inner) ? attributesOf(inner['values'], level + 1) : {};
    case 'intValue':
      return Number.isSafeInteger(Number(inner)) ? Number(inner) : inner;
    default:
      return inner;
  }
}

const lastMs = Date.UTC(9999, 11, 31);
/** Times of one request share their seconds. */
let second = { unixSeconds: 0, text: '1970-01-01T00:00:00' };

/** Returns the time of a count of nanoseconds since 1970, which OTLP writes as text; null for zero. */
function nanosTime(value: unknown): SourceTime | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const digits = typeof value === 'string' ? value : Number.isInteger(value) ? BigInt(value).toString() : '';
  if (!/^\d{16,20}$/.test(digits)) return null;
  const unixMs = Number(digits.slice(0, -6));
  if (unixMs > lastMs) return null;
  const unixSeconds = Number(digits.slice(0, -9));
  if (unixSeconds !== second.unixSeconds) {
    second = { unixSeconds, text: new Date(unixSeconds * 1000).toISOString().slice(0, 19) };
  }
  return { timestamp: `${second.text}.${digits.slice(-9)}Z`, source: 'source', unixMs };
}
