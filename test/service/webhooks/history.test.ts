import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unknownReceiver } from '../../support/rows.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';

describe.each(engines)('the history of webhooks on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
  }, 60_000);
  afterAll(() => service.end());

  const create = async (name: string): Promise<string> => {
    const body = { url: unknownReceiver(name), enabled: false };
    return (await tenant.call('POST', '/webhooks/endpoints', { body })).body.endpoint.endpointId;
  };
  const test = async (endpointId: string) =>
    (await tenant.call('POST', `/webhooks/endpoints/${endpointId}/test`)).body;
  const list = async (query: string) => (await tenant.call('GET', `/webhooks/deliveries?${query}`)).body;

  it('lists messages by endpoint, kind and status, newest first, page by page', async () => {
    const [one, other] = [await create('one'), await create('other')];
    const sent = [];
    for (let at = 0; at < 5; at++) sent.push(await test(one));
    await test(other);
    expect((await list(`endpointId=${one}`)).data).toEqual(sent.toReversed());
    expect((await list(`endpointId=${one}&status=delivered`)).data).toEqual([]);
    expect((await list('eventType=job.failed')).data).toEqual([]);
    const found: unknown[] = [];
    let cursor = '';
    do {
      const page = await list(`endpointId=${one}&eventType=webhook.test&status=failed&limit=2${cursor}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      found.push(...page.data);
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    expect(found).toEqual(sent.toReversed());
    const { body } = await tenant.call('GET', `/webhooks/deliveries/${sent[0].deliveryId}`);
    expect(body).toEqual(sent[0]);
  });

  it('a redelivery is a message of its own with the same event id, once for each idempotency key', async () => {
    const endpointId = await create('again');
    const first = await test(endpointId);
    const path = `/webhooks/deliveries/${first.deliveryId}/redeliver`;
    expect((await tenant.call('POST', path)).status).toBe(409);
    await tenant.call('PUT', `/webhooks/endpoints/${endpointId}`, { body: { enabled: true } });
    const headers = { 'idempotency-key': 'again' };
    const made = await tenant.call('POST', path, { headers });
    expect([made.status, (await tenant.call('POST', path, { headers })).body]).toEqual([202, made.body]);
    expect(made.body).toMatchObject({ eventId: first.eventId, redelivery: true, attempt: 0 });
    expect((await list(`endpointId=${endpointId}`)).data).toHaveLength(2);
  });
});
