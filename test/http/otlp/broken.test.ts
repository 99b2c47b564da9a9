/** Broken and hostile OTLP: each body gets its status, and nothing of the other records is lost. */
import { gzipSync } from 'node:zlib';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Answer } from '../../support/answer.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import {
  attributes,
  countsOf,
  log,
  logs,
  nanos,
  post,
  span,
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

const protobuf = { 'content-type': 'application/x-protobuf' };

/** One length-delimited field, and a field within fields. */
const field = (number: number, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
const within = (numbers: readonly number[], bytes: Uint8Array): Uint8Array =>
  numbers.toReversed().reduce((inner, number) => field(number, inner), bytes);
const text = (value: string): Uint8Array => Buffer.from(value);
const attribute = (key: string, value: string): Uint8Array =>
  field(9, Buffer.concat([field(1, text(key)), field(2, field(1, text(value)))]));

const binarySpan = (n: number, more: Uint8Array = new Uint8Array()): Uint8Array =>
  Buffer.concat([
    field(1, Buffer.from(traceId(70), 'hex')),
    field(2, Buffer.from(spanId(n), 'hex')),
    field(5, text('execute_tool pay')),
    new BinaryWriter().tag(7, WireType.Bit64).fixed64(nanos()).finish(),
    attribute('gen_ai.operation.name', 'execute_tool'),
    attribute('session.id', 'binary'),
    more,
  ]);
const binaryTraces = (...spans: Uint8Array[]): Buffer =>
  Buffer.from(within([1, 2], Buffer.concat(spans.map((each) => field(2, each)))));

/** A valid span with numbers of its own, which must be kept beside whatever is broken. */
const sent: string[] = [];
const good = (): object => {
  sent.push(spanId(1000 + sent.length));
  return tool(999 + sent.length, { 'session.id': 'good' });
};
const nested = (depth: number): object =>
  depth === 0 ? { stringValue: 'x' } : { arrayValue: { values: [nested(depth - 1)] } };

describe('a body that is no request', () => {
  const zeros = Buffer.alloc(limits.otlpBodyBytes + 1, 0x20);
  const whole = binaryTraces(binarySpan(1));
  const cases: [string, body: unknown, PostOptions, status: number, message: RegExp][] = [
    ['text', 'hello', {}, 400, /expected a JSON request of traces/],
    ['an empty JSON body', '', {}, 400, /expected a JSON request of traces/],
    ['a list', [], {}, 400, /expected an object with resourceSpans, got a list/],
    ['null', 'null', {}, 400, /got object/],
    ['a number', '7', {}, 400, /got number/],
    ['cut JSON', '{"resourceSpans":[{"sco', {}, 400, /expected a JSON request/],
    ['JSON that nests too deep', `${'['.repeat(2e6)}${']'.repeat(2e6)}`, {}, 400, /expected/],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), {}, 400, /JSON/],
    ['a request of another signal', logs(log({ 'session.id': 's' })), {}, 400, /got resourceLogs/],
    ['names in another spelling', { resource_spans: [] }, {}, 400, /got resource_spans/],
    [
      'cut protobuf',
      whole.subarray(0, whole.length - 3),
      { headers: protobuf },
      400,
      /protobuf request of traces/,
    ],
    [
      'JSON that says protobuf',
      JSON.stringify(traces(tool(1))),
      { headers: protobuf },
      400,
      /protobuf request/,
    ],
    ['protobuf that says JSON', whole, {}, 400, /expected a JSON request/],
    ['random bytes', Buffer.alloc(64, 0xff), { headers: protobuf }, 400, /protobuf request/],
    [
      'a length beyond the body',
      Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      { headers: protobuf },
      400,
      /protobuf/,
    ],
    [
      'cut gzip',
      gzipSync(whole).subarray(0, 40),
      { headers: { ...protobuf, 'content-encoding': 'gzip' } },
      400,
      /complete gzip/,
    ],
    ['plain text that says gzip', '{}', { headers: { 'content-encoding': 'gzip' } }, 400, /complete gzip/],
    [
      'a small body of many inflated bytes',
      zeros,
      { gzip: true },
      413,
      /expected at most 16777216 inflated bytes/,
    ],
    ['a body that is too large', zeros, {}, 413, /expected a smaller body/],
    [
      'another content type',
      'x',
      { headers: { 'content-type': 'text/plain' } },
      415,
      /expected Content-Type/,
    ],
    [
      'another charset',
      '{}',
      { headers: { 'content-type': 'application/json; charset=utf-16' } },
      415,
      /expected Content-Type/,
    ],
    [
      'another compression',
      '{}',
      { headers: { 'content-encoding': 'zstd' } },
      415,
      /expected Content-Encoding: gzip/,
    ],
    [
      'gzip twice',
      '{}',
      { headers: { 'content-encoding': 'gzip, gzip' } },
      415,
      /expected Content-Encoding: gzip/,
    ],
    ['a wrong key', '{}', { key: 'gov_live_wrong' }, 401, /./],
  ];
  const codes: Record<number, number> = { 400: 3, 401: 16, 413: 3, 415: 3 };

  it.each(cases)(
    'is refused with a status in its own encoding: %s',
    async (_, body, options, status, message) => {
      const answer = await post(plane, 'traces', body, options);
      expect(answer.status).toBe(status);
      expect(statusOf(answer)).toEqual({ code: codes[status], message: expect.stringMatching(message) });
    },
  );

  it('is an empty request if it has no bytes of protobuf, or no members', async () => {
    for (const [body, headers] of [
      ['', protobuf],
      ['{}', {}],
      [{ resourceSpans: [] }, {}],
    ] as const) {
      const answer = await post(plane, 'traces', body, { headers });
      expect(answer.status).toBe(200);
      expect(countsOf(answer)).toEqual({ kept: 0, repeated: 0, filtered: 0, rejected: 0 });
    }
  });
});

