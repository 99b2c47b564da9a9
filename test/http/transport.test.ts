import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streams } from '../../src/contract/events.ts';
import { limits } from '../../src/contract/limits.ts';
import { receivers } from '../../src/contract/otlp.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { isCompressible } from '../../src/http/answer/compress.ts';
import { event, send, startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

describe('what is decided before a handler runs', () => {
  it('a path that no operation has gets 404, inside and outside the base path', async () => {
    for (const path of ['/nope', `${plane.origin}/nope`, `${plane.origin}/`, '/events/', '/Events']) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code], path).toEqual([404, 'NOT_FOUND']);
    }
  });

  it('a path with other methods gets 405 with Allow, whatever the method', async () => {
    const cases: [string, string, string][] = [
      ['DELETE', '/events', 'POST, GET, HEAD'],
      ['PUT', '/events/batch', 'POST, GET, HEAD'],
      ['PATCH', '/events/count', 'GET, HEAD'],
      ['OPTIONS', '/proofs', 'POST, GET, HEAD'],
      ['TRACE', '/runs', 'GET, HEAD'],
      ['PATCH', '/graphs/run-1', 'GET, HEAD, PUT'],
      ['HEAD', '/mcp/tools/evaluate', 'POST'],
      ['POST', `${plane.origin}/openapi.json`, 'GET, HEAD'],
      ['DELETE', `${plane.origin}/problems/not-found`, 'GET, HEAD'],
    ];
    for (const [method, path, allow] of cases) {
      const url = path.startsWith('http') ? path : `${plane.baseUrl}${path}`;
      const answer = await send(method, url, { key: plane.key });
      expect([answer.status, answer.headers['allow']], `${method} ${path}`).toEqual([405, allow]);
    }
  });

  it('the server ignores headers and parameters that would override the method', async () => {
    const headers = { 'x-http-method-override': 'DELETE', 'x-method-override': 'DELETE' };
    const { status } = await plane.call('GET', '/runs', { headers });
    expect(status).toBe(200);
  });

  it('the server accepts application/json in UTF-8 only', async () => {
    const raw = JSON.stringify(event());
    const typed = async (type: string, more: Record<string, string> = {}): Promise<number> =>
      (await plane.call('POST', '/events', { raw, headers: { 'content-type': type, ...more } })).status;
    expect(await typed('application/json')).toBe(201);
    expect(await typed('application/json; charset=utf-8')).toBe(201);
    expect(await typed('Application/JSON;charset=UTF-8')).toBe(201);
    expect(await typed('application/json; charset=utf-16')).toBe(415);
    expect(await typed('text/plain')).toBe(415);
    expect(await typed('application/x-www-form-urlencoded')).toBe(415);
    expect(await typed('application/json, text/plain')).toBe(415);
    expect(await typed('application/json', { 'content-encoding': 'gzip' })).toBe(415);
    expect(await typed('application/json', { 'content-encoding': 'identity' })).toBe(201);
  });

  it('a request whose Accept excludes the media type of the response gets 406', async () => {
    const accepting = async (path: string, accept: string): Promise<number> =>
      (await plane.call('GET', path, { headers: { accept } })).status;
    expect(await accepting('/runs', 'application/json')).toBe(200);
    expect(await accepting('/runs', 'text/html, */*;q=0.1')).toBe(200);
    expect(await accepting('/runs', 'application/*')).toBe(200);
    expect(await accepting('/runs', 'text/html')).toBe(406);
    expect(await accepting('/runs', 'application/json;q=0')).toBe(406);
    // the most specific range decides
    expect(await accepting('/runs', 'application/json;q=0, */*')).toBe(406);
    expect(await accepting('/runs', '*/*;q=0, application/json')).toBe(200);
    for (const silent of ['', ' , ', 'application/problem+json', 'application/problem+json, ']) {
      expect(await accepting('/runs', silent), silent).toBe(200);
      expect(await accepting('/log/key', silent), silent).toBe(200);
    }
    expect(await accepting('/runs', 'application/problem+json, text/html')).toBe(406);
    expect(await accepting('/log/key', 'text/plain')).toBe(200);
    expect(await accepting('/log/key', 'application/json')).toBe(406);
  });

  it('the server keeps a well-formed request id, replaces any other, and repeats it in the problem', async () => {
    const asked = async (id: string) =>
      (await plane.call('GET', '/nope', { headers: { 'x-request-id': id } })).body.requestId as string;
    expect(await asked('trace-12345678')).toBe('trace-12345678');
    expect(await asked('short')).not.toBe('short');
    expect(await asked('x'.repeat(65))).not.toContain('xxxx');
    expect(await asked('bad id with spaces')).toMatch(/^req-/);
    expect(await asked('a')).not.toBe(await asked('a'));
  });

  it('the server limits header count, header bytes and the URL with 431', async () => {
    const headers = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-h${at}`, '1']));
    const own = 3; // authorization, host, connection
    const filled = await plane.call('GET', '/runs', { headers: headers(limits.headerCount - own) });
    expect(filled.status).toBe(200);
    const over = await plane.call('GET', '/runs', { headers: headers(limits.headerCount - own + 1) });
    expect([over.status, over.body.code]).toEqual([431, 'HEADERS_TOO_LARGE']);

    const status = async (base: string, bytes: number): Promise<number> => {
      const path = `${base}/events/count?eventType=`;
      return (await plane.call('GET', plane.origin + path + 'a'.repeat(bytes - path.length))).status;
    };
    expect(await status('/api/v1', limits.urlBytes)).toBe(400); // longer than an eventType
    expect(await status('/api/v1', limits.urlBytes + 1)).toBe(431);
    expect(await status('/sandbox/api/v1', limits.urlBytes)).toBe(401); // of the other environment
    expect(await status('/sandbox/api/v1', limits.urlBytes + 1)).toBe(431);

    const huge = await send('GET', `${plane.baseUrl}/runs`, {
      key: plane.key,
      headers: { 'x-huge': 'a'.repeat(limits.headerBytes) },
    });
    expect([huge.status, huge.body.code]).toEqual([431, 'HEADERS_TOO_LARGE']);
  });

  it('the server drains a refused body, so that the connection and the response survive', async () => {
    const body = { events: [event({ metadata: { filler: 'a'.repeat(limits.batchBodyBytes) } })] };
    const { status, body: problem } = await plane.call('POST', '/events/batch', { body });
    expect([status, problem.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const declared = await plane.call('POST', '/events', { raw: Buffer.alloc(limits.bodyBytes + 1, 0x20) });
    expect(declared.status).toBe(413);
  });

  it('the server accepts a body of exactly the limit', async () => {
    const text = JSON.stringify(event());
    const raw = text + ' '.repeat(limits.bodyBytes - text.length);
    expect((await plane.call('POST', '/events', { raw })).status).toBe(201);
  });

  it('an operation without a body rejects one, but not an empty object', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'bodyless' }) });
    expect((await plane.call('POST', '/graphs/bodyless/commit', { body: { x: 1 } })).status).toBe(400);
    expect((await plane.call('POST', '/graphs/bodyless/commit', { body: {} })).status).toBe(200);
    expect((await plane.call('POST', '/graphs/bodyless/commit')).status).toBe(200);
  });

  it('the server does not trust forwarding headers and sets no cookie', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=e' };
    const { headers: answered, text } = await plane.call('GET', '/nope', { headers });
    expect(text).not.toContain('evil.example');
    expect(answered['set-cookie']).toBeUndefined();
    expect(answered['access-control-allow-origin']).toBeUndefined();
  });

  it('the server marks beta operations, and only those', async () => {
    expect((await plane.call('GET', '/runs')).headers['gov-stability']).toBe('beta');
    expect((await plane.call('GET', '/proofs')).headers['gov-stability']).toBeUndefined();
  });

  it('the server serves a page for each problem, and the OpenAPI document', async () => {
    const page = await send('GET', `${plane.origin}/problems/not-found`, {});
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect((await send('GET', `${plane.origin}/problems/nope`, {})).status).toBe(404);
    const document = await send('GET', `${plane.origin}/openapi.json`, {});
    expect(document.body.openapi).toBe('3.1.0');
  });

  it('the server answers HEAD like GET, with the same headers and no body', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'headed' }) });
    const { eventId } = (await plane.call('GET', '/events?runId=headed')).body.events[0];
    const at = (path: string) => `${plane.baseUrl}${path}`;
    const urls = [
      ...['/health', '/health/live', '/health/ready', '/runs', '/events?runId=headed', '/log/key'].map(at),
      ...[`/events/${eventId}`, '/events/evt_1', '/runs?limit=x', '/graphs/headed'].map(at),
      ...['/openapi.json', '/problems/not-found', '/problems/nope'].map((path) => plane.origin + path),
    ];
    const unlike = new Set(['date', 'x-request-id', 'content-length']);
    for (const url of urls) {
      const [get, head] = [
        await send('GET', url, { key: plane.key }),
        await send('HEAD', url, { key: plane.key }),
      ];
      const same = ({ headers }: typeof get) => Object.entries(headers).filter(([name]) => !unlike.has(name));
      expect([head.status, head.text, same(head)], url).toEqual([get.status, '', same(get)]);
      expect(Number(head.headers['content-length']), url).toBeGreaterThan(0);
    }
    expect((await send('HEAD', at('/runs'), {})).status).toBe(401);
  });

  it('a stream request without a WebSocket upgrade gets 426', async () => {
    for (const headers of [{}, { connection: 'upgrade', upgrade: 'h2c' }]) {
      const answer = await send('GET', `${plane.baseUrl}/events/stream`, { key: plane.key, headers });
      expect([answer.status, answer.body.code]).toEqual([426, 'UPGRADE_REQUIRED']);
      // the client of this test closes its connection, and the server says so, too
      expect([answer.headers['upgrade'], answer.headers['connection']]).toEqual([
        'websocket',
        'Upgrade, close',
      ]);
    }
  });

  it('the server answers a valid trace with its own span, and ignores a malformed trace', async () => {
    const traced = async (traceparent: string) =>
      (await plane.call('GET', '/runs', { headers: { traceparent } })).headers['traceparent'];
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const one = await traced(`00-${trace}-00f067aa0ba902b7-01`);
    const two = await traced(`00-${trace}-00f067aa0ba902b7-01`);
    expect([one, two]).toEqual(Array(2).fill(expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-01$`)));
    expect(new Set([one, two, `00-${trace}-00f067aa0ba902b7-01`]).size).toBe(3);
    const bad = [
      '',
      'x',
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `ff-${trace}-00f067aa0ba902b7-01`,
      `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    ];
    for (const traceparent of bad) expect(await traced(traceparent), traceparent).toBeUndefined();
  });

  it('the OpenAPI document contains the operations that the server answers, and no others', async () => {
    const { paths } = (await send('GET', `${plane.origin}/openapi.json`, {})).body;
    const listed = new Set(
      Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    for (const row of Object.values<Operation>({ ...table, ...streams })) {
      const path = row.path.replace(/\*$/, '{path}');
      const { body } = await send(row.method, plane.baseUrl + path.replace(/\{\w+\}/g, 'x'), {
        key: plane.key,
      });
      const isRouted = body?.code !== 'METHOD_NOT_ALLOWED' && body?.detail !== 'no operation has this path';
      expect([path, listed.delete(`${row.method} ${path}`)]).toEqual([path, isRouted]);
    }
    // the receivers answer an empty request, below the base URL and at the root
    for (const { path } of Object.values(receivers)) {
      for (const [listedAs, url] of [
        [path, plane.baseUrl + path],
        [path.replace('/otlp', ''), plane.origin + path.replace('/otlp', '')],
      ] as const) {
        const { status } = await send('POST', url, { key: plane.key, raw: '{}' });
        expect([listedAs, status, listed.delete(`POST ${listedAs}`)]).toEqual([listedAs, 200, true]);
      }
    }
    // the headers of a download
    expect([...listed]).toEqual([
      'HEAD /exports/{exportId}/download',
      'HEAD /reporting/executions/{executionId}/download',
      'HEAD /reporting/shares/{token}/download',
    ]);
  });

  it('the server compresses a large response for a client that accepts gzip, and for no other client', async () => {
    const metadata = { note: 'x'.repeat(1000) };
    const events = Array.from({ length: 40 }, () => event({ runId: 'large', metadata }));
    await plane.call('POST', '/events/batch', { body: { events } });
    const url = `${plane.baseUrl}/events?runId=large`;
    const get = (at: string, accepted?: string) =>
      send('GET', at, {
        key: plane.key,
        headers: accepted === undefined ? {} : { 'accept-encoding': accepted },
      });
    const whole = await get(url);
    expect([whole.headers['content-encoding'], whole.headers['vary']]).toEqual([
      undefined,
      'Accept-Encoding',
    ]);
    for (const accepted of ['gzip', 'br, GZIP;q=0.5', '*']) {
      const { headers, bytes } = await get(url, accepted);
      expect([headers['content-encoding'], headers['vary']], accepted).toEqual(['gzip', 'Accept-Encoding']);
      expect(Number(headers['content-length'])).toBe(bytes.length);
      expect(bytes.length).toBeLessThan(whole.bytes.length / 4);
      expect(gunzipSync(bytes).toString()).toBe(whole.text);
    }
    for (const refused of ['', 'br', 'gzip;q=0', 'gzip;q=0, *', 'identity']) {
      expect((await get(url, refused)).text, refused).toBe(whole.text);
    }
    const small = await get(`${plane.baseUrl}/events/count?runId=large`, 'gzip');
    expect([small.headers['content-encoding'], small.headers['vary']]).toEqual([undefined, undefined]);
    const document = await get(`${plane.origin}/openapi.json`, 'gzip');
    expect(JSON.parse(gunzipSync(document.bytes).toString()).openapi).toBe('3.1.0');
  });

  it('the server compresses a large response to a write, also the repeat under its Idempotency-Key', async () => {
    const events = Array.from({ length: 400 }, () => event({ runId: 'written' }));
    const write = () =>
      send('POST', `${plane.baseUrl}/events/batch`, {
        key: plane.key,
        headers: { 'accept-encoding': 'gzip', 'idempotency-key': 'large-batch' },
        body: { events },
      });
    const [first, repeat] = [await write(), await write()];
    for (const { status, headers, bytes } of [first, repeat]) {
      expect([status, headers['content-encoding']]).toEqual([201, 'gzip']);
      expect(JSON.parse(gunzipSync(bytes).toString()).results).toHaveLength(400);
    }
    expect(repeat.headers['idempotent-replayed']).toBe('true');
  });

  it.each([
    [200, true],
    [201, true],
    [202, true],
    [204, false],
    [304, false],
    [400, false],
  ])('a large response with status %i has a compressed form: %s', (status, isCompressed) => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    expect(isCompressible({ status, headers, body: 'x'.repeat(limits.gzipBytes) })).toBe(isCompressed);
  });

  const bare = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(plane.port, '127.0.0.1', () => socket.write(text));
      socket.on('data', (data) => (answer += data.toString()));
      socket.on('error', reject);
      socket.on('close', () => resolve(answer));
    });

  it.each([
    ['no HTTP', 'GARBAGE\r\n\r\n'],
    ['an unknown method', 'BREW /api/v1/runs HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no host', 'GET /api/v1/runs HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n'],
    ['two lengths', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a bad header name', 'GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n'],
    ['a bad escape in the path', 'GET /api/v1/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'bytes of no text in the path',
      'GET /api/v1/events/%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    ['a bad absolute URL', 'GET http://[/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ])('a request with %s gets a problem and a request id', async (_what, text) => {
    const [head = '', body = ''] = (await bare(text)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(head).toContain('content-type: application/problem+json');
    const id = /^x-request-id: (.+?)\r?$/m.exec(head)?.[1];
    const { code, requestId, instance } = JSON.parse(body);
    expect([code, requestId, instance]).toEqual(['VALIDATION_ERROR', id, `urn:gov:req:${id}`]);
    expect(id).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
  });

  it('the server ignores an unknown expectation, as HTTP allows', async () => {
    const answer = await bare(
      'GET /api/v1/health HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});
