import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';

let service: TestService;
let ada: Tenant;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
});
afterAll(() => service.end());

interface Told {
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string };
  readonly metadata: { readonly code: string };
}

const told = async (eventType: string): Promise<Told[]> =>
  (await ada.call('GET', `/events?runId=gov.system&eventType=${eventType}`)).body.events;

const newKey = async (members: Record<string, unknown>): Promise<{ key: string; keyId: string }> => {
  const { body } = await ada.call('POST', '/api-keys', { body: members });
  return { key: body.key, keyId: body.record.keyId };
};

const upgradeStatus = (key: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${service.baseUrl.replace('http', 'ws')}/events/stream`, {
      headers: { authorization: `Bearer ${key}` },
    });
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    socket.on('open', () => reject(new Error('expected the stream to be refused')));
    socket.on('error', () => {});
  });

describe('the log of a project', () => {
  it('the log of a project records keys that lacked a scope, and keys that granted scopes they lack', async () => {
    const { key, keyId } = await newKey({ name: 'narrow', scopes: ['keys:write'] });
    expect((await ada.call('GET', '/jobs', { key })).status).toBe(403);
    expect(await upgradeStatus(key)).toBe(403);
    const wider = { name: 'wider', scopes: ['events:read'] };
    expect((await ada.call('POST', '/api-keys', { key, body: wider })).status).toBe(403);
    await expect.poll(async () => (await told('authorization.failed')).length).toBe(3);
    const events = await told('authorization.failed');
    expect(events.map(({ resource }) => resource.id).toSorted()).toEqual([
      'createApiKey',
      'listJobs',
      'streamEvents',
    ]);
    for (const { actor } of events) expect(actor).toEqual({ id: keyId, type: 'api_key' });
  });

  it('the log of a project records uses of a revoked key, and none of an unknown key', async () => {
    const { key, keyId } = await newKey({ name: 'revoked' });
    await ada.call('DELETE', `/api-keys/${keyId}`);
    expect((await ada.call('GET', '/jobs', { key })).status).toBe(401);
    await expect.poll(async () => (await told('authentication.failed')).length).toBe(1);
    const before = await told('authentication.failed');
    expect(before[0]).toMatchObject({ actor: { id: keyId }, metadata: { code: 'INVALID_CREDENTIAL' } });
    const unknown = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
    expect((await ada.call('GET', '/jobs', { key: unknown })).status).toBe(401);
    expect((await ada.call('GET', '/jobs', { key: null })).status).toBe(401);
    expect(await told('authentication.failed')).toHaveLength(1);
  });
});
