/**
 * Who a hybrid key lets in (contract B3, B6, B9, M6): its data plane, on what data planes call, in its environment, as long
 * as it is not revoked; nobody else there.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, type Operation } from '../../../src/contract/operation.ts';
import { table, type OperationId } from '../../../src/contract/table.ts';
import { hybridScopes, PlaneKeys } from '../../../src/service/credentials/plane-keys.ts';
import { createToken, keyDigest } from '../../../src/service/credentials/token-format.ts';
import { defaultQuotas } from '../../../src/service/call/settings.ts';
import type { StoredPlane } from '../../../src/store/port/planes.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { nobodysIds, rowRequest } from '../../support/rows.ts';
import { told, until } from '../../service/support/tenants.ts';
import { enrolledPlane, type Sender } from '../../support/telemetry-plane.ts';

const rows = Object.keys(table) as OperationId[];
const ofPlanes = rows.filter((id) => accessOf(table[id] as Operation) === 'plane');
const keyed = rows.filter(
  (id) => !['plane', 'anyone', 'idToken', 'cron'].includes(accessOf(table[id] as Operation)),
);

describe.each(engines)('a hybrid key of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let sender: Sender;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
    sender = await enrolledPlane(tenant.call, { name: 'ward', projectId });
  });
  afterAll(() => service.end());

  const refused = async (answer: ReturnType<Tenant['call']>): Promise<unknown[]> => {
    const { status, body } = await answer;
    return [status, body.code];
  };

  it('a hybrid key has exactly the scopes of the contract', () => {
    expect(hybridScopes).toEqual([
      'telemetry:write',
      'telemetry:manage',
      'approvals:decide',
      'erasure:write',
      'log:read',
    ]);
    for (const id of ofPlanes) expect(hybridScopes).toContain(table[id].scope);
  });

  it.each(keyed)('a hybrid key is rejected by %s', async (id) => {
    const { method, path, body } = rowRequest(id, { ...nobodysIds, projectId });
    const options = { key: sender.credentials.key, ...(body === undefined ? {} : { body }) };
    expect(await refused(tenant.call(method, path, options))).toEqual([401, 'INVALID_CREDENTIAL']);
  });

  it.each(ofPlanes)('a hybrid key is the only credential that %s accepts', async (id) => {
    const { method, path, body } = rowRequest(id, nobodysIds);
    const options = body === undefined ? {} : { body };
    const person = await service.idToken(tenant.person);
    for (const key of [tenant.keys.production, person, createToken('enr', (n) => Buffer.alloc(n, 7))]) {
      expect(await refused(tenant.call(method, path, { ...options, key }))).toEqual([
        401,
        'INVALID_CREDENTIAL',
      ]);
    }
    expect(await refused(tenant.call(method, path, { ...options, key: null }))).toEqual([
      401,
      'UNAUTHENTICATED',
    ]);
    const unknown = createToken('hyb', (n) => Buffer.alloc(n, 7));
    expect(await refused(tenant.call(method, path, { ...options, key: unknown }))).toEqual([
      401,
      'INVALID_CREDENTIAL',
    ]);
  });

  it('a hybrid key may come in X-API-Key', async () => {
    const { key } = sender.credentials;
    const report = sender.plane.work(2).report();
    const { status } = await sender.send(report, {
      headers: { authorization: `Bearer ${key}`, 'x-api-key': key },
    });
    expect(status).toBe(202);
  });

  it('a hybrid key belongs to one environment', async () => {
    const sent = sender.post(
      `${service.origin}/sandbox/api/v1/telemetry/usage`,
      sender.plane.work(2).report(),
    );
    expect(await refused(sent)).toEqual([401, 'ENVIRONMENT_MISMATCH']);
  });

  it('a hybrid key ends at once when its plane is revoked, within five seconds in other processes', async () => {
    const other = await enrolledPlane(tenant.call, { name: 'revoked', projectId });
    const { dataPlaneId } = other.plane.home;
    const again = engine === 'postgres' ? await service.again() : null;
    const there = async () =>
      again === null
        ? 401
        : (await other.post(`${again.origin}/api/v1/telemetry/usage`, other.plane.work(1).report())).status;
    expect((await other.work()).status).toBe(202);
    if (again !== null) expect(await there()).toBe(202);
    expect((await tenant.call('DELETE', `/telemetry/planes/${dataPlaneId}`)).status).toBe(204);
    expect(await refused(other.work())).toEqual([401, 'INVALID_CREDENTIAL']);
    await until(there, (status) => status === 401);
    const events = await until(
      () => told(tenant.call, 'authentication.failed'),
      (found) => found.some(({ actor }) => actor.id === dataPlaneId),
    );
    expect(events.at(-1)?.metadata['code']).toBe('INVALID_CREDENTIAL');
    expect(await refused(tenant.call('DELETE', `/telemetry/planes/${dataPlaneId}`))).toEqual([
      404,
      'NOT_FOUND',
    ]);
    const { body } = await tenant.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect([body.status, body.lastReport.sequence]).toEqual(['revoked', again === null ? 1 : 2]);
  }, 30_000);

  it('a hybrid key ends with its project', async () => {
    const person = await service.idToken(tenant.person);
    const made = await tenant.call('POST', '/projects', {
      body: { name: 'gone', environment: 'production' },
      key: person,
    });
    const gone = { 'gov-project': made.body.id };
    const call: Tenant['call'] = (method, path, options = {}) =>
      tenant.call(method, path, { key: person, ...options, headers: { ...gone, ...options.headers } });
    const there = await enrolledPlane(call, { name: 'gone', projectId: made.body.id });
    const send = () => there.send(there.plane.work(1).report(), { headers: gone });
    expect((await send()).status).toBe(202);
    await tenant.call('DELETE', `/projects/${made.body.id}`, { key: person });
    expect(await refused(send())).toEqual([401, 'INVALID_CREDENTIAL']);
  });
});

describe('look-ups of hybrid keys', () => {
  const token = createToken('hyb', (n) => Buffer.alloc(n, 7));
  const previous = createToken('hyb', (n) => Buffer.alloc(n, 9));
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
  const project = {
    projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz',
    organizationId: 'org_01jzzzzzzzzzzzzzzzzzzzzzzz',
    environment: 'production',
    auditOrigin: 'a',
    meteringOrigin: 'm',
  } as const;
  const plane = {
    planeId: 'dpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
    enrolled: {
      current: { keyDigest: keyDigest(token), sealedSecret: secret },
      previous: { keyDigest: keyDigest(previous), sealedSecret: secret, untilMs: 60_000 },
    },
    revokedMs: null,
  } as unknown as StoredPlane;
  const stored = { project, settings: '{}', quotas: {}, deletedMs: null };

  const over = () => {
    const state = { asked: 0, ms: 0, plane };
    const keys = new PlaneKeys({
      now: () => state.ms,
      seal: { open: (text) => text },
      hosting: { identity: null, quotas: defaultQuotas },
      store: {
        planeOfKey: async () => {
          state.asked += 1;
          return { plane: state.plane, project, stored };
        },
      } as never,
    });
    const identify = async (shown: string) => {
      const on = {
        shown: { token: shown, cookie: null, project: null },
        place: { environment: 'production', needsProject: false },
      } as const;
      const found = keys.byToken(shown, on);
      return 'lookUp' in found ? found.lookUp() : found;
    };
    return { state, keys, identify };
  };

  it('look-ups of hybrid keys are cached for five seconds, and repeated once they are dropped', async () => {
    const { state, keys, identify } = over();
    await identify(token);
    state.ms = 4999;
    await identify(token);
    expect(state.asked).toBe(1);
    state.ms = 5000;
    await identify(token);
    expect(state.asked).toBe(2);
    keys.forget(plane.planeId);
    await identify(token);
    expect(state.asked).toBe(3);
  });

  it('the previous hybrid key and its secret are accepted until their time is over', async () => {
    const { state, identify } = over();
    state.ms = 59_999;
    const caller = await identify(previous);
    expect([caller.plane?.byPrevious, caller.plane?.secrets(59_999).length]).toEqual([true, 2]);
    expect(caller.plane?.secrets(60_000).length).toBe(1);
    state.ms = 60_000;
    await expect(identify(previous)).rejects.toMatchObject({ code: 'INVALID_CREDENTIAL', caller });
    expect((await identify(token)).plane?.byPrevious).toBe(false);
  });
});
