import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { endpointData, urlOf } from '../../../src/service/webhooks/endpoint.ts';
import { unknownReceiver } from '../../support/rows.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';

const url = unknownReceiver('hooks');

describe.each(engines)('endpoints of webhooks on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
  }, 60_000);
  afterAll(() => service.end());

  const create = async (members: Record<string, unknown> = {}, by: Tenant = tenant, headers = {}) =>
    by.call('POST', '/webhooks/endpoints', { body: { url, enabled: false, ...members }, headers });

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://user:word@hooks.example/',
    'https://hooks.example:22/',
    'http://hooks.example/',
    'https://169.254.169.254/latest',
  ])('the address %s is refused when the endpoint is created and when it is changed', async (bad) => {
    expect((await create({ url: bad })).status).toBe(400);
    const { endpointId } = (await create()).body.endpoint;
    const path = `/webhooks/endpoints/${endpointId}`;
    expect((await tenant.call('PUT', path, { body: { url: bad } })).status).toBe(400);
    await tenant.call('DELETE', path);
  });

  it('the secret is in one answer only, sealed in the store, and the same for a repeated request', async () => {
    const headers = { 'idempotency-key': 'create-once' };
    const { body, headers: answered } = await create({}, tenant, headers);
    expect(answered['cache-control']).toBe('no-store');
    expect((await create({}, tenant, headers)).body).toEqual(body);
    const { endpointId } = body.endpoint;
    const projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
    const stored = await service.services.store.document(projectId, 'webhook_endpoint', endpointId);
    expect(stored!.data).not.toContain('whsec_');
    expect(stored!.data).not.toContain(body.secret.slice('whsec_'.length));
    const shown = await tenant.call('GET', `/webhooks/endpoints/${endpointId}`);
    expect(shown.body).toEqual(body.endpoint);
    const list = await tenant.call('GET', '/webhooks/endpoints');
    expect(list.text).not.toContain('whsec_');
    await tenant.call('DELETE', `/webhooks/endpoints/${endpointId}`);
  });

  it('the path of an address is in no answer, sealed in the store, and may be sent back masked', async () => {
    const { store } = service.services;
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    const created = await create({ url: `${url}path-canary?team=1` });
    const { endpointId } = created.body.endpoint;
    const path = `/webhooks/endpoints/${endpointId}`;
    const stored = async () => (await store.document(projectId, 'webhook_endpoint', endpointId))!;
    const masked = `${url}…`;
    expect(created.body.endpoint.url).toBe(masked);
    const { body } = await tenant.call('GET', path);
    const sameUrl = await tenant.call('PUT', path, { body: { ...body, description: 'same' } });
    expect([sameUrl.status, sameUrl.body.url, sameUrl.body.description]).toEqual([200, masked, 'same']);
    const list = await tenant.call('GET', '/webhooks/endpoints');
    for (const text of [created.text, sameUrl.text, list.text, (await stored()).data])
      expect(text).not.toContain('canary');
    expect(urlOf(endpointData(await stored()), service.services.seal)).toBe(`${url}path-canary?team=1`);
    const changed = await tenant.call('PUT', path, { body: { url: `${url}other` } });
    expect([changed.status, changed.body.url]).toEqual([200, masked]);
    expect(urlOf(endpointData(await stored()), service.services.seal)).toBe(`${url}other`);
    const other = (await create()).body.endpoint;
    for (const wrong of [
      await create({ url: masked }),
      await tenant.call('PUT', `/webhooks/endpoints/${other.endpointId}`, { body: { url: masked } }),
    ])
      expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([400, '/url']);
    for (const { endpointId: made } of [body, other])
      await tenant.call('DELETE', `/webhooks/endpoints/${made}`);
  });

  it('an endpoint that an earlier version stored keeps its address, and shows it masked', async () => {
    const { store, seal } = service.services;
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    const { endpointId } = (await create({ url: `${url}old` })).body.endpoint;
    const path = `/webhooks/endpoints/${endpointId}`;
    const { projectId: _own, ...save } = (await store.document(projectId, 'webhook_endpoint', endpointId))!;
    const { sealedUrl: _sealed, ...data } = JSON.parse(save.data);
    const old = { ...save, data: JSON.stringify({ ...data, url: `${url}old` }) };
    expect(await store.saveDocuments(projectId, [{ save: old }])).toBe('saved');
    expect((await tenant.call('GET', path)).body.url).toBe(`${url}…`);
    expect((await tenant.call('PUT', path, { body: { description: 'x' } })).status).toBe(200);
    const kept = endpointData((await store.document(projectId, 'webhook_endpoint', endpointId))!);
    expect(urlOf(kept, seal)).toBe(`${url}old`);
    await tenant.call('DELETE', path);
  });

  it('a project has at most twenty endpoints', async () => {
    const other = await service.signUp(`full-${engine}`);
    for (let at = 0; at < limits.webhookEndpoints; at++) expect((await create({}, other)).status).toBe(201);
    const { status, body } = await create({}, other);
    expect([status, body.code]).toEqual([409, 'CONFLICT']);
  });

  it('a new endpoint takes what it leaves out from the setting webhookDefaults', async () => {
    const { body: identity } = await tenant.call('GET', '/auth/identity');
    const webhookDefaults = { events: ['job.failed'], enabled: false, description: 'by default' };
    const put = await tenant.call('PUT', `/projects/${identity.projectId}`, {
      body: { settings: { webhookDefaults } },
    });
    expect(put.status).toBe(200);
    const mixed = await tenant.call('PUT', `/projects/${identity.projectId}`, {
      body: { settings: { webhookDefaults: { events: ['*', 'job.failed'] } } },
    });
    expect([mixed.status, mixed.body.errors[0].pointer]).toEqual([400, '/settings/webhookDefaults/events']);
    const { body } = await tenant.call('POST', '/webhooks/endpoints', { body: { url } });
    expect(body.endpoint).toMatchObject(webhookDefaults);
    await tenant.call('PUT', `/projects/${identity.projectId}`, {
      body: { settings: { webhookDefaults: {} } },
    });
  });

  it('all kinds and single kinds together are refused, at creation and later', async () => {
    const events = ['*', 'job.failed'];
    const created = await tenant.call('POST', '/webhooks/endpoints', { body: { url, events } });
    expect([created.status, created.body.errors?.[0]?.pointer]).toEqual([400, '/events']);
    const { endpointId } = (await create()).body.endpoint;
    const path = `/webhooks/endpoints/${endpointId}`;
    expect((await tenant.call('PUT', path, { body: { events } })).status).toBe(400);
    expect((await tenant.call('PUT', path, { body: { events: ['*'] } })).status).toBe(200);
  });

  it('a second rotation waits for the overlap of the first, or ends both old secrets', async () => {
    const { endpointId } = (await create()).body.endpoint;
    const path = `/webhooks/endpoints/${endpointId}/rotate`;
    const headers = { 'idempotency-key': `rotation-${engine}-0123456789` };
    const first = await tenant.call('POST', path, { headers });
    expect(first.status).toBe(201);
    const again = await tenant.call('POST', path, { headers });
    expect([again.status, again.body.secret]).toEqual([201, first.body.secret]);
    const waiting = { headers: { 'idempotency-key': `waiting-${engine}-0123456789` } };
    const second = await tenant.call('POST', path, waiting);
    expect([second.status, second.body.detail]).toEqual([409, expect.stringContaining('overlapSeconds=0')]);
    // it ends with the overlap: the refusal is not kept under the key
    const repeated = await tenant.call('POST', path, waiting);
    expect([repeated.status, repeated.headers['idempotent-replayed']]).toEqual([409, undefined]);
    expect((await tenant.call('POST', `${path}?overlapSeconds=0`)).status).toBe(201);
    expect((await tenant.call('POST', path)).status).toBe(201);
  });

  it('each change is in the log with the host of the address, without its path', async () => {
    const secretUrl = `${unknownReceiver('logged')}path-canary`;
    const { endpointId } = (await create({ url: secretUrl })).body.endpoint;
    await tenant.call('POST', `/webhooks/endpoints/${endpointId}/rotate`);
    await tenant.call('PUT', `/webhooks/endpoints/${endpointId}`, { body: { description: 'x' } });
    const hidden = { body: { description: 'paid\u202ella ton' } };
    expect((await tenant.call('PUT', `/webhooks/endpoints/${endpointId}`, hidden)).status).toBe(400);
    await tenant.call('DELETE', `/webhooks/endpoints/${endpointId}`);
    const { text, body } = await tenant.call('GET', '/events?runId=gov.system&limit=200');
    const types = body.events
      .filter(({ resource }: { resource: { id: string } }) => resource.id === endpointId)
      .map(({ eventType }: { eventType: string }) => eventType);
    expect(types.toSorted()).toEqual([
      'webhook_endpoint.created',
      'webhook_endpoint.deleted',
      'webhook_endpoint.rotated',
      'webhook_endpoint.updated',
    ]);
    expect(text).toContain('logged.');
    expect(text).not.toContain('path-canary');
  });

  it('endpoints created at the same time are all followed, and the last deletion ends it', async () => {
    const other = await service.signUp(`racing-${engine}`);
    const made = await Promise.all([1, 2, 3, 4].map(() => create({}, other)));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const { projectId } = (await other.call('GET', '/auth/identity')).body;
    const cursor = () => service.services.store.document(projectId, 'webhook_cursor', 'log');
    for (const { body } of made) {
      expect(await cursor()).not.toBeNull();
      await other.call('DELETE', `/webhooks/endpoints/${body.endpoint.endpointId}`);
    }
    expect(await cursor()).toBeNull();
  });
});
