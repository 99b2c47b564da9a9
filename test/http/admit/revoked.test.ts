import { Agent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { limits } from '../../../src/contract/limits.ts';
import { event } from '../../support/serving.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';

let service: TestService;
let ada: Tenant;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
});
afterAll(() => service.end());

/** Calls over one socket that stays open. */
function connected(): { get(path: string, key: string): Promise<number>; sockets(): number; end(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  return {
    get: (path, key) =>
      new Promise((resolve, reject) => {
        const request = httpRequest(
          `${service.baseUrl}${path}`,
          { agent, headers: { authorization: `Bearer ${key}` } },
          (response) => {
            ports.add(request.socket?.localPort);
            response.resume();
            response.on('end', () => resolve(response.statusCode ?? 0));
          },
        );
        request.on('error', reject);
        request.end();
      }),
    sockets: () => ports.size,
    end: () => agent.destroy(),
  };
}

/** A token of the command line. */
async function signIn(): Promise<string> {
  const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
  return (await service.call('POST', '/auth/tokens', { body: { idToken } })).body.token;
}

describe('a key that was revoked', () => {
  it('a revoked key is rejected at once on a socket that accepted it before', async () => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'to be revoked' } });
    const socket = connected();
    expect(await socket.get('/runs', body.key)).toBe(200);
    const revoked = await ada.call('DELETE', `/api-keys/${body.record.keyId}`);
    expect([revoked.status, revoked.text]).toEqual([204, '']);
    expect(revoked.headers['content-length']).toBeUndefined();
    expect(revoked.headers['content-type']).toBeUndefined();
    expect(revoked.headers['cache-control']).toBe('no-store');
    expect(await socket.get('/runs', body.key)).toBe(401);
    expect(socket.sockets()).toBe(1);
    socket.end();
  });

  it('a rotated key is accepted for as long as its rotation says', async () => {
    const { body: first } = await ada.call('POST', '/api-keys', { body: { name: 'to be rotated' } });
    const socket = connected();
    expect(await socket.get('/runs', first.key)).toBe(200);
    const { body: second } = await ada.call('POST', `/api-keys/${first.record.keyId}/rotate`);
    expect([await socket.get('/runs', first.key), await socket.get('/runs', second.key)]).toEqual([401, 200]);
    const { body: third } = await ada.call(
      'POST',
      `/api-keys/${second.record.keyId}/rotate?overlapSeconds=1`,
    );
    expect([await socket.get('/runs', second.key), await socket.get('/runs', third.key)]).toEqual([200, 200]);
    // before the server would ask for the key again anyway
    const timeout = (limits.credentialCacheSeconds - 1) * 1000;
    await expect.poll(() => socket.get('/runs', second.key), { timeout }).toBe(401);
    expect(socket.sockets()).toBe(1);
    socket.end();
  });

  it('a removed scope of a key ends at once', async () => {
    const { body } = await ada.call('POST', '/api-keys', {
      body: { name: 'narrowed', scopes: ['events:read', 'jobs:read'] },
    });
    expect((await ada.call('GET', '/jobs', { key: body.key })).status).toBe(200);
    await ada.call('PUT', `/api-keys/${body.record.keyId}`, { body: { scopes: ['events:read'] } });
    expect((await ada.call('GET', '/jobs', { key: body.key })).status).toBe(403);
  });

  it('a key ends with its project, which people then see as 404', async () => {
    const { body: project } = await ada.call('POST', '/projects', {
      body: { name: 'short-lived', environment: 'production' },
    });
    const headers = { 'gov-project': project.id };
    const cliToken = await signIn();
    const { body } = await service.call('POST', '/api-keys', {
      key: cliToken,
      headers,
      body: { name: 'its key' },
    });
    expect((await ada.call('GET', '/runs', { key: body.key })).status).toBe(200);
    const deleted = await ada.call('DELETE', `/projects/${project.id}`);
    expect(deleted.body).toEqual({ deleted: true });
    const refused = await ada.call('GET', '/runs', { key: body.key });
    expect([refused.status, refused.body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
    const gone = await service.call('GET', '/runs', { key: cliToken, headers });
    const nobodys = { 'gov-project': 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz' };
    const none = await service.call('GET', '/runs', { key: cliToken, headers: nobodys });
    expect([gone.status, gone.body.code, gone.body.detail]).toEqual([404, 'NOT_FOUND', none.body.detail]);
  });
});

/** A live stream of a key: what came, and with which code it ended. */
async function streamed(key: string): Promise<{ messages: string[]; closed: Promise<number> }> {
  const socket = new WebSocket(`${service.baseUrl.replace('http', 'ws')}/events/stream`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const messages: string[] = [];
  socket.on('message', (data) => messages.push(String(data)));
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  return { messages, closed };
}

describe('an open stream', () => {
  const record = (runId: string) => ada.call('POST', '/events', { body: event({ runId }) });

  it.each([
    ['loses the scope', 'PUT', { scopes: ['log:read'] }],
    ['is revoked', 'DELETE', undefined],
  ])('an open stream gets no more events once its key %s, and ends', async (_what, method, body) => {
    const { body: made } = await ada.call('POST', '/api-keys', {
      body: { name: 'reads', scopes: ['events:read'] },
    });
    const { messages, closed } = await streamed(made.key);
    await record('before');
    await expect.poll(() => messages.length).toBe(1);
    const changed = await ada.call(
      method,
      `/api-keys/${made.record.keyId}`,
      body === undefined ? {} : { body },
    );
    expect(changed.status).toBeLessThan(300);
    const seen = messages.length;
    await record('after');
    expect(await closed).toBe(1008);
    // what tells of the change itself is an event too
    expect(messages.slice(seen).filter((text) => text.includes('"after"'))).toEqual([]);
  });
});
