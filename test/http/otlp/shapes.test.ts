/**
 * Odd but possible OTLP requests: each gets 200 or a refusal of the whole body, never 500. A bad record never discards
 * the others, and a repeated request records nothing twice.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import {
  attributes,
  countsOf,
  log,
  logs,
  nanos,
  post,
  spanId,
  tool,
  traceId,
  traces,
  type PostOptions,
} from './requests.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

type Counts = readonly [kept: number, repeated: number, filtered: number, rejected: number];
interface Shape {
  readonly name: string;
  readonly signal?: 'logs' | 'traces' | 'metrics';
  readonly body: unknown;
  readonly options?: PostOptions;
  readonly counts: Counts;
}

let shapes = 0;
/** Spans of one shape are of one trace and one run. */
const inTrace = (n: number, run = `shape-${n}`) => ({
  run,
  call: (id: number, more: Record<string, unknown> = {}, members: object = {}) =>
    tool(id, { 'session.id': run, ...more }, { traceId: traceId(5000 + n), ...members }),
});
const next = () => inTrace(++shapes);
const group = (resource: unknown, ...spans: unknown[]) => ({ resource, scopeSpans: [{ spans }] });
const json = (value: unknown): string => JSON.stringify(value);

const plain: readonly [string, (call: ReturnType<typeof next>['call']) => unknown, Counts][] = [
  ['a resource without attributes', (call) => ({ resourceSpans: [group({}, call(1))] }), [1, 0, 0, 0]],
  ['a resource that is null', (call) => ({ resourceSpans: [group(null, call(1))] }), [1, 0, 0, 0]],
  ['a resource that is a text', (call) => ({ resourceSpans: [group('x', call(1))] }), [1, 0, 0, 0]],
  ['a span twice in one request', (call) => traces(call(1), call(1), call(2)), [2, 0, 0, 0]],
  [
    'two spans under one id that differ',
    (call) => traces(call(1), call(1, { 'gen_ai.tool.name': 'refund' })),
    [1, 0, 0, 0],
  ],
  [
    'spans that are each other’s parents',
    (call) =>
      traces(
        call(1, {}, { parentSpanId: spanId(2) }),
        call(2, {}, { parentSpanId: spanId(3) }),
        call(3, {}, { parentSpanId: spanId(1) }),
      ),
    [3, 0, 0, 0],
  ],
  [
    'negative times',
    (call) => traces(call(1, {}, { startTimeUnixNano: '-5', endTimeUnixNano: -5 })),
    [1, 0, 0, 0],
  ],
  [
    'a time beyond 64 bits',
    (call) => traces(call(1, {}, { startTimeUnixNano: '9'.repeat(40) })),
    [1, 0, 0, 0],
  ],
  ['a time with a fraction', (call) => traces(call(1, {}, { startTimeUnixNano: 1.5 })), [1, 0, 0, 0]],
  [
    'a kind that no release has',
    (call) => traces(call(1, {}, { kind: 99, status: { code: 42 } })),
    [1, 0, 0, 0],
  ],
  [
    'events and links that are no lists',
    (call) => traces(call(1, {}, { events: 'x', links: 7, flags: {}, traceState: [] })),
    [1, 0, 0, 0],
  ],
  [
    'a scope that is a list',
    (call) => ({ resourceSpans: [{ scopeSpans: [{ scope: [], spans: [call(1)] }] }] }),
    [1, 0, 0, 0],
  ],
  [
    'groups that are no objects beside one that is',
    (call) => ({ resourceSpans: [null, 7, 'x', group({}, call(1))] }),
    [1, 0, 0, 3],
  ],
  [
    'a hundred thousand attributes',
    (call) =>
      traces(call(1, Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`a${n}`, n]))), call(2)),
    [2, 0, 0, 0],
  ],
  [
    'one key many times',
    (call) =>
      traces(
        call(
          1,
          {},
          {
            attributes: [
              ...attributes({ 'gen_ai.operation.name': 'execute_tool', 'session.id': `shape-${shapes}` }),
              ...Array.from({ length: 1000 }, () => ({ key: 'k', value: { stringValue: 'x' } })),
            ],
          },
        ),
      ),
    [1, 0, 0, 0],
  ],
  [
    'an attribute name of a megabyte',
    (call) => traces(call(1, { ['n'.repeat(2 ** 20)]: 'x' })),
    [1, 0, 0, 0],
  ],
  [
    'a name of a megabyte',
    (call) => traces(call(1, { 'gen_ai.tool.name': 'n'.repeat(2 ** 20) })),
    [1, 0, 0, 0],
  ],
  [
    'a run of a megabyte',
    () => traces(tool(1, { 'session.id': 'r'.repeat(2 ** 20) }, { traceId: traceId(5000 + shapes) })),
    [1, 0, 0, 0],
  ],
  [
    'an id in upper case, and the same one in lower case',
    (call) =>
      traces(
        call(0xabc, {}, { spanId: 'B00000000000ABCD' }),
        call(0xabc, {}, { spanId: 'b00000000000abcd' }),
      ),
    [1, 0, 0, 0],
  ],
  ['a span id of 16 bytes', (call) => traces(call(1, {}, { spanId: 'a'.repeat(32) }), call(2)), [1, 0, 0, 1]],
  [
    'a trace id of 8 bytes',
    (call) => traces(call(1, {}, { traceId: 'a'.repeat(16) }), call(2)),
    [1, 0, 0, 1],
  ],
];

