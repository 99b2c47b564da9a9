/** OTLP requests for tests. */
import { gzipSync } from 'node:zlib';
import { send, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

export const attributes = (values: Record<string, unknown>): object[] =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));

/** Nanoseconds since 1970 of a moment that is not in the future. */
export const nanos = (ms = Date.UTC(2026, 0, 5, 9)): string => `${ms}000000`;

const hex = (digits: number, n: number): string => n.toString(16).padStart(digits, '0');
export const traceId = (n: number): string => `a${hex(31, n)}`;
export const spanId = (n: number): string => `b${hex(15, n)}`;

/** A span of trace 1, unless `members` say otherwise. */
export const span = (n: number, values: Record<string, unknown>, members: object = {}): object => ({
  traceId: traceId(1),
  spanId: spanId(n),
  name: `span ${n}`,
  startTimeUnixNano: nanos(),
  endTimeUnixNano: nanos(),
  attributes: attributes(values),
  ...members,
});

export const tool = (n: number, more: Record<string, unknown> = {}, members: object = {}): object =>
  span(n, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'pay', ...more }, members);

export const log = (values: Record<string, unknown>, members: object = {}): object => ({
  timeUnixNano: nanos(),
  attributes: attributes(values),
  ...members,
});

const resource = { attributes: attributes({ 'service.name': 'agent' }) };
export const traces = (...spans: unknown[]): object => ({
  resourceSpans: [{ resource, scopeSpans: [{ spans }] }],
});
export const logs = (...logRecords: unknown[]): object => ({
  resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }],
});

export interface PostOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly gzip?: boolean;
  readonly path?: string;
}

/** Sends a request to the root; a Buffer or text as it is. */
export function post(
  plane: Pick<TestPlane, 'origin' | 'key'>,
  signal: string,
  body: unknown,
  { key = plane.key, headers = {}, gzip = false, path = `/v1/${signal}` }: PostOptions = {},
): Promise<Answer> {
  const raw =
    Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
  return send('POST', `${plane.origin}${path}`, {
    key,
    raw: gzip ? gzipSync(raw) : raw,
    headers: { ...(gzip ? { 'content-encoding': 'gzip' } : {}), ...headers },
  });
}

/** What became of the records of a request. */
export const countsOf = ({ headers }: Answer): Record<string, number> =>
  Object.fromEntries(
    [...String(headers['gov-records']).matchAll(/(\w+)=(\d+)/g)].map(([, name = '', count]) => [
      name,
      Number(count),
    ]),
  );