/** The google.rpc.Status of an error, from either encoding. */
function statusOf({ headers, bytes, body }: Answer): unknown {
  if (headers['content-type'] === 'application/json') return body;
  expect(headers['content-type']).toBe('application/x-protobuf');
  const reader = new BinaryReader(bytes);
  const status: Record<string, unknown> = {};
  while (reader.pos < reader.len) {
    const [number] = reader.tag();
    if (number === 1) status['code'] = reader.int32();
    else status['message'] = reader.string();
  }
  return status;
}

const zeroIds = { traceId: '0'.repeat(32), spanId: '0'.repeat(16) };
const far = `${Date.UTC(2999, 0, 1)}000000`;

describe('a broken record', () => {
  // name, record, whether it is kept, filtered or rejected, and why
  const cases: [string, unknown, 'kept' | 'filtered' | 'rejected', RegExp?][] = [
    ['that is a number', 7, 'rejected', /expected an object, got number/],
    ['that is null', null, 'rejected', /expected an object, got null/],
    ['that is a list', [], 'rejected', /expected an object/],
    [
      'without ids',
      tool(1, {}, { traceId: undefined, spanId: undefined }),
      'rejected',
      /trace id of 16 bytes, got none/,
    ],
    ['with ids of zeros', tool(1, {}, zeroIds), 'rejected', /trace id of 16 bytes, got none/],
    ['with a short span id', tool(1, {}, { spanId: 'abcd' }), 'rejected', /span id of 8 bytes, got "abcd"/],
    ['with an id that is a number', tool(1, {}, { traceId: 17 }), 'rejected', /trace id of 16 bytes/],
    [
      'with ids in upper case',
      tool(2, {}, { traceId: traceId(71).toUpperCase(), spanId: 'ABCDEF0123456789' }),
      'kept',
    ],
    [
      'with ids in base64',
      tool(
        3,
        {},
        { traceId: Buffer.alloc(16, 7).toString('base64'), spanId: Buffer.alloc(8, 7).toString('base64') },
      ),
      'kept',
    ],
    ['without times', tool(4, {}, { startTimeUnixNano: undefined, endTimeUnixNano: undefined }), 'kept'],
    ['with times of 0', tool(5, {}, { startTimeUnixNano: '0', endTimeUnixNano: '0' }), 'kept'],
    ['with times that are numbers', tool(6, {}, { startTimeUnixNano: 1767603600000000000 }), 'kept'],
    [
      'with a time that is no number',
      tool(7, {}, { startTimeUnixNano: 'soon', endTimeUnixNano: {} }),
      'kept',
    ],
    [
      'with a time in the next millennium',
      tool(8, {}, { startTimeUnixNano: far, endTimeUnixNano: far }),
      'kept',
    ],
    ['that ends before it starts', tool(9, {}, { endTimeUnixNano: '1767600000000000000' }), 'kept'],
    ['whose attributes are no list', tool(10, {}, { attributes: 'x' }), 'filtered'],
    ['whose attributes have no keys', span(11, {}, { attributes: [{ value: 1 }, 7, null] }), 'filtered'],
    ['of an unknown dialect', span(12, { 'foo.kind': 'TOOL' }), 'filtered'],
    ['with a name that is an object', tool(13, {}, { name: {} }), 'kept'],
    ['with a huge attribute', tool(14, { 'gen_ai.tool.call.arguments': 'x'.repeat(2_000_000) }), 'kept'],
    [
      'with ten thousand attributes',
      tool(15, Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`a${n}`, 'x']))),
      'kept',
    ],
    [
      'with NaN, infinity and a lone surrogate',
      tool(
        16,
        {},
        {
          attributes: [
            ...attributes({ 'gen_ai.operation.name': 'execute_tool', note: '\ud800 \u0000' }),
            { key: 'n', value: { doubleValue: 'NaN' } },
            { key: 'i', value: { doubleValue: '-Infinity' } },
            { key: 'b', value: { bytesValue: 7 } },
            { key: 'e', value: {} },
          ],
        },
      ),
      'kept',
    ],
    [
      'with a value that nests a hundred times',
      tool(
        17,
        {},
        {
          attributes: [
            ...attributes({ 'gen_ai.operation.name': 'execute_tool' }),
            { key: 'd', value: nested(100) },
          ],
        },
      ),
      'kept',
    ],
    ['with a parent that is itself', tool(18, {}, { parentSpanId: spanId(18) }), 'kept'],
    [
      'with a conversation of odd letters',
      tool(19, { 'gen_ai.conversation.id': '../é  😀\n' }, { traceId: traceId(72) }),
      'kept',
    ],
    [
      'with the run of the system',
      tool(20, { 'session.id': 'gov.system' }, { traceId: traceId(73) }),
      'rejected',
      /gov\./,
    ],
    [
      'with the run of the system in capitals',
      tool(24, { 'session.id': 'GOV.SYSTEM' }, { traceId: traceId(74) }),
      'rejected',
      /gov\./,
    ],
    [
      'with a name of the prototype',
      tool(21, { __proto__x: '1', ['__proto__']: 'x', constructor: 'y' }),
      'kept',
    ],
    ['with a tool name of control characters', tool(22, { 'gen_ai.tool.name': '\u0007\u009f' }), 'kept'],
    ['with a status of another type', tool(23, {}, { status: 'bad' }), 'kept'],
  ];

  it.each(cases)('%s is kept, filtered or rejected alone', async (_, record, fate, reason) => {
    const answer = await post(plane, 'traces', traces(good(), record, good()));
    expect(answer.status).toBe(200);
    const counts = { kept: 2, repeated: 0, filtered: 0, rejected: 0 };
    counts[fate] += 1;
    expect(countsOf(answer)).toEqual(counts);
    if (fate !== 'rejected') expect(answer.body).toEqual({});
    else
      expect(answer.body.partialSuccess).toEqual({
        rejectedSpans: '1',
        errorMessage: expect.stringMatching(reason!),
      });
  });

  it('of protobuf is rejected alone, and the answer says so in protobuf', async () => {
    const broken = [
      binarySpan(2, Buffer.from([0x28, 0x01])), // the name as a number
      binarySpan(3, field(5, Buffer.from([0xff, 0xfe]))), // a name that is no UTF-8
      binarySpan(4).subarray(0, 30), // cut in its attributes
      field(1, Buffer.alloc(5, 1)), // a trace id of 5 bytes
    ];
    const answer = await post(plane, 'traces', binaryTraces(binarySpan(1), ...broken, binarySpan(5)), {
      headers: protobuf,
    });
    expect(answer.status).toBe(200);
    expect(countsOf(answer)).toEqual({ kept: 2, repeated: 0, filtered: 0, rejected: 4 });
    const partial = new BinaryReader(answer.bytes);
    expect(partial.tag()).toEqual([1, WireType.LengthDelimited]);
    const inner = new BinaryReader(partial.bytes());
    expect([inner.tag(), Number(inner.int64()), inner.tag()[0], inner.string()]).toEqual([
      [1, WireType.Varint],
      4,
      2,
      expect.stringMatching(/expected wire type 2, got 0/),
    ]);
    expect((await plane.call('GET', '/events/count?runId=binary')).body.count).toBe(2);
  });

  it('of logs without resource, body or time is kept', async () => {
    const records = {
      resourceLogs: [
        { scopeLogs: [{ logRecords: [{ attributes: attributes({ 'session.id': 'bare' }) }] }] },
        7,
        { scopeLogs: 'x' },
      ],
    };
    const answer = await post(plane, 'logs', records);
    expect(countsOf(answer)).toEqual({ kept: 1, repeated: 0, filtered: 0, rejected: 2 });
    expect(answer.body.partialSuccess.rejectedLogRecords).toBe('2');
  });

  it('leaves every other one in the log', async () => {
    const { body } = await plane.call('GET', '/events?runId=good&limit=1000');
    const events = body.events as { metadata: { spanId: string } }[];
    const kept = new Set(events.map(({ metadata }) => metadata.spanId));
    expect(sent.filter((id) => !kept.has(id))).toEqual([]);
    expect(sent).toHaveLength(cases.length * 2);
  });
});