function* deepShapes(): Generator<Shape> {
  for (const depth of [100, limits.otlpDepth, limits.otlpDepth + 1, 5000, 50_000]) {
    const deep = `{"key":"deep","value":${'{"arrayValue":{"values":['.repeat(depth)}{"stringValue":"x"}${']}}'.repeat(depth)}}`;
    const inFirst = (request: object, place: string): string =>
      json(request).replace(`"${place}":[`, `"${place}":[${deep},`);
    const of = inTrace(++shapes);
    yield {
      name: `a resource that nests ${depth} times`,
      body: inFirst(
        { resourceSpans: [group({ attributes: attributes({ 'service.name': 'deep' }) }, of.call(1))] },
        'attributes',
      ),
      counts: [1, 0, 0, 0],
    };
    const { call } = next();
    yield {
      name: `an attribute that nests ${depth} times`,
      body: inFirst({ resourceSpans: [group({}, call(1), call(2))] }, 'attributes'),
      counts: depth <= limits.otlpDepth ? [2, 0, 0, 0] : [1, 0, 0, 1],
    };
    yield {
      name: `a log body that nests ${depth} times`,
      signal: 'logs',
      body: json(
        logs(
          log({ 'session.id': 'shape-deep', 'event.name': 'step', n: depth }, { body: 'BODY' }),
          log({ 'session.id': 'shape-deep', 'event.name': 'step', n: -depth }),
        ),
      ).replace('"BODY"', deep.slice('{"key":"deep","value":'.length, -1)),
      counts: depth <= limits.otlpDepth ? [2, 0, 0, 0] : [1, 0, 0, 1],
    };
  }
}

function* encodedShapes(): Generator<Shape> {
  yield {
    name: 'a byte order mark',
    body: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(json(traces(next().call(1))))]),
    counts: [1, 0, 0, 0],
  };
  yield {
    name: 'numbers that JSON cannot carry',
    body: json(traces(next().call(1, { n: 1 }))).replace('"intValue":"1"', '"doubleValue":NaN'),
    counts: [1, 0, 0, 0],
  };
  yield {
    name: 'several gzip members',
    body: Buffer.concat([
      gzipSync(json(traces(next().call(1))).slice(0, 9)),
      gzipSync(json(traces(inTrace(shapes).call(1))).slice(9)),
    ]),
    options: { headers: { 'content-encoding': 'gzip' } },
    counts: [1, 0, 0, 0],
  };
}

function* otherSignals(): Generator<Shape> {
  yield {
    name: 'a log record without a time, beside one with a time in the future',
    signal: 'logs',
    body: logs(
      log({ 'session.id': 'shape-log', 'event.name': 'step' }, { timeUnixNano: undefined }),
      log({ 'session.id': 'shape-log', 'event.name': 'step' }, { timeUnixNano: nanos(Date.UTC(2999, 0)) }),
    ),
    counts: [2, 0, 0, 0],
  };
  yield {
    name: 'numbers of a session that are no numbers',
    signal: 'logs',
    body: logs(
      ...['x', -1, 1e300, '7', {}].map((n) =>
        log({ 'session.id': 'shape-seq', 'event.name': 'step', 'event.sequence': n }),
      ),
    ),
    counts: [5, 0, 0, 0],
  };
  yield {
    name: 'metrics that are no metrics',
    signal: 'metrics',
    body: { resourceMetrics: [{ scopeMetrics: [{ metrics: [7, {}, null] }] }] },
    counts: [0, 0, 1, 2],
  };
}

function* table(): Generator<Shape> {
  for (const [name, body, counts] of plain) yield { name, body: body(next().call), counts };
  yield* deepShapes();
  yield* encodedShapes();
  yield* otherSignals();
}

const send = ({ signal = 'traces', body, options }: Shape) => post(plane, signal, body, options);
const rejectedName = { traces: 'rejectedSpans', logs: 'rejectedLogRecords', metrics: 'rejectedDataPoints' };

describe('an odd request', () => {
  it.each([...table()].map((shape) => [shape.name, shape] as const))(
    'with %s keeps its good records, counts the others, and repeats nothing',
    async (_, shape) => {
      const [kept, repeated, filtered, rejected] = shape.counts;
      const answer = await send(shape);
      expect(answer.status).toBe(200);
      expect(countsOf(answer)).toEqual({ kept, repeated, filtered, rejected });
      const partial = answer.body.partialSuccess;
      expect(partial?.[rejectedName[shape.signal ?? 'traces']]).toBe(
        rejected === 0 ? undefined : String(rejected),
      );
      expect(partial?.errorMessage).toEqual(rejected === 0 ? undefined : expect.stringMatching(/^expected /));
      const again = await send(shape);
      expect(countsOf(again)).toEqual({ kept: 0, repeated: kept, filtered, rejected });
    },
  );

  it('with as many records as a request may have is taken, and with one more is refused as a whole', async () => {
    const { call } = next();
    const spans = Array.from({ length: limits.otlpRecords + 1 }, (_, n) => call(n, {}, { attributes: [] }));
    expect((await post(plane, 'traces', traces(...spans))).status).toBe(413);
    const answer = await post(plane, 'traces', traces(...spans.slice(1)));
    expect([answer.status, countsOf(answer)['filtered']]).toEqual([200, limits.otlpRecords]);
  });
});
