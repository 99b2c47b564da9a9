import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unknownReceiver } from '../../../support/rows.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { Account } from '../../support/account.ts';

let service: TestService;
let tenant: Tenant;
let account: Account;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
  account = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
  expect((await account.gov(login, { input: tenant.keys.sandbox })).code).toBe(0);
});
afterAll(() => service.end());

const url = unknownReceiver('hooks');

describe('gov webhooks', () => {
  it('gov webhooks create, get, update, rotate, list and delete work on one endpoint', async () => {
    const made = await account.json([
      'webhooks',
      'create',
      '--show-secret',
      url,
      '--events',
      'job.failed',
      '--disabled',
    ]);
    expect(made).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      endpoint: { url: new URL(url).origin, events: ['job.failed'], enabled: false },
    });
    const { endpointId } = made.endpoint;
    const words = ['webhooks', 'update', endpointId, '--description', 'pager', '--events', '*', '--disable'];
    expect(await account.json(words)).toMatchObject({ description: 'pager', events: ['*'], enabled: false });
    const rotated = await account.gov([
      'webhooks',
      'rotate',
      endpointId,
      '--out',
      'hook.secret',
      '-o',
      'json',
    ]);
    expect(JSON.parse(rotated.stdout)).toMatchObject({ secretFile: join(account.folder, 'hook.secret') });
    expect(rotated.stdout).not.toContain('whsec_');
    expect(account.file('hook.secret').mode).toBe(0o600);
    const list = await account.gov(['webhooks', 'list']);
    expect([list.code, list.stdout]).toEqual([0, expect.stringContaining(endpointId)]);
    expect(await account.json(['webhooks', 'get', endpointId])).toMatchObject({ endpointId });
    expect((await account.gov(['webhooks', 'delete', endpointId, '--yes'])).code).toBe(0);
    expect((await account.gov(['webhooks', 'get', endpointId])).code).not.toBe(0);
  });

  it('gov webhooks create --signing v1a shows a public key, which get shows too, and keeps no file', async () => {
    const words = ['webhooks', 'create', url, '--disabled', '--signing', 'v1a', '--out', 'none.secret'];
    const made = await account.json(words);
    const [{ publicKey }] = made.endpoint.publicKeys;
    expect([made.secret, publicKey]).toEqual([null, expect.stringMatching(/^whpk_/)]);
    expect(existsSync(join(account.folder, 'none.secret'))).toBe(false);
    const { endpointId } = made.endpoint;
    const shown = await account.gov(['webhooks', 'get', endpointId]);
    expect(shown.stdout).toContain(publicKey);
    const rotated = await account.json([
      'webhooks',
      'rotate',
      '--show-secret',
      endpointId,
      '--signing',
      'v1',
    ]);
    expect(rotated.secret).toMatch(/^whsec_/);
    await account.gov(['webhooks', 'delete', endpointId, '--yes']);
  });

  it('gov webhooks test shows the outcome, and deliveries and redeliver find it', async () => {
    const { endpoint } = await account.json(['webhooks', 'create', '--show-secret', url, '--disabled']);
    const tested = await account.json(['webhooks', 'test', endpoint.endpointId]);
    expect(tested).toMatchObject({ eventType: 'webhook.test', status: 'failed', attempt: 1 });
    const words = [
      'webhooks',
      'deliveries',
      '--endpoint-id',
      endpoint.endpointId,
      '--status',
      'failed',
      '-o',
      'json',
    ];
    expect((await account.gov(words)).stdout).toContain(tested.deliveryId);
    await account.gov(['webhooks', 'update', endpoint.endpointId, '--enable']);
    const again = await account.json(['webhooks', 'redeliver', tested.deliveryId]);
    expect(again).toMatchObject({ eventId: tested.eventId, redelivery: true, status: 'pending' });
  });

  it('gov webhooks update refuses no change, and two that contradict each other', async () => {
    const id = 'whe_01jzzzzzzzzzzzzzzzzzzzzzzz';
    expect((await account.gov(['webhooks', 'update', id])).code).toBe(2);
    expect((await account.gov(['webhooks', 'update', id, '--enable', '--disable'])).code).toBe(2);
  });
});
