import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { createClient, GovApiError, GovNetworkError, version } from '../../src/client/index.ts';
import type { AuditEvent, ClientNote, ClientOptions } from '../../src/client/index.ts';
import { table } from '../../src/contract/table.ts';
import { projectRoot } from '../paths.ts';
import { json, problem, startServer } from './server.ts';
import type { TestServer } from './server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

const client = (more: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl: server.baseUrl, apiKey: 'gov_live_secret', retries: 0, env: {}, ...more });

const failure = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call;
  } catch (cause) {
    return cause;
  }
  throw new Error('expected the call to fail');
};

describe('the client', () => {
  it('the client reports the version of its package', () => {
    const declared: unknown = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
    expect(declared).toMatchObject({ version });
  });

  it('the client has one method for each operation of the contract', () => {
    for (const id of Object.keys(table)) expect(client()).toHaveProperty(id, expect.any(Function));
  });

  it('the client fills path parameters and query, and sends the key as a bearer token', async () => {
    server.handle = (_seen, response) => json(response, 200, { events: [], nextCursor: null });
    const answer = await client().listEvents({ query: { runId: 'r/1', limit: 5 } });
    expectTypeOf(answer.body.events).toEqualTypeOf<AuditEvent[]>();
    expect(answer).toMatchObject({ status: 200, body: { events: [], nextCursor: null } });
    expect(server.seen[0]).toMatchObject({ method: 'GET', url: '/api/v1/events?runId=r%2F1&limit=5' });
    expect(server.seen[0]?.headers.authorization).toBe('Bearer gov_live_secret');
    expect(server.seen[0]?.headers['user-agent']).toMatch(/^gov\/\d/);
  });

  it('the client waits without end for a time limit of Infinity', async () => {
    server.handle = (_seen, response) =>
      void setTimeout(() => json(response, 200, { events: [], nextCursor: null }), 50);
    const answer = await client({ timeoutMs: Infinity }).listEvents({ query: { runId: 'r' } });
    expect(answer.status).toBe(200);
  });

  it('a client that is logged does not show its key', () => {
    const logged = client();
    expect(logged.options.apiKey).toBe('gov_live_secret');
    expect(JSON.stringify(logged)).not.toContain('gov_live_secret');
    expect(inspect(logged, { depth: null })).not.toContain('gov_live_secret');
  });

  it('the client refuses a path parameter that would change the shape of the path', async () => {
    for (const eventId of ['', '.', '..']) {
      expect(await failure(client().getEvent({ params: { eventId } }))).toBeInstanceOf(TypeError);
    }
    await client()
      .getEvent({ params: { eventId: '../proofs' } })
      .catch(() => {});
    expect(server.seen.map((each) => each.url)).toEqual(['/api/v1/events/..%2Fproofs']);
  });

  it('the client names the project in project calls and omits it in organization calls', async () => {
    server.handle = (_seen, response) => json(response, 200, { count: 1 });
    await client({ apiKey: 'gov_cli_x', project: 'prj_1' }).countEvents();
    await client({ apiKey: 'gov_cli_x', project: 'prj_1' }).listProjects();
    await client().countEvents();
    expect(server.seen.map(({ headers }) => headers['gov-project'])).toEqual(['prj_1', undefined, undefined]);
  });

  it('the client returns null for status 204, which has no body', async () => {
    server.handle = (_seen, response) => response.writeHead(204).end();
    const answer = await client().revokeApiKey({ params: { keyId: 'key_1' } });
    expectTypeOf(answer.body).toEqualTypeOf<null>();
    expect(answer).toMatchObject({ status: 204, body: null });
  });

  it('the client sends the given ETag as If-Match when the operation compares it', async () => {
    server.handle = (_seen, response) => json(response, 200, {});
    const params = { policyId: 'p' };
    await client().publishPolicy({ params, body: {}, ifMatch: '"3"' });
    await client().publishPolicy({ params, body: {} });
    expect(server.seen.map(({ headers }) => headers['if-match'])).toEqual(['"3"', undefined]);
    // @ts-expect-error -- an event has no earlier answer to compare
    void (() => client().createEvent({ body: {} as never, ifMatch: '"3"' }));
  });

  it('the client sends JSON with a random idempotency key and keeps a given key', async () => {
    server.handle = (_seen, response) => json(response, 202, { jobId: 'job_1' });
    await client().createProof({ body: { runId: 'r', async: true } });
    await client().createProof({ body: { runId: 'r', async: true }, idempotencyKey: 'mine' });
    expect(server.seen[0]).toMatchObject({ method: 'POST', body: '{"runId":"r","async":true}' });
    expect(server.seen[0]?.headers['content-type']).toBe('application/json');
    expect(server.seen[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    expect(server.seen[1]?.headers['idempotency-key']).toBe('mine');
  });

  it('the type of a client answer distinguishes the success statuses of an operation', async () => {
    server.handle = (_seen, response) => json(response, 202, { jobId: 'job_1' });
    const answer = await client().createProof({ body: { runId: 'r' } });
    if (answer.status === 202) expectTypeOf(answer.body.jobId).toEqualTypeOf<string>();
    expect(answer.status).toBe(202);
  });

  it('the client returns status 503 of a health probe as a value, because the contract lists it', async () => {
    server.handle = (_seen, response) => json(response, 503, { status: 'unavailable', time: 'x' });
    const answer = await client().getHealth();
    expect(answer).toMatchObject({ status: 503, body: { status: 'unavailable' } });
  });

  it('the client returns texts as strings, binaries as bytes, and keeps the raw bytes of every body', async () => {
    server.handle = (_seen, response) => response.end('origin\n1\n');
    const text = await client().getCheckpoint();
    expect(text.body).toBe('origin\n1\n');
    const tile = await client().getTile({ params: { '*': '0/x001/067' } });
    expect(server.seen[1]?.url).toBe('/api/v1/log/tile/0/x001/067');
    expect(Buffer.from(tile.body as Uint8Array).toString()).toBe('origin\n1\n');
    expect(Buffer.from(text.bytes).toString()).toBe('origin\n1\n');
  });
});

describe('failures', () => {
  it('the client throws a problem with every member that the service sent', async () => {
    const errors = [{ pointer: '/runId', in: 'query', code: 'pattern', detail: 'expected an identifier' }];
    server.handle = (_seen, response) => problem(response, 'VALIDATION_ERROR', 400, { errors });
    const cause = await failure(client().listEvents({ query: { runId: '-' } }));
    expect(cause).toBeInstanceOf(GovApiError);
    expect(cause).toMatchObject({
      code: 'VALIDATION_ERROR',
      status: 400,
      detail: 'A detail',
      requestId: 'req-12345678',
      retryable: false,
      errors,
      message: 'A title: A detail',
    });
  });

  it('the client error names the HTTP status when a server other than gov answers', async () => {
    server.handle = (_seen, response) => {
      response.writeHead(502, { 'content-type': 'text/html', 'x-request-id': 'from-header' });
      response.end('<h1>Bad gateway</h1>');
    };
    const cause = await failure(client().getLogKey());
    expect(cause).toMatchObject({ code: 'HTTP_502', requestId: 'from-header', retryable: true });
  });

  it('the client does not follow redirects, which could send the key to another host', async () => {
    server.handle = (_seen, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    expect(await failure(client().getLogKey())).toMatchObject({ code: 'HTTP_302' });
  });

  it('the client refuses a body that is not JSON or not UTF-8', async () => {
    for (const body of ['<html>', Buffer.from([0x22, 0xff, 0x22]), '']) {
      server.handle = (_seen, response) => response.end(body);
      const cause = await failure(client().countEvents());
      expect(cause).toBeInstanceOf(GovNetworkError);
      expect(cause).toMatchObject({ code: 'INVALID_RESPONSE' });
    }
  });

  it('the client refuses a base URL that is not HTTP', () => {
    expect(() => client({ baseUrl: 'ftp://example.test' })).toThrow(/expected a base URL/);
  });
});

describe('retries', () => {
  const flaky = (failures: number, code: string, status: number, headers = {}) => {
    let left = failures;
    server.handle = (_seen, response) => {
      if (left-- > 0)
        json(response, status, { code, retryable: status !== 429 || code === 'RATE_LIMITED' }, headers);
      else json(response, 200, { count: 7 });
    };
  };

  it('the client retries transient statuses and reports each retry', async () => {
    flaky(2, 'OVERLOADED', 503, { 'retry-after': '0' });
    const notes: ClientNote[] = [];
    const answer = await client({ retries: 3, observe: (note) => notes.push(note) }).countEvents();
    expect(answer.body.count).toBe(7);
    expect(notes.map((note) => note.kind).join(' ')).toBe(
      'request response retry request response retry request response',
    );
    expect(JSON.stringify(notes)).not.toContain('gov_live_secret');
  });

  it('the client stops after the configured number of retries', async () => {
    flaky(9, 'RATE_LIMITED', 429);
    expect(await failure(client({ retries: 1 }).countEvents())).toMatchObject({ code: 'RATE_LIMITED' });
    expect(server.seen.length).toBe(2);
  });

  it('the client does not retry a call that exceeded its quota', async () => {
    flaky(9, 'QUOTA_EXCEEDED', 429);
    expect(await failure(client({ retries: 3 }).countEvents())).toMatchObject({ code: 'QUOTA_EXCEEDED' });
    expect(server.seen.length).toBe(1);
  });

  it('the client sends the same idempotency key in every retry of a POST', async () => {
    let first = true;
    server.handle = (_seen, response) => {
      if (first) response.destroy();
      else json(response, 202, { jobId: 'job_1' });
      first = false;
    };
    await client({ retries: 1 }).createProof({ body: { runId: 'r' } });
    const keys = server.seen.map((each) => each.headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
  });

  it('the client stops at once when the signal aborts between attempts', async () => {
    flaky(9, 'OVERLOADED', 503, { 'retry-after': '30' });
    const stop = new AbortController();
    const call = client({
      retries: 3,
      signal: stop.signal,
      observe: (note) => note.kind === 'retry' && stop.abort(new Error('stopped')),
    }).countEvents();
    expect(await failure(call)).toMatchObject({ message: 'stopped' });
  });
});
