/**
 * The life of a data plane at a service (contract B9): registered, enrolled once and again while nothing is reported,
 * rotated without a moment in which nothing works, revoked. Secrets are shown once and stand nowhere in the clear.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { tokenKind } from '../../../src/service/credentials/token-format.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  enroll,
  enrolledPlane,
  ReportingPlane,
  Sender,
  type Credentials,
} from '../../support/telemetry-plane.ts';
import { told } from '../support/tenants.ts';

describe.each(engines)('a data plane of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let planes = 0;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const environment = 'production' as const;
  const register = async () => {
    const created = await tenant.call('POST', '/telemetry/planes', { body: { name: 'Ward 7' } });
    const { dataPlane, enrolmentToken, expiresAt } = created.body;
    const home = { dataPlaneId: dataPlane.dataPlaneId, projectId, environment };
    const plane = new ReportingPlane({ name: `ward-${(planes += 1)}` }, home);
    return { created, dataPlane, plane, token: enrolmentToken as string, expiresAt };
  };
  const at = async <Value>(ms: number, work: () => Promise<Value>): Promise<Value> => {
    const { now } = service.services;
    Object.assign(service.services, { now: () => ms });
    try {
      return await work();
    } finally {
      Object.assign(service.services, { now });
    }
  };
  const eventsOf = async (dataPlaneId: string): Promise<string[]> =>
    (await told(tenant.call))
      .filter(({ resource }) => resource.id === dataPlaneId)
      .map(({ eventType }) => eventType);
  const refused = async (answer: ReturnType<typeof enroll>): Promise<unknown[]> => {
    const { status, body } = await answer;
    return [status, body.code];
  };

  it('a data plane is registered with a token that is shown once, and enrols with it', async () => {
    const { created, dataPlane, plane, token, expiresAt } = await register();
    expect([created.status, created.headers['cache-control'], tokenKind(token)]).toEqual([
      201,
      'no-store',
      'enr',
    ]);
    expect(dataPlane).toMatchObject({
      name: 'Ward 7',
      status: 'pending',
      origin: null,
      lastReport: null,
      missing: 0,
    });
    expect(Date.parse(expiresAt) - Date.parse(dataPlane.createdAt)).toBe(limits.enrolmentHours * 3_600_000);
    const answer = await enroll(tenant.call, plane, token);
    expect([answer.status, answer.headers['cache-control']]).toEqual([201, 'no-store']);
    expect(answer.body).toMatchObject({
      dataPlaneId: dataPlane.dataPlaneId,
      projectId,
      environment,
      previousValidUntil: null,
    });
    const { body: shown } = await tenant.call('GET', `/telemetry/planes/${dataPlane.dataPlaneId}`);
    expect(shown).toMatchObject({
      status: 'active',
      origin: plane.identity.origin,
      verifierKey: plane.identity.verifierKey,
      keyPrefix: answer.body.key.slice(0, 13),
      keyLast4: answer.body.key.slice(-4),
    });
    expect(await eventsOf(dataPlane.dataPlaneId)).toEqual([
      'telemetry.plane_registered',
      'telemetry.plane_enrolled',
    ]);
    const { text } = await tenant.call('GET', '/events?runId=gov.system&limit=1000');
    for (const secret of [token, answer.body.key, answer.body.signingSecret])
      expect(text).not.toContain(secret);
  });

  it('a data plane may enrol again with the same token and keys until it reports, with other credentials', async () => {
    const { plane, token } = await register();
    const first = (await enroll(tenant.call, plane, token)).body;
    const second = (await enroll(tenant.call, plane, token)).body;
    expect(second).toMatchObject({ dataPlaneId: first.dataPlaneId });
    expect(second.key).not.toBe(first.key);
    const lost = new Sender(plane, first, tenant.call);
    const sender = new Sender(plane, second, tenant.call);
    const report = plane.work(2).report();
    expect(await refused(lost.send(report))).toEqual([401, 'INVALID_CREDENTIAL']);
    expect((await sender.send(report)).status).toBe(202);
    expect(await refused(enroll(tenant.call, plane, token))).toEqual([409, 'CONFLICT']);
  });

  it('a data plane has a token that no other plane can use, and keys that no other plane has', async () => {
    const { plane, token } = await register();
    const other = await register();
    await enroll(tenant.call, plane, token);
    expect(await refused(enroll(tenant.call, other.plane, token))).toEqual([409, 'CONFLICT']);
    expect(await refused(enroll(tenant.call, plane, other.token))).toEqual([409, 'CONFLICT']);
    expect((await enroll(tenant.call, other.plane, other.token)).status).toBe(201);
  });

  it('a data plane has a token for a day, to the millisecond, and none once it is revoked', async () => {
    const { plane, token, expiresAt } = await register();
    const end = Date.parse(expiresAt);
    expect(await at(end, () => refused(enroll(tenant.call, plane, token)))).toEqual([
      401,
      'INVALID_CREDENTIAL',
    ]);
    expect((await at(end - 1, () => enroll(tenant.call, plane, token))).status).toBe(201);
    const other = await register();
    await tenant.call('DELETE', `/telemetry/planes/${other.dataPlane.dataPlaneId}`);
    expect(await refused(enroll(tenant.call, other.plane, other.token))).toEqual([401, 'INVALID_CREDENTIAL']);
    const forged = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect(await refused(enroll(tenant.call, plane, forged))).toEqual([401, 'INVALID_CREDENTIAL']);
    const sandbox: Tenant['call'] = (method, path, options) =>
      tenant.call(method, path, { environment: 'sandbox', ...options });
    const third = await register();
    expect(await refused(enroll(sandbox, third.plane, third.token))).toEqual([401, 'ENVIRONMENT_MISMATCH']);
  });

  it('a data plane proves that it holds the key that it names', async () => {
    const { plane, token } = await register();
    const { plane: other } = await register();
    const body = { token, ...plane.identity, possession: plane.possession(token) };
    const wrong: [pointer: string, members: object][] = [
      ['/possession', { possession: plane.possession(`${token}x`) }],
      ['/possession', { possession: other.possession(token) }],
      ['/possession', { possession: 'no note' }],
      ['/verifierKey', { verifierKey: 'no key' }],
      ['/verifierKey', { verifierKey: other.identity.verifierKey }],
      ['/auditVerifierKey', { auditVerifierKey: plane.identity.verifierKey }],
      ['/verifierKey', { origin: 'gov.local/elsewhere' }],
    ];
    for (const [pointer, members] of wrong) {
      const { status, body: said } = await tenant.call('POST', '/telemetry/planes/enroll', {
        body: { ...body, ...members },
      });
      expect([status, said.errors]).toMatchObject([400, [{ pointer, code: 'NOT_ALLOWED' }]]);
    }
    expect((await tenant.call('POST', '/telemetry/planes/enroll', { body })).status).toBe(201);
  });

  it('a data plane rotates its credentials with an overlap, and can ask again after a lost answer', async () => {
    const sender = await enrolledPlane(tenant.call, { name: `ward-${(planes += 1)}`, projectId });
    const { plane, credentials: first } = sender;
    const by = (credentials: Credentials) => new Sender(plane, credentials, tenant.call);
    const works = async (credentials: Credentials) => (await by(credentials).work(1)).status === 202;
    const rotate = (credentials: Credentials, overlapSeconds?: number) =>
      by(credentials).post(
        '/telemetry/credentials/rotate',
        overlapSeconds === undefined ? {} : { overlapSeconds },
      );
    const lost = (await rotate(first)).body;
    expect(Date.parse(lost.previousValidUntil) - Date.now()).toBeGreaterThan(
      limits.planeOverlapSeconds * 1000 - 60_000,
    );
    const arrived = (await rotate(first, 60)).body;
    expect(Date.parse(arrived.previousValidUntil) - Date.now()).toBeLessThan(61_000);
    expect([await works(first), await works(arrived), await works(lost)]).toEqual([true, true, false]);
    const next = (await rotate(arrived, 0)).body;
    expect([await works(next), await works(arrived), await works(first)]).toEqual([true, false, false]);
    expect((await rotate(next, limits.planeOverlapSeconds + 1)).status).toBe(400);
    expect((await rotate(next, limits.planeOverlapSeconds)).status).toBe(201);
    expect(
      (await eventsOf(plane.home.dataPlaneId)).filter((type) => type === 'telemetry.plane_rotated').length,
    ).toBe(4);
  });

  it('a data plane gets the same answer again under an Idempotency-Key', async () => {
    const sender = await enrolledPlane(tenant.call, { name: `ward-${(planes += 1)}`, projectId });
    const headers = { 'idempotency-key': `rotate-${planes}` };
    const rotate = () => sender.post('/telemetry/credentials/rotate', {}, { headers });
    const one = await rotate();
    const two = await rotate();
    expect([two.text, two.headers['idempotent-replayed']]).toEqual([one.text, 'true']);
    const named = { body: { name: 'again' }, headers: { 'idempotency-key': `create-${planes}` } };
    const created = await tenant.call('POST', '/telemetry/planes', named);
    const repeated = await tenant.call('POST', '/telemetry/planes', named);
    expect([repeated.text, repeated.headers['idempotent-replayed']]).toEqual([created.text, 'true']);
  });

  it('a data plane has a name with a limit of characters', async () => {
    const named = async (length: number) =>
      (await tenant.call('POST', '/telemetry/planes', { body: { name: 'x'.repeat(length) } })).status;
    expect([await named(limits.planeNameChars), await named(limits.planeNameChars + 1)]).toEqual([201, 400]);
  });

  it('data planes are listed newest first, and managed with the scope for it', async () => {
    const { dataPlane } = await register();
    const first = await tenant.call('GET', '/telemetry/planes?limit=1');
    expect(first.body.data[0].dataPlaneId).toBe(dataPlane.dataPlaneId);
    const second = await tenant.call('GET', `/telemetry/planes?limit=1&cursor=${first.body.nextCursor}`);
    expect(second.body.data[0].dataPlaneId).not.toBe(dataPlane.dataPlaneId);
    const made = await tenant.call('POST', '/api-keys', {
      body: { name: 'reader', scopes: ['telemetry:write'] },
    });
    const { key } = made.body;
    const { status, body } = await tenant.call('POST', '/telemetry/planes', { body: { name: 'x' }, key });
    expect([status, body.requiredScope]).toEqual([403, 'telemetry:manage']);
  });
});
