import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalize, type Json } from '../../src/core/json/parse.ts';
import { createToken } from '../../src/service/credentials/token-format.ts';
import { event, startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const before = Object.getOwnPropertyNames(Object.prototype).toSorted();
const text = (metadata: string): string =>
  `{"runId":"hostile","eventType":"t","actor":"a","action":"x","timestamp":"2026-01-01T00:00:00Z","metadata":${metadata}}`;

/** Bodies of one event, and the code that they are refused with. */
const corpus: readonly (readonly [name: string, raw: string | Buffer, code: string])[] = [
  ['nothing', '', 'INVALID_JSON'],
  ['a word', 'no json', 'INVALID_JSON'],
  ['a list', '[]', 'VALIDATION_ERROR'],
  ['null', 'null', 'VALIDATION_ERROR'],
  ['depth 100,000', text('['.repeat(100_000) + ']'.repeat(100_000)), 'JSON_TOO_COMPLEX'],
  ['33 levels', text('{"a":'.repeat(32) + '1' + '}'.repeat(32)), 'JSON_TOO_COMPLEX'],
  [
    '30,000 members',
    text(`{${Array.from({ length: 3e4 }, (_, at) => `"k${at}":1`).join(',')}}`),
    'JSON_TOO_COMPLEX',
  ],
  ['a string over 256 KiB', text(`{"a":"${'x'.repeat(256 * 1024 + 1)}"}`), 'JSON_TOO_COMPLEX'],
  ['a repeated name', text('{"a":1,"a":2}'), 'INVALID_JSON'],
  ['a repeated name, escaped', text('{"a":1,"\\u0061":2}'), 'INVALID_JSON'],
  ['a lone surrogate', text('{"a":"\\ud800"}'), 'INVALID_JSON'],
  ['a NUL', text('{"a":"\\u0000"}'), 'INVALID_JSON'],
  ['1e400', text('{"a":1e400}'), 'INVALID_JSON'],
  ['2^53 + 1', text('{"a":9007199254740993}'), 'INVALID_JSON'],
  ['NaN', text('{"a":NaN}'), 'INVALID_JSON'],
  ['a trailing comma', text('{"a":1,}'), 'INVALID_JSON'],
  ['a comment', text('{"a":1/*x*/}'), 'INVALID_JSON'],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from(text('{"a":"').slice(0, -1)), Buffer.from([0xff, 0x22, 0x7d, 0x7d])]),
    'INVALID_JSON',
  ],
  [
    'a byte order mark',
    Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text('{}'))]),
    'INVALID_JSON',
  ],
  ['UTF-16', Buffer.from(text('{}'), 'utf16le'), 'INVALID_JSON'],
  ['two values', `${text('{}')}{}`, 'INVALID_JSON'],
  ['__proto__ at the top', text('{}').replace('{', '{"__proto__":{"polluted":true},'), 'UNKNOWN_FIELD'],
  ['constructor at the top', text('{}').replace('{', '{"constructor":{"prototype":{}},'), 'UNKNOWN_FIELD'],
];

describe('hostile JSON', () => {
  it.each(corpus)('hostile JSON is rejected and not stored: %s', async (_name, raw, code) => {
    const answer = await plane.call('POST', '/events', { raw });
    expect([answer.status, answer.body.code]).toEqual([400, code]);
    const count = await plane.call('GET', '/events/count?runId=hostile');
    expect(count.body.count).toBe(0);
  });

  it('a batch rejects one event of hostile JSON alone, and a body that is not JSON as a whole', async () => {
    const isJson = (raw: string | Buffer): boolean => {
      try {
        JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(raw)));
        return true;
      } catch {
        return false;
      }
    };
    const good = event({ runId: 'beside' });
    let stored = 0;
    for (const [name, raw, code] of corpus.filter(([, raw]) => raw.length > 0)) {
      const parts = [`{"events":[${JSON.stringify(good)},`, raw, ']}'].map((part) => Buffer.from(part));
      const answer = await plane.call('POST', '/events/batch', { raw: Buffer.concat(parts) });
      if (!isJson(raw)) expect([name, answer.status, answer.body.code]).toEqual([name, 400, code]);
      else {
        stored += 1;
        const statuses = answer.body.results.map(({ status }: { status: string }) => status);
        expect([name, ...statuses]).toEqual([name, 'accepted', 'rejected']);
      }
    }
    expect(stored).toBeGreaterThan(10);
    expect((await plane.call('GET', '/events/count?runId=beside')).body.count).toBe(stored);
  });

  it('names like __proto__ in metadata are stored and returned as data, and merged into nothing', async () => {
    const raw = text(
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}},"toString":"y","-0":-0}',
    ).replace('"hostile"', '"names"');
    const created = await plane.call('POST', '/events', { raw });
    expect(created.status).toBe(201);
    const read = await plane.call('GET', `/events/${created.body.eventId}`);
    expect(read.text).toContain('"__proto__":{"polluted":true}');
    expect(read.text).toContain('"prototype":{"x":1}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype).toSorted()).toEqual(before);
  });

  it('hostile JSON gets a problem without stack, path, SQL or version', async () => {
    for (const [, raw] of corpus) {
      const { text: answered } = await plane.call('POST', '/events', { raw });
      expect(answered).not.toMatch(
        /\bat .+:\d+:\d+|node_modules|\/src\/|SELECT |INSERT |sqlite|fastify|"stack"/i,
      );
    }
  });
});

