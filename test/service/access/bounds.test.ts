import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import type { Answer } from '../../support/answer.ts';
import type { CallOptions } from '../../support/serving.ts';
import { asPerson, said, told, until } from '../support/tenants.ts';

const dayMs = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();
const environmentsIn = (list: readonly { environment: string }[]): string[] => [
  ...new Set(list.map(({ environment }) => environment)),
];

describe.each(engines)('the bounds of a key on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());

  describe('its environment', () => {
    const rules = { settings: { requireTwoPersonPublish: true, requireTwoPersonErasure: true } };
    const sandboxed: Tenant['call'] = (method, path, options = {}) =>
      acme.call(method, path, { environment: 'sandbox', ...options });
    let ann: ReturnType<typeof asPerson>;
    let live: string;
    let trial: string;
    beforeAll(async () => {
      ann = asPerson(service, 'Ann');
      const make = async (name: string, environment: string): Promise<string> =>
        (await ann('POST', '/projects', { body: { name, environment } })).body.id;
      live = await make('Live', 'production');
      trial = await make('Trial', 'sandbox');
    });

    it.each([
      ['sandbox', 'production'],
      ['production', 'sandbox'],
    ])('a key of the %s reads, renames, rules, deletes and creates no project of %s', async (own, other) => {
      const call = own === 'sandbox' ? sandboxed : acme.call;
      const [mine, foreign] = own === 'sandbox' ? [trial, live] : [live, trial];
      const unknown = [
        await call('GET', `/projects/${foreign}`),
        await call('PUT', `/projects/${foreign}`, { body: { name: 'Taken over' } }),
        await call('PUT', `/projects/${foreign}`, { body: rules }),
        await call('DELETE', `/projects/${foreign}`),
      ];
      for (const answer of unknown) expect(said(answer)).toEqual([404, 'NOT_FOUND']);
      const refused = await call('POST', '/projects', { body: { name: 'Across', environment: other } });
      expect(said(refused)).toEqual([403, 'FORBIDDEN']);
      expect(refused.body.detail).toContain(`of the ${own} environment`);
      expect((await call('PUT', `/projects/${mine}`, { body: rules })).status).toBe(200);
      expect(environmentsIn((await call('GET', '/projects')).body.data)).toEqual([own]);
      expect(environmentsIn((await call('GET', '/billing/summary')).body.projects)).toEqual([own]);
      expect((await ann('GET', `/projects/${foreign}`)).body.name).not.toBe('Taken over');
      const denied = await until(
        () => told(call, 'authorization.failed'),
        (events) => events.length > 0,
      );
      expect(denied[0]?.actor.type).toBe('api_key');
    });

    it('a person acts on projects of both environments, from either', async () => {
      for (const call of [ann, asPerson(service, 'Ann', true)]) {
        for (const id of [live, trial]) {
          const body = { settings: { timezone: 'Europe/Zurich' } };
          expect((await call('PUT', `/projects/${id}`, { body })).status).toBe(200);
        }
        expect(environmentsIn((await call('GET', '/projects')).body.data).toSorted()).toEqual([
          'production',
          'sandbox',
        ]);
      }
      const sandbox = asPerson(service, 'Ann', true);
      for (const id of [live, trial]) expect((await sandbox('DELETE', `/projects/${id}`)).status).toBe(200);
    });
  });

  describe('its expiry', () => {
    const soon = inDays(2);
    let caller: CallOptions;
    let keyId: string;
    const create = (body: object, options: CallOptions = {}): Promise<Answer> =>
      acme.call('POST', '/api-keys', { body: { name: 'Made', ...body }, ...options });
    const change = (id: string, body: object, options = caller): Promise<Answer> =>
      acme.call('PUT', `/api-keys/${id}`, { body, ...options });
    const rotate = (id: string, query = ''): Promise<Answer> =>
      acme.call('POST', `/api-keys/${id}/rotate${query}`, caller);
    beforeAll(async () => {
      const { body } = await create({ scopes: ['*'], expiresAt: soon });
      caller = { key: body.key };
      ({ keyId } = body.record);
    });

    it('a key gives a new key its own expiry by default, and no later one', async () => {
      const made = await create({}, caller);
      expect([made.status, made.body.record.expiresAt]).toEqual([201, soon]);
      expect((await create({ expiresAt: inDays(1) }, caller)).status).toBe(201);
      for (const expiresAt of [inDays(3), null]) {
        const later = await create({ expiresAt }, caller);
        expect(said(later)).toEqual([403, 'FORBIDDEN']);
        expect(later.body.detail).toContain(soon);
      }
    });

    it('a key extends no key beyond its own expiry, itself included', async () => {
      const { body } = await create({ scopes: ['events:read'], expiresAt: inDays(1) });
      for (const id of [keyId, body.record.keyId]) {
        for (const expiresAt of [inDays(3), null]) {
          expect(said(await change(id, { expiresAt }))).toEqual([403, 'FORBIDDEN']);
        }
        expect((await change(id, { expiresAt: soon })).body.expiresAt).toBe(soon);
      }
      expect((await change(body.record.keyId, { expiresAt: null }, {})).body.expiresAt).toBeNull();
    });

    it('a key neither rotates nor widens a key that outlives it, but renames, narrows and revokes it', async () => {
      const { body } = await create({ scopes: ['events:read', 'proofs:read'] });
      const id = body.record.keyId;
      expect(said(await rotate(id))).toEqual([403, 'FORBIDDEN']);
      const wider = await change(id, { scopes: ['events:read', 'events:write'] });
      expect(said(wider)).toEqual([403, 'FORBIDDEN']);
      expect((await change(id, { name: 'Renamed', scopes: ['events:read'] })).status).toBe(200);
      // the expiry that it has is no change
      expect((await change(id, { expiresAt: null })).status).toBe(200);
      expect((await acme.call('DELETE', `/api-keys/${id}`, caller)).status).toBe(204);
    });

    it('a key gives a data plane a token that ends with the key', async () => {
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      const { key } = (await create({ scopes: ['*'], expiresAt })).body;
      const made = await acme.call('POST', '/telemetry/planes', { key, body: { name: 'Edge' } });
      expect([made.status, made.body.expiresAt]).toEqual([201, expiresAt]);
      const path = `/telemetry/planes/${made.body.dataPlane.dataPlaneId}/token`;
      expect((await acme.call('POST', path, { key })).body.expiresAt).toBe(expiresAt);
      const unbound = await acme.call('POST', path);
      expect(Date.parse(unbound.body.expiresAt)).toBeGreaterThan(Date.parse(expiresAt));
    });

    it('a key that is rotated by itself leaves its expiry to its successor', async () => {
      const own = await rotate(keyId, '?overlapSeconds=60');
      expect([own.status, own.body.record.expiresAt]).toEqual([201, soon]);
    });
  });
});
