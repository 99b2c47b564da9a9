import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { TargetFile } from '../../../src/host/forwards/config.ts';
import { HttpTransport } from '../../../src/host/forwards/http.ts';
import { makeAuthority, type Authority } from '../../support/certificates.ts';
import { batch, options, target } from './support/batches.ts';

let folder: string;
let authority: Authority;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-http-'));
  authority = makeAuthority(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Got {
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let server: Server | undefined;
let transport: HttpTransport | undefined;
const got: Got[] = [];
afterEach(async () => {
  got.length = 0;
  transport?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

type Reply = { status?: number; headers?: Record<string, string>; body?: string };

async function start(reply: (body: string) => Reply, isEncrypted = false): Promise<string> {
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      got.push({ url: request.url, headers: request.headers, body });
      const { status = 200, headers = {}, body: text = '' } = reply(body);
      response.writeHead(status, headers).end(text);
    });
  };
  const issued = isEncrypted ? authority.issue('server') : null;
  server =
    issued === null ? createHttp(listener) : createHttps({ cert: issued.cert, key: issued.key }, listener);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `${isEncrypted ? 'https' : 'http'}://localhost:${(server.address() as AddressInfo).port}`;
}

const open = (to: string, more: Partial<TargetFile> = {}): HttpTransport =>
  (transport = new HttpTransport(target('http', { to, ...more }), options));

describe('forwarding over HTTP', () => {
  it('sends newline-delimited JSON with the secret as bearer token over TLS', async () => {
    const url = await start(() => ({}), true);
    const each = open(`${url}/in`, { ca: authority.certFile, secretEnv: 'SECRET' });
    expect(await each.send(batch(3, 6))).toEqual({ ok: true, isKept: true, said: '200' });
    expect(got).toMatchObject([
      {
        url: '/in',
        body: '{"index":3}\n{"index":4}\n{"index":5}\n',
        headers: { authorization: 'Bearer the-secret', 'content-type': 'application/x-ndjson' },
      },
    ]);
  });

  it('refuses a receiver that another authority signed', async () => {
    const url = await start(() => ({}), true);
    expect(await open(url).send(batch(0, 1))).toMatchObject({
      ok: false,
      failed: expect.stringMatching(/certificate/),
    });
    expect(got).toEqual([]);
  });

  it('sends one JSON array, and the secret in the header of the target', async () => {
    const each = open(await start(() => ({ status: 204 })), {
      shape: 'array',
      header: 'X-Api-Key',
      secretEnv: 'SECRET',
    });
    expect(await each.send(batch(0, 2))).toMatchObject({ ok: true });
    expect(got).toMatchObject([
      { body: '[{"index":0},{"index":1}]', headers: { 'x-api-key': 'the-secret' } },
    ]);
  });

  it('sends events of Splunk, with its time in seconds and its scheme', async () => {
    const each = open(await start(() => ({ body: '{"text":"Success","code":0}' })), {
      shape: 'splunk',
      secretEnv: 'SECRET',
    });
    await each.send(batch(0, 2));
    const [first] = got[0]!.body.trim().split('\n');
    expect(got[0]!.headers.authorization).toBe('Splunk the-secret');
    expect(JSON.parse(first!)).toEqual({
      time: 1_772_357_400,
      host: 'plane-1',
      source: 'example.com/log/audit',
      sourcetype: 'gov',
      event: { index: 0 },
    });
  });

  it.each([
    ['ndjson', 200, { ok: true, isKept: true, said: '200' }],
    // which records an index took is in the text; their ids make a repetition harmless
    ['elastic', 200, { ok: false, isRefused: false }],
    ['ndjson', 400, { ok: false, isRefused: false }],
  ] as const)('takes an answer to %s of %i whose text breaks off as %j', async (shape, status, sent) => {
    const url = await start(() => ({ status, headers: { 'content-length': '90' }, body: '{"text":' }));
    server!.on('request', (_request, { socket }) => setImmediate(() => setTimeout(() => socket?.end(), 50)));
    expect(await open(url, { shape }).send(batch(0, 3))).toMatchObject(sent);
    expect(got).toHaveLength(1);
  });

  it('sends bulk requests whose ids are the same for each repetition, and takes a known id as delivered', async () => {
    const reply = { errors: true, items: [{ create: { status: 409 } }, { create: { status: 201 } }] };
    const each = open(await start(() => ({ body: JSON.stringify(reply) })), { shape: 'elastic' });
    expect(await each.send(batch(0, 2))).toEqual({ ok: true, isKept: true, refused: 0 });
    await each.send(batch(0, 2));
    expect(got[0]!.body).toBe(got[1]!.body);
    const ids = got[0]!.body
      .trim()
      .split('\n')
      .filter((_, at) => at % 2 === 0);
    expect(ids.map((line) => JSON.parse(line).create._id)).toEqual([
      expect.stringMatching(/^[0-9a-f]{16}-0$/),
      expect.stringMatching(/^[0-9a-f]{16}-1$/),
    ]);
  });

  it('counts records that a bulk request refuses among others, and repeats a request that was too much', async () => {
    const answers = [[400, 201], [400, 400], [429]];
    const each = open(
      await start(() => ({
        body: JSON.stringify({
          errors: true,
          items: answers.shift()?.map((status) => ({ create: { status } })),
        }),
      })),
      { shape: 'elastic' },
    );
    expect(await each.send(batch(0, 2))).toMatchObject({ ok: true, refused: 1 });
    // a missing alias is a 400 for each record: the lane finds out
    expect(await each.send(batch(0, 2))).toMatchObject({ ok: false, isRefused: true });
    expect(await each.send(batch(0, 1))).toMatchObject({ ok: false, failed: expect.stringContaining('429') });
  });

  it.each([401, 403, 404, 503])(
    'repeats a bulk request in which a record got the status %i',
    async (status) => {
      const reply = { errors: true, items: [{ create: { status, error: { reason: 'no such index' } } }] };
      const each = open(await start(() => ({ body: JSON.stringify(reply) })), { shape: 'elastic' });
      expect(await each.send(batch(0, 1))).toMatchObject({
        ok: false,
        isRefused: false,
        failed: `the receiver answered ${status} for a record: no such index`,
      });
    },
  );

  it.each([
    ['{"errors":true,"items":[null]}', 'the receiver answered 0 for a record: '],
    ['{"errors":true,"items":[{"create":null}]}', 'the receiver answered 0 for a record: '],
    ['{"errors":true,"items":[{"create":{"status":503,"error":"busy"}}]}', 'answered 503 for a record: '],
    ['{"errors":true,"items":"x"}', 'expected the JSON answer of a bulk request, with items'],
    ['{"errors":true}', 'expected the JSON answer of a bulk request, with items'],
    ['null', 'expected the JSON answer of a bulk request, with items'],
    ['<html>', 'expected the JSON answer of a bulk request, with items'],
  ])('repeats a bulk request that a receiver answers with %s', async (body, why) => {
    const each = open(await start(() => ({ body })), { shape: 'elastic' });
    expect(await each.send(batch(0, 1))).toMatchObject({ ok: false, failed: expect.stringContaining(why) });
  });

  it('repeats a bulk request whose answer has no status for a record', async () => {
    const reply = { errors: true, items: [{ create: { status: 201 } }] };
    const each = open(await start(() => ({ body: JSON.stringify(reply) })), { shape: 'elastic' });
    expect(await each.send(batch(0, 2))).toMatchObject({
      ok: false,
      failed: expect.stringContaining('each of 2'),
    });
  });

  it.each([
    [400, { isRefused: true }],
    [413, { isRefused: true }],
    [401, { isRefused: false }],
    [500, { isRefused: false }],
    [302, { isRefused: false }],
  ])('the status %i is a failure, and no redirect is followed', async (status, expected) => {
    const url = await start(() => ({
      status,
      headers: { location: 'http://127.0.0.1:9/' },
      body: 'no\nthanks',
    }));
    const sent = await open(url).send(batch(0, 1));
    expect(sent).toMatchObject({
      ok: false,
      failed: `the receiver answered ${status}: no thanks`,
      ...expected,
    });
  });

  it('obeys Retry-After, up to its limit', async () => {
    const waits = ['7', '999999'];
    const url = await start(() => ({ status: 503, headers: { 'retry-after': waits.shift()! } }));
    const each = open(url);
    expect(await each.send(batch(0, 1))).toMatchObject({ retryAfterMs: 7000 });
    expect(await each.send(batch(0, 1))).toMatchObject({
      retryAfterMs: limits.forwardRetryAfterSeconds * 1000,
    });
  });

  it('obeys a Retry-After that is a date, by the clock of the receiver', async () => {
    const headers = {
      date: 'Fri, 27 Nov 2026 12:00:00 GMT',
      'retry-after': 'Fri, 27 Nov 2026 12:01:00 GMT',
    };
    const url = await start(() => ({ status: 429, headers }));
    expect(await open(url).send(batch(0, 1))).toMatchObject({ ok: false, retryAfterMs: 60_000 });
  });

  it('a bulk answer that is too long to read splits its batch, and that of one record is repeated', async () => {
    const body = `{"errors":true,"items":[${' '.repeat(limits.forwardAnswerBytes)}]}`;
    const each = open(await start(() => ({ body })), { shape: 'elastic' });
    expect(await each.send(batch(0, 2))).toMatchObject({ ok: false, isRefused: true });
    expect(await each.send(batch(0, 1))).toMatchObject({ ok: false, isRefused: false });
  });

  it('says in words that nobody listens, without the secret', async () => {
    const url = await start(() => ({}));
    await new Promise((resolve) => server!.close(resolve));
    const sent = await open(url, { secretEnv: 'SECRET' }).send(batch(0, 1));
    expect(sent).toMatchObject({ ok: false, failed: expect.stringContaining('ECONNREFUSED') });
    expect(JSON.stringify(sent)).not.toContain('the-secret');
  });

  it('refuses to open without its secret', () => {
    const place = target('http', { to: 'https://siem.example', secretEnv: 'MISSING' });
    expect(() => new HttpTransport(place, options)).toThrow('MISSING: expected a secret in this variable');
  });
});