/** Values whose member names and strings are allowed; numbers that JCS keeps. */
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((each) => !Number.isInteger(each) || Number.isSafeInteger(each)),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.array(tie('value'), { maxLength: 4 }) as fc.Arbitrary<Json>,
    fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 8 }), tie('value'), {
      maxKeys: 4,
    }) as fc.Arbitrary<Json>,
  ),
})).value;

const clean = (json: Json): boolean => !JSON.stringify(json).includes('\\u0000');
const hasControls = (text: string): boolean => /[\p{Cc}]/u.test(text);
const metadata = fc
  .dictionary(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), value, { maxKeys: 6 })
  .filter((each) => clean(each as Json));
const party = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
  fc.record(
    { id: fc.string({ maxLength: 20 }), name: fc.string({ unit: 'grapheme', maxLength: 20 }), extra: value },
    { requiredKeys: ['name'] },
  ),
);

describe('what was accepted', () => {
  it('an accepted event is returned as it was sent, from the single and the batch operation', async () => {
    const input = fc
      .record({ actor: party, resource: party, metadata, action: fc.string({ minLength: 1, maxLength: 40 }) })
      .filter((each) => clean(each as unknown as Json) && !hasControls(each.action));
    await fc.assert(
      fc.asyncProperty(input, async (members) => {
        const sent = event({ runId: 'round-trip', ...members });
        const single = await plane.call('POST', '/events', { body: sent });
        const batch = await plane.call('POST', '/events/batch', { body: { events: [sent] } });
        expect(single.status, single.text).toBe(201);
        expect(batch.body.results[0].status, batch.text).toBe('accepted');
        for (const eventId of [single.body.eventId, batch.body.results[0].eventId]) {
          const { body } = await plane.call('GET', `/events/${eventId}`);
          for (const name of ['actor', 'resource', 'action', 'metadata', 'timestamp', 'runId', 'eventType']) {
            expect(canonicalize(body[name])).toBe(
              canonicalize(JSON.parse(JSON.stringify(sent[name])) as Json),
            );
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('no generated event causes a 5xx response', async () => {
    const anything = fc.oneof(
      fc.jsonValue({ noUnicodeString: false }).map((each) => JSON.stringify(each)),
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .record({
          runId: fc.jsonValue(),
          eventType: fc.jsonValue(),
          actor: fc.jsonValue(),
          action: fc.jsonValue(),
          timestamp: fc.jsonValue(),
          metadata: fc.jsonValue(),
        })
        .map((each) => JSON.stringify(each)),
    );
    const paths = ['/events', '/events/batch', '/proofs', '/proofs/verify', '/graphs/run-1/commit'];
    await fc.assert(
      fc.asyncProperty(anything, fc.constantFrom(...paths), async (raw, path) => {
        expect((await plane.call('POST', path, { raw })).status).toBeLessThan(500);
      }),
      { numRuns: 200 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype).toSorted()).toEqual(before);
  });
});

/** Writes bytes to a socket and reads until it closes. */
const raw = (bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(plane.port, '127.0.0.1', () => socket.write(bytes));
    let answered = '';
    socket.on('data', (chunk) => (answered += chunk.toString('latin1')));
    socket.on('close', () => resolve(answered));
    socket.on('error', reject);
  });

describe('request smuggling', () => {
  const head = (lines: readonly string[]): string =>
    [
      'POST /api/v1/events HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${plane.key}`,
      'Content-Type: application/json',
      ...lines,
    ].join('\r\n');
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['both lengths', ['Content-Length: 6', 'Transfer-Encoding: chunked'], '0\r\n\r\nX'],
    ['two lengths', ['Content-Length: 2', 'Content-Length: 3'], '{} '],
    ['a bad chunk size', ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
    ['a folded header', ['X-A: 1', ' folded', 'Content-Length: 2'], '{}'],
    ['a space before the colon', ['Content-Length : 2'], '{}'],
    ['a negative length', ['Content-Length: -2'], '{}'],
    ['an unknown coding', ['Transfer-Encoding: xchunked'], '{}'],
    ['a coding before chunked', ['Transfer-Encoding: gzip, chunked'], '2\r\n{}\r\n0\r\n\r\n'],
    ['chunked twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'],
    ['two hosts', ['Host: y', 'Connection: close', 'Content-Length: 2'], '{}'],
  ];

  it.each(cases)('a request with %s gets 400 and ends the connection', async (_name, lines, body) => {
    const answered = await raw(`${head(lines)}\r\n\r\n${body}`);
    expect(answered).toMatch(/^HTTP\/1\.1 400 /);
    expect(answered).toContain('application/problem+json');
    expect(answered.split('HTTP/1.1 ').length).toBe(2);
  });

  it('an unusual transfer coding gets one response, also when the key must be looked up first', async () => {
    for (let at = 0; at < 20; at += 1) {
      const key = createToken('live', randomBytes);
      const lines = ['Host: x', `Authorization: Bearer ${key}`, 'Transfer-Encoding: xchunked'].join('\r\n');
      const answered = await raw(`POST /api/v1/events HTTP/1.1\r\n${lines}\r\n\r\n{}`);
      expect(answered.split('HTTP/1.1 ').length).toBe(2);
    }
  });

  it('a request without Host or with an unknown form gets 400', async () => {
    expect(await raw('GET /api/v1/runs HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw('NONSENSE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('parameters', () => {
  it('parameters that repeat, guess or add are rejected', async () => {
    const cases: [string, string][] = [
      ['/events?runId=a&runId=b', 'VALIDATION_ERROR'],
      ['/events?runId=a&runid=b', 'UNKNOWN_FIELD'],
      ['/events?runId[]=a', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=1e1', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=0', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=-1', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=0x10', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=+5', 'VALIDATION_ERROR'],
      ['/events?runId=a&limit=', 'VALIDATION_ERROR'],
      ['/events?runId=%ff', 'VALIDATION_ERROR'],
      ['/events?runId=a&order=up', 'VALIDATION_ERROR'],
      ['/events?runId=a&startTime=yesterday', 'VALIDATION_ERROR'],
      ['/events?runId=a&startTime=2026-01-02T00:00:00Z&endTime=2026-01-01T00:00:00Z', 'VALIDATION_ERROR'],
      ['/events?runId=a&__proto__=1', 'UNKNOWN_FIELD'],
      ['/events', 'VALIDATION_ERROR'],
    ];
    for (const [path, code] of cases) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code], path).toEqual([400, code]);
    }
  });

  it('path parameters that do not match their pattern get 404', async () => {
    for (const id of ['evt_x', '..%2f..%2fetc', '%00', 'a'.repeat(150), 'a'.repeat(500), '__proto__']) {
      expect((await plane.call('GET', `/events/${id}`)).status, id).toBe(404);
    }
    expect((await plane.call('GET', '/graphs/-bad')).status).toBe(404);
    expect((await plane.call('GET', '/events/%E0%A4%A')).status).toBe(400);
  });

  it('a path with an extra or empty segment gets 404', async () => {
    expect((await plane.call('GET', '/graphs//lineage')).status).toBe(404);
    expect((await plane.call('GET', '/jobs/x/y')).status).toBe(404);
  });
});

describe('an upgrade that is not to a stream', () => {
  const get = (path: string, lines: readonly string[]): Promise<string> =>
    raw(
      [`GET ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${plane.key}`, ...lines, '', ''].join(
        '\r\n',
      ),
    );

  it('an upgrade to something other than a stream is ignored, and the request is answered', async () => {
    const h2c = ['Connection: Upgrade, HTTP2-Settings, close', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQ'];
    expect(await get('/api/v1/health', h2c)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await get('/api/v1/events/stream', h2c)).toMatch(/^HTTP\/1\.1 426 /);
    const websocket = ['Connection: Upgrade, close', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    expect(await get('/api/v1/runs', websocket)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await get('/nope', websocket)).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('the body of a request with an ignored upgrade is read', async () => {
    const body = JSON.stringify(event({ runId: 'upgraded' }));
    const lines = ['Connection: Upgrade, close', 'Upgrade: h2c', 'Content-Type: application/json'];
    const request = [
      'POST /api/v1/events HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${plane.key}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...lines,
    ];
    expect(await raw(`${request.join('\r\n')}\r\n\r\n${body}`)).toMatch(/^HTTP\/1\.1 201 /);
  });
});
