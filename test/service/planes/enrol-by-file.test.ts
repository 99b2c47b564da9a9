/**
 * A data plane that reaches no service, enrolled by file (contract B9): its request is handed over by an operator, with the
 * refusals of the wire, and the answer is of use to nobody but the plane. What it then reports by file is taken.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { EnrolmentRequest } from '../../../src/contract/telemetry.ts';
import { enrolmentSecret, openEnrolmentAnswer } from '../../../src/core/planes/enrolment-request.ts';
import { hpkePublicKey } from '../../../src/core/note/hpke.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  canonical,
  enroll,
  ReportingPlane,
  seconds,
  Sender,
  signatureOf,
} from '../../support/telemetry-plane.ts';
import { told } from '../support/tenants.ts';

describe.each(engines)('a data plane by file, of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let other: Tenant;
  let projectId: string;
  let planes = 0;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    other = await service.signUp('other');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const sealingKey = randomBytes(32);
  const sealTo = hpkePublicKey(sealingKey);
  const register = async () => {
    const { body } = await tenant.call('POST', '/telemetry/planes', { body: { name: 'Ward' } });
    const { dataPlaneId } = body.dataPlane;
    const home = { dataPlaneId, projectId, environment: 'production' } as const;
    const plane = new ReportingPlane({ name: `filed-${(planes += 1)}` }, home);
    return { plane, token: body.enrolmentToken as string };
  };
  const ask = (dataPlaneId: string, body: EnrolmentRequest, options: Parameters<Tenant['call']>[2] = {}) =>
    tenant.call('POST', `/telemetry/planes/${dataPlaneId}/enroll`, { body, ...options });
  const asked = (plane: ReportingPlane, token: string) =>
    ask(plane.home.dataPlaneId, plane.requestByFile(token, sealTo));
  const opened = (answer: Awaited<ReturnType<typeof ask>>, token: string) =>
    openEnrolmentAnswer(answer.body, { secret: enrolmentSecret(token), sealingKey });
  const enrolled = async () => {
    const { plane, token } = await register();
    const answer = await asked(plane, token);
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    const credentials = opened(answer, token)!;
    return { plane, token, answer, credentials, sender: new Sender(plane, credentials, tenant.call) };
  };
  const refused = async (answer: ReturnType<typeof ask>): Promise<unknown[]> => {
    const { status, body } = await answer;
    return [status, body.code, body.errors?.[0]?.pointer];
  };
  const shown = async ({ home }: ReportingPlane) =>
    (await tenant.call('GET', `/telemetry/planes/${home.dataPlaneId}`)).body;
  const at = async <Value>(ms: number, work: () => Promise<Value>): Promise<Value> => {
    const { now } = service.services;
    Object.assign(service.services, { now: () => ms });
    try {
      return await work();
    } finally {
      Object.assign(service.services, { now });
    }
  };

  it('a data plane gets working credentials by file, in an answer that only it can open', async () => {
    const { plane, answer, credentials, sender } = await enrolled();
    const { dataPlaneId } = plane.home;
    expect(answer.body).toMatchObject({
      schemaVersion: 'gov.enrolanswer/1',
      dataPlaneId,
      projectId,
      environment: 'production',
    });
    for (const secret of Object.values(credentials)) expect(answer.text).not.toContain(secret.slice(8));
    expect(await shown(plane)).toMatchObject({
      status: 'active',
      verifierKey: plane.identity.verifierKey,
      keyLast4: credentials.key.slice(-4),
    });
    const [text, timestamp] = [canonical(plane.work(3).report()), seconds()];
    const signature = signatureOf(credentials.signingSecret, text, timestamp)['x-telemetry-signature'];
    const message = { kind: 'usage', dataPlaneId, timestamp, signature, body: text };
    const { body } = await tenant.call('POST', '/telemetry/import', { body: { messages: [message] } });
    expect(body.receipts).toMatchObject([{ status: 202, answer: { status: 'accepted', sequence: 1 } }]);
    // should there be a way one day
    expect((await sender.work()).status).toBe(202);
    const events = (await told(tenant.call, 'telemetry.plane_enrolled')).filter(
      ({ resource }) => resource.id === dataPlaneId,
    );
    expect(events.map(({ actor }) => actor.type)).toEqual(['api_key']);
  });

  it('a data plane gets other credentials for the same file until it reports, and none after that', async () => {
    const { plane, token, sender } = await enrolled();
    const again = await asked(plane, token);
    expect(again.status).toBe(201);
    expect((await sender.work()).status).toBe(401);
    plane.reports.pop();
    const next = new Sender(plane, opened(again, token)!, tenant.call);
    expect((await next.send(plane.report())).status).toBe(202);
    expect(await refused(asked(plane, token))).toEqual([409, 'CONFLICT', undefined]);
    // nor over the wire
    expect((await enroll(tenant.call, plane, token)).status).toBe(409);
  });

  it('a data plane gets the same answer by file for the same Idempotency-Key', async () => {
    const { plane, token } = await register();
    const headers = { 'idempotency-key': 'once' };
    const body = plane.requestByFile(token, sealTo);
    const first = await ask(plane.home.dataPlaneId, body, { headers });
    const second = await ask(plane.home.dataPlaneId, body, { headers });
    expect([first.status, second.text]).toEqual([201, first.text]);
  });

  it('an enrolment file with an ended or used token, another log or another project is rejected', async () => {
    const { plane, token } = await register();
    const late = Date.now() + limits.enrolmentHours * 3_600_000;
    expect(await at(late + 1000, () => refused(asked(plane, token)))).toEqual([409, 'CONFLICT', undefined]);
    const [there, request] = [plane.home.dataPlaneId, plane.requestByFile(token, sealTo)];
    const elsewhere = await other.call('POST', `/telemetry/planes/${there}/enroll`, { body: request });
    expect(elsewhere.status).toBe(404);
    // by the token of another plane
    const second = await register();
    expect(await refused(ask(second.plane.home.dataPlaneId, request))).toEqual([
      400,
      'VALIDATION_ERROR',
      '/possession',
    ]);
    expect((await asked(plane, token)).status).toBe(201);
    // a log that is of another plane, and a token that other keys have used
    const forged = new ReportingPlane(
      { name: 'forged', log: plane.identity.origin.split('/')[1]! },
      second.plane.home,
    );
    expect(await refused(asked(forged, second.token))).toEqual([409, 'CONFLICT', undefined]);
    plane.rekey('others');
    expect(await refused(asked(plane, token))).toEqual([409, 'CONFLICT', undefined]);
    // revoked: only another token helps
    await tenant.call('DELETE', `/telemetry/planes/${there}`);
    expect(await refused(ask(there, request))).toEqual([409, 'CONFLICT', undefined]);
    const { body } = await tenant.call('POST', `/telemetry/planes/${there}/token`);
    expect((await asked(plane, body.enrolmentToken)).status).toBe(201);
    expect((await shown(plane)).formerKeys).toHaveLength(1);
  });

  it('an enrolment file whose key cannot receive a sealed response is rejected', async () => {
    const { plane, token } = await register();
    const small = plane.requestByFile(token, Buffer.alloc(32));
    expect(await refused(ask(plane.home.dataPlaneId, small))).toEqual([400, 'VALIDATION_ERROR', '/sealTo']);
    expect((await shown(plane)).status).toBe('pending');
  });

  it('enrolment by file leaves an intact store', async () => {
    const { problems, ok } = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    expect([problems, ok]).toEqual([[], true]);
  });
});
