import { createServer, type IncomingMessage, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../src/client/create.ts';
import { pinning, type PlanePin } from '../../src/client/pinned.ts';
import { keysIn } from '../../src/cli/agents/connection-file.ts';
import { limits } from '../../src/contract/limits.ts';
import { createRequestToken, type BoundRequest } from '../../src/core/request-token.ts';
import { startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
let pin: PlanePin;
let pinned: Client;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { agent: { scopes: ['tools:evaluate', 'events:write'] } } });
  const { body } = await plane.call('GET', '/auth/identity', { key: plane.keys['agent'] ?? '' });
  const planeKeys = keysIn(readFileSync(join(plane.dataDir, 'trust'), 'utf8'));
  pin = { keyId: body.id, projectId: body.projectId, planeKeys };
  pinned = clientAt(plane.baseUrl);
});
afterAll(async () => {
  pinned.close();
  await plane.end();
});

const clientAt = (baseUrl: string, more: Partial<PlanePin> = {}): Client =>
  createClient({
    baseUrl,
    pin: pinning(plane.keys['agent'] ?? '', { ...pin, ...more }),
    env: {},
    retries: 0,
  });
const call = { tool: { name: 'Bash' }, arguments: { command: 'ls' } };

const started = {
  runId: 'pinned',
  eventType: 'run.started',
  actor: 'a',
  action: 'start',
  timestamp: '2026-01-01T00:00:00Z',
};

async function serve(server: Server): Promise<{ baseUrl: string; close: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { baseUrl: `http://127.0.0.1:${port}/api/v1`, close };
}

/** Sends a request with the token of another one. */
const send = async (as: Partial<BoundRequest>, expiresMs = Date.now() + 60_000) => {
  const raw = JSON.stringify(call);
  const request: BoundRequest = {
    method: 'POST',
    target: '/api/v1/mcp/tools/evaluate',
    idempotencyKey: 'one',
    body: Buffer.from(raw),
    ...as,
  };
  const token = createRequestToken({ keyId: pin.keyId, key: plane.keys['agent'] ?? '' }, request, {
    projectId: pin.projectId,
    expiresMs,
  });
  const headers = { 'idempotency-key': 'one', 'content-type': 'application/json' };
  return plane.call('POST', '/mcp/tools/evaluate', { key: token, raw, headers });
};

describe('a pinned plane', () => {
  it('decides and records for requests that carry no key', async () => {
    const { body } = await pinned.evaluateTool({ body: call });
    expect(body.allowed).toBe(true);
    expect((await pinned.createEvent({ body: started })).status).toBe(201);
    expect((await pinned.getIdentity()).body.id).toBe(pin.keyId);
  });

  it('a refusal is proven too', async () => {
    await expect(pinned.listRuns()).rejects.toMatchObject({ status: 403, code: 'INSUFFICIENT_SCOPE' });
  });

  it('refuses a token of another request, and one that has ended or lasts too long', async () => {
    expect((await send({})).status).toBe(200);
    for (const other of [
      { method: 'PUT' },
      { target: '/api/v1/events' },
      { idempotencyKey: 'two' },
      { body: Buffer.from('{}') },
    ])
      expect(await send(other)).toMatchObject({ status: 401, body: { code: 'INVALID_CREDENTIAL' } });
    expect((await send({}, Date.now() - 1)).status).toBe(401);
    expect((await send({}, Date.now() + limits.requestTokenSeconds * 2000 - 5000)).status).toBe(200);
    expect((await send({}, Date.now() + limits.requestTokenSeconds * 2000 + 5000)).status).toBe(401);
  });

  it('refuses request tokens where nothing compares them with the request', async () => {
    const target = '/api/v1/otlp/v1/traces';
    const request = { method: 'POST', target, idempotencyKey: undefined, body: Buffer.from('{}') };
    const token = pinning(plane.keys['agent'] ?? '', pin).tokenFor(request);
    const { status } = await fetch(`${plane.origin}${target}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(status).toBe(401);
  });

  it('another program at its address gets no key, and its answer counts as none', async () => {
    const seen: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      seen.push(request);
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.end('{"allowed":true,"evaluationId":"evl_1"}');
    });
    const { baseUrl, close } = await serve(server);
    const client = clientAt(baseUrl);
    await expect(client.evaluateTool({ body: call })).rejects.toMatchObject({ code: 'UNPROVEN_ANSWER' });
    expect(JSON.stringify(seen.map(({ rawHeaders, url }) => [rawHeaders, url]))).not.toContain(
      plane.keys['agent'],
    );
    client.close();
    await close();
  });

  it('another program that passes requests on cannot give the answer to one as that to another', async () => {
    let kept: { text: string; signature: string } | null = null;
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(Buffer.from(chunk));
      const { authorization = '', 'idempotency-key': id } = request.headers;
      const answer = await fetch(`${plane.origin}${request.url}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'idempotency-key': String(id) },
        body: Buffer.concat(chunks),
      });
      kept ??= { text: await answer.text(), signature: answer.headers.get('gov-answer-signature') ?? '' };
      response.writeHead(200, {
        'content-type': 'application/json',
        'gov-answer-signature': kept.signature,
      });
      response.end(kept.text);
    });
    const { baseUrl, close } = await serve(server);
    const client = clientAt(baseUrl);
    expect((await client.evaluateTool({ body: call })).body.allowed).toBe(true);
    const other = { ...call, arguments: { command: 'rm -rf /' } };
    for (const body of [other, call])
      await expect(client.evaluateTool({ body })).rejects.toMatchObject({ code: 'UNPROVEN_ANSWER' });
    client.close();
    await close();
  });

  it('a plane with other keys proves nothing', async () => {
    const other = await startPlane();
    const planeKeys = keysIn(readFileSync(join(other.dataDir, 'trust'), 'utf8'));
    await other.end();
    const client = clientAt(plane.baseUrl, { planeKeys });
    await expect(client.evaluateTool({ body: call })).rejects.toMatchObject({ code: 'UNPROVEN_ANSWER' });
    client.close();
  });
});
