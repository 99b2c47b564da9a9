/** From what happens to a signed message at a real HTTPS receiver, on both engines and with several processes. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, type Authority, type Issued } from '../../support/certificates.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { startReceiver, type Receiver } from '../../support/network/receiver.ts';
import { event } from '../../support/serving.ts';
import { verifiesV1a } from '../../core/webhooks/v1a.ts';

let authority: Authority;
let issued: Issued;
beforeAll(() => {
  authority = makeAuthority(mkdtempSync(join(tmpdir(), 'webhooks-')));
  issued = authority.issue('receiver');
});

const receivers: Receiver[] = [];
const receiver = async (answer?: Parameters<typeof startReceiver>[1]): Promise<Receiver> => {
  const started = await startReceiver(issued, answer);
  receivers.push(started);
  return started;
};
afterEach(async () => {
  for (const each of receivers.splice(0)) await each.close();
});

/** The body of a message whose signature the reference library accepts. */
function verified(secret: string, { headers, body }: Receiver['requests'][number]): unknown {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
  return new Webhook(secret).verify(body, signed);
}

describe.each(engines)('webhooks of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({
      engine,
      file: { outboundAllow: ['127.0.0.0/8:*'], outboundCa: authority.certFile },
    });
    tenant = await service.signUp('hooked');
  }, 60_000);
  afterAll(() => service.end());

  const create = async (at: Receiver, members: Record<string, unknown> = {}, by: Tenant = tenant) => {
    const url = `https://127.0.0.1:${at.port}/hook`;
    const { body, status, text } = await by.call('POST', '/webhooks/endpoints', {
      body: { url, ...members },
    });
    expect([status, text]).toEqual([201, expect.any(String)]);
    return body as { secret: string; endpoint: { endpointId: string } };
  };
  const remove = (endpointId: string) => tenant.call('DELETE', `/webhooks/endpoints/${endpointId}`);

  it('delivers a signed message with ids and no content for a proof', async () => {
    const at = await receiver();
    const { secret, endpoint } = await create(at, { events: ['proof.completed'] });
    const runId = `run-${engine}`;
    await tenant.call('POST', '/events', { body: event({ runId, metadata: { note: 'confidential' } }) });
    const { body: proof } = await tenant.call('POST', '/proofs', { body: { runId } });
    await at.until(1);
    const [request] = at.requests;
    expect(verified(secret, request!)).toEqual({
      type: 'proof.completed',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        projectId: expect.stringMatching(/^prj_/),
        sequence: expect.any(Number),
        proofId: proof.proofId,
        runId,
      },
    });
    expect(request!.body).not.toContain('confidential');
    await remove(endpoint.endpointId);
  });

  it('a receiver that never answers does not delay the messages of another one', async () => {
    const dead = await receiver(() => undefined);
    const at = await receiver();
    const hung = await create(dead, { events: ['api_key.created'] });
    const quick = await create(at, { events: ['api_key.created'] });
    for (let count = 1; count <= 10; count++) {
      expect(
        (await tenant.call('POST', '/api-keys', { body: { name: 'k', scopes: ['log:read'] } })).status,
      ).toBe(201);
      // each arrives while the other receiver still holds its first messages
      await at.until(count);
    }
    expect(dead.requests.length).toBeLessThanOrEqual(4);
    await dead.close();
    for (const { endpoint } of [hung, quick]) await remove(endpoint.endpointId);
  });

  it('an address that turns out to lead inside gets nothing, and the history says why', async () => {
    const inner = await receiver();
    // the operator allows loopback here, but not this name on it
    const url = `https://localhost:${inner.port}/`;
    const { body } = await tenant.call('POST', '/webhooks/endpoints', {
      body: { url, events: ['job.failed'] },
    });
    const { endpointId } = body.endpoint;
    const tested = await tenant.call('POST', `/webhooks/endpoints/${endpointId}/test`);
    expect(tested.body.status).toBe('failed');
    expect(inner.requests).toEqual([]);
    await remove(endpointId);
  });

  it('the test button signs with the secret, and both secrets sign after a rotation', async () => {
    const at = await receiver();
    const { secret, endpoint } = await create(at, { events: ['job.failed'] });
    const path = `/webhooks/endpoints/${endpoint.endpointId}`;
    expect((await tenant.call('POST', `${path}/test`)).body).toMatchObject({
      status: 'delivered',
      statusCode: 204,
    });
    const rotated = await tenant.call('POST', `${path}/rotate`);
    await tenant.call('POST', `${path}/test`);
    for (const each of [secret, rotated.body.secret])
      expect(verified(each, at.requests[1]!)).toMatchObject({ type: 'webhook.test' });
    await tenant.call('POST', `${path}/rotate?overlapSeconds=0`);
    await tenant.call('POST', `${path}/test`);
    expect(() => verified(secret, at.requests[2]!)).toThrow();
    await remove(endpoint.endpointId);
  });

  it('with v1a the public key of the endpoint verifies messages, and old and new keys sign after a rotation', async () => {
    const at = await receiver();
    const { secret, endpoint } = await create(at, { events: ['job.failed'], signing: 'v1a' });
    expect([secret, endpoint]).toMatchObject([null, { signing: 'v1a' }]);
    const path = `/webhooks/endpoints/${endpoint.endpointId}`;
    const keysOf = async (): Promise<string[]> =>
      (await tenant.call('GET', path)).body.publicKeys.map((each: { publicKey: string }) => each.publicKey);
    const test = async (): Promise<Receiver['requests'][number]> => {
      expect((await tenant.call('POST', `${path}/test`)).body.status).toBe('delivered');
      return at.requests.at(-1)!;
    };
    const verifies = async (): Promise<boolean[]> => {
      const { headers, body } = await test();
      return (await keysOf()).map((key) => verifiesV1a(key, headers, body));
    };
    const [first] = await keysOf();
    expect(await verifies()).toEqual([true]);
    expect((await tenant.call('POST', `${path}/rotate`)).body.secret).toBe(null);
    expect(await keysOf()).toEqual([expect.not.stringContaining(first!), first]);
    expect(await verifies()).toEqual([true, true]);
    await tenant.call('POST', `${path}/rotate?overlapSeconds=0`);
    expect(await verifies()).toEqual([true]);
    // to a secret and back, each with the signatures of both
    const [second] = await keysOf();
    const back = await tenant.call('POST', `${path}/rotate?signing=v1`);
    expect(back.body.endpoint).toMatchObject({ signing: 'v1', publicKeys: [{ publicKey: second }] });
    const both = await test();
    expect(verified(back.body.secret, both)).toMatchObject({ type: 'webhook.test' });
    expect(verifiesV1a(second!, both.headers, both.body)).toBe(true);
    const { text } = await tenant.call('GET', '/events?runId=gov.system&limit=1000');
    expect(text).toContain(first);
    expect(text).not.toContain('whsk_');
    await remove(endpoint.endpointId);
  });

  it('the endpoint of one tenant gets nothing of another tenant', async () => {
    const other = await service.signUp(`other-${engine}`);
    const [mine, theirs] = [await receiver(), await receiver()];
    const own = await create(mine);
    await create(theirs, {}, other);
    for (const [by, name] of [
      [tenant, 'mine'],
      [other, 'theirs'],
    ] as const)
      await by.call('POST', '/api-keys', { body: { name, scopes: ['log:read'] } });
    await Promise.all([mine.until(1), theirs.until(1)]);
    const projects = [mine, theirs].map(
      ({ requests }) =>
        new Set(
          requests.map(({ body }) => (JSON.parse(body) as { data: { projectId: string } }).data.projectId),
        ),
    );
    const ids = await Promise.all(
      [tenant, other].map(async (by) => (await by.call('GET', '/auth/identity')).body.projectId as string),
    );
    expect(projects).toEqual(ids.map((id) => new Set([id])));
    const { endpointId } = own.endpoint;
    expect((await other.call('GET', `/webhooks/endpoints/${endpointId}`)).status).toBe(404);
    expect((await other.call('GET', `/webhooks/deliveries?endpointId=${endpointId}`)).body.data).toEqual([]);
    await remove(endpointId);
  });

  it.runIf(engine === 'postgres')('two processes send each message once', async () => {
    const at = await receiver();
    const { endpoint } = await create(at, { events: ['api_key.created'] });
    const second = await service.again();
    const bases = [service.baseUrl, second.baseUrl];
    await Promise.all(
      Array.from({ length: 30 }, (_, count) =>
        service.call('POST', `${bases[count % 2]}/api-keys`, {
          key: tenant.keys.production,
          body: { name: `k${count}`, scopes: ['log:read'] },
        }),
      ),
    );
    await at.until(30);
    await second.close();
    const ids = at.requests.map(({ headers }) => headers['webhook-id']);
    expect([ids.length, new Set(ids).size]).toEqual([30, 30]);
    await remove(endpoint.endpointId);
  });
});
