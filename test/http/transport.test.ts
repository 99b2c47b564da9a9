import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { event, send, startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

describe('what is decided before a handler runs', () => {
  it('answers 404 for a path that no operation has, inside and outside the base path', async () => {
    for (const path of ['/nope', `${plane.origin}/nope`, `${plane.origin}/`, '/events/', '/Events']) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code], path).toEqual([404, 'NOT_FOUND']);
    }
  });

  it('answers 405 with Allow where the path has other methods, whatever the method', async () => {
    const cases: [string, string, string][] = [
      ['DELETE', '/events', 'POST, GET'],
      ['PUT', '/events/batch', 'POST, GET'],
      ['HEAD', '/events', 'POST, GET'],
      ['OPTIONS', '/proofs', 'POST, GET'],
      ['TRACE', '/runs', 'GET'],
      ['PATCH', '/graphs/run-1', 'GET, PUT'],
    ];
    for (const [method, path, allow] of cases) {
      const answer = await send(method, `${plane.baseUrl}${path}`, { key: plane.key });
      expect([answer.status, answer.headers['allow']], `${method} ${path}`).toEqual([405, allow]);
    }
  });

  it('ignores headers and parameters that would override the method', async () => {
    const headers = { 'x-http-method-override': 'DELETE', 'x-method-override': 'DELETE' };
    const { status } = await plane.call('GET', '/runs', { headers });
    expect(status).toBe(200);
  });

  it('takes application/json in UTF-8 only', async () => {
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

  it('answers 406 where Accept excludes the media type of the answer', async () => {
    const accepting = async (path: string, accept: string): Promise<number> =>
      (await plane.call('GET', path, { headers: { accept } })).status;
    expect(await accepting('/runs', 'application/json')).toBe(200);
    expect(await accepting('/runs', 'text/html, */*;q=0.1')).toBe(200);
    expect(await accepting('/runs', 'application/*')).toBe(200);
    expect(await accepting('/runs', 'text/html')).toBe(406);
    expect(await accepting('/runs', 'application/json;q=0')).toBe(406);
    expect(await accepting('/log/key', 'text/plain')).toBe(200);
    expect(await accepting('/log/key', 'application/json')).toBe(406);
  });

  it('keeps a request id of the form, replaces any other, and repeats it in the problem', async () => {
    const asked = async (id: string) =>
      (await plane.call('GET', '/nope', { headers: { 'x-request-id': id } })).body.requestId as string;
    expect(await asked('trace-12345678')).toBe('trace-12345678');
    expect(await asked('short')).not.toBe('short');
    expect(await asked('x'.repeat(65))).not.toContain('xxxx');
    expect(await asked('bad id with spaces')).toMatch(/^req-/);
    expect(await asked('a')).not.toBe(await asked('a'));
  });

  it('bounds header count and bytes and the URL with 431', async () => {
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

  it('reads a refused body away, so that the connection and the answer survive', async () => {
    const body = { events: [event({ metadata: { filler: 'a'.repeat(limits.batchBodyBytes) } })] };
    const { status, body: problem } = await plane.call('POST', '/events/batch', { body });
    expect([status, problem.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const declared = await plane.call('POST', '/events', { raw: Buffer.alloc(limits.bodyBytes + 1, 0x20) });
    expect(declared.status).toBe(413);
  });

  it('accepts a body of exactly the limit', async () => {
    const text = JSON.stringify(event());
    const raw = text + ' '.repeat(limits.bodyBytes - text.length);
    expect((await plane.call('POST', '/events', { raw })).status).toBe(201);
  });

  it('refuses a body where the operation takes none, but not an empty object', async () => {
    await plane.call('POST', '/events', { body: event({ runId: 'bodyless' }) });
    expect((await plane.call('POST', '/graphs/bodyless/commit', { body: { x: 1 } })).status).toBe(400);
    expect((await plane.call('POST', '/graphs/bodyless/commit', { body: {} })).status).toBe(200);
    expect((await plane.call('POST', '/graphs/bodyless/commit')).status).toBe(200);
  });

  it('does not believe forwarding headers and sets no cookie', async () => {
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=e' };
    const { headers: answered, text } = await plane.call('GET', '/nope', { headers });
    expect(text).not.toContain('evil.example');
    expect(answered['set-cookie']).toBeUndefined();
    expect(answered['access-control-allow-origin']).toBeUndefined();
  });

  it('marks beta operations, and only those', async () => {
    expect((await plane.call('GET', '/runs')).headers['gov-stability']).toBe('beta');
    expect((await plane.call('GET', '/proofs')).headers['gov-stability']).toBeUndefined();
  });

  it('serves a page for each problem, and the OpenAPI document', async () => {
    const page = await send('GET', `${plane.origin}/problems/not-found`, {});
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect((await send('GET', `${plane.origin}/problems/nope`, {})).status).toBe(404);
    const document = await send('GET', `${plane.origin}/openapi.json`, {});
    expect(document.body.openapi).toBe('3.1.0');
  });
});
