/**
 * A data plane that is there enrols again (contract B9): with the same log and the same keys or others, after a recovery, a
 * rotation, a revocation. It stays the same data plane, so each log is billed and cosigned once, whoever asks.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { sumOf } from '../../../src/core/planes/metering.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  enroll,
  enrolledPlane,
  midLastMonth,
  ReportingPlane,
  Sender,
} from '../../support/telemetry-plane.ts';
import { told } from '../support/tenants.ts';

describe.each(engines)('a data plane that is there, of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let other: Tenant;
  const projects = new Map<Tenant, string>();
  let planes = 0;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    other = await service.signUp('other');
    for (const each of [tenant, other])
      projects.set(each, (await each.call('GET', '/auth/identity')).body.projectId);
  });
  afterAll(() => service.end());

  const environment = 'production' as const;
  const projectId = (of: Tenant): string => projects.get(of) ?? '';
  const newName = (): string => `ward-${(planes += 1)}`;
  const started = (of = tenant) => enrolledPlane(of.call, { name: newName(), projectId: projectId(of) });
  const register = async (of = tenant) => {
    const { dataPlane, enrolmentToken } = (
      await of.call('POST', '/telemetry/planes', { body: { name: 'Ward' } })
    ).body;
    const home = { dataPlaneId: dataPlane.dataPlaneId as string, projectId: projectId(of), environment };
    return { home, token: enrolmentToken as string };
  };
  const tokenFor = async ({ plane }: Sender): Promise<string> => {
    const issued = await tenant.call('POST', `/telemetry/planes/${plane.home.dataPlaneId}/token`);
    expect([issued.status, issued.headers['cache-control']]).toEqual([201, 'no-store']);
    return issued.body.enrolmentToken;
  };
  const again = async (sender: Sender): Promise<Sender> => {
    const answer = await enroll(tenant.call, sender.plane, await tokenFor(sender));
    expect([answer.status, answer.body.dataPlaneId]).toEqual([201, sender.plane.home.dataPlaneId]);
    return new Sender(sender.plane, answer.body, tenant.call);
  };
  const shown = async ({ plane }: Sender) =>
    (await tenant.call('GET', `/telemetry/planes/${plane.home.dataPlaneId}`)).body;
  const refused = async (answer: ReturnType<typeof enroll>): Promise<unknown[]> => {
    const { status, body } = await answer;
    return [status, body.code];
  };
  /** That its log has, as of its last report. */
  const units = ({ plane }: Sender): number => sumOf(plane.reports.at(-1)!.totals);
  const used = async (): Promise<number> => {
    const month = new Date(midLastMonth()).toISOString().slice(0, 7);
    const { items } = (await tenant.call('GET', `/metering/usage?period=${month}`)).body;
    return items.reduce((sum: number, { hybrid }: { hybrid: number }) => sum + hybrid, 0);
  };

  it.each(['tenant', 'other'] as const)(
    'no plane of %s can have the log of a known data plane, under any key',
    async (who) => {
      const first = await started();
      const log = first.plane.identity.origin.split('/')[1] ?? '';
      const of = who === 'tenant' ? tenant : other;
      const { home, token } = await register(of);
      const second = new ReportingPlane({ name: `${log} fork`, log }, home);
      const answer = await enroll(of.call, second, token);
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT']);
      expect(answer.body.detail).toContain('gov planes token');
      expect(answer.body.detail.includes(first.plane.home.dataPlaneId)).toBe(who === 'tenant');
      // nor its audit log, nor after it was revoked
      const { auditOrigin } = first.plane.identity;
      const third = new ReportingPlane({ name: newName() }, home);
      third.identity = { ...third.identity, auditOrigin };
      third.rekey(`${log} fork`);
      expect(await refused(enroll(of.call, third, token))).toEqual([409, 'CONFLICT']);
      await tenant.call('DELETE', `/telemetry/planes/${first.plane.home.dataPlaneId}`);
      expect(await refused(enroll(of.call, second, token))).toEqual([409, 'CONFLICT']);
      expect((await enroll(of.call, new ReportingPlane({ name: newName() }, home), token)).status).toBe(201);
    },
  );

  it('of two planes that enrol with one log at once, one succeeds', async () => {
    const log = newName();
    const [one, two] = await Promise.all([register(), register(other)]);
    const made = [
      enroll(tenant.call, new ReportingPlane({ name: `${log} a`, log }, one.home), one.token),
      enroll(other.call, new ReportingPlane({ name: `${log} b`, log }, two.home), two.token),
    ];
    expect((await Promise.all(made)).map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });

  it('a data plane enrols again with the same keys and another token, and continues', async () => {
    const before = await started();
    await before.work(4);
    const sum = (await used()) - units(before);
    const sender = await again(before);
    expect(await refused(before.work(1))).toEqual([401, 'INVALID_CREDENTIAL']);
    before.plane.reports.pop();
    const next = await sender.send(before.plane.report());
    expect([next.status, next.body.sequence, next.body.cosignature]).toEqual([
      202,
      2,
      expect.stringMatching(/^—/),
    ]);
    expect((await shown(sender)).formerKeys).toEqual([]);
    expect(await used()).toBe(sum + units(sender));
    const types = (await told(tenant.call))
      .filter(({ resource }) => resource.id === sender.plane.home.dataPlaneId)
      .map(({ eventType }) => eventType)
      .filter((eventType) => eventType.startsWith('telemetry.plane_'));
    expect(types).toEqual(
      ['registered', 'enrolled', 'token_issued', 'enrolled'].map((change) => `telemetry.plane_${change}`),
    );
  });

  it('a data plane reports a next epoch after a recovery, in addition to its earlier reports', async () => {
    const before = await started();
    await before.work(4);
    const sum = await used();
    const name = before.plane.identity.origin.split('/')[1] ?? '';
    const recovered = new ReportingPlane({ name, epoch: 1 }, before.plane.home);
    const answer = await enroll(tenant.call, recovered, await tokenFor(before));
    const sender = new Sender(recovered, answer.body, tenant.call);
    const reportId = before.plane.reports[0]?.reportId.replace(/.$/, '9') ?? '';
    expect((await sender.send(recovered.work(3).report({ reportId }))).status).toBe(202);
    expect(await used()).toBe(sum + units(sender));
    expect((await shown(sender)).lastReport).toMatchObject({ epoch: 1, sequence: 1 });
  });

  it('a data plane enrols again with other keys: earlier ones are kept for their reports, and nothing is billed twice', async () => {
    const before = await started();
    const asked = (await before.work(5)).body.attestation.challenge;
    const waiting = before.plane.work(2).report();
    const answerBefore = before.plane.answer(asked);
    const sum = (await used()) - sumOf(before.plane.reports[0]!.totals);
    const { identity } = before.plane;
    before.plane.rekey(newName());
    const sender = await again(before);
    expect((await shown(sender)).formerKeys).toEqual([
      {
        verifierKey: identity.verifierKey,
        auditVerifierKey: identity.auditVerifierKey,
        until: expect.any(String),
      },
    ]);
    expect((await sender.attest(asked, answerBefore)).status).toBe(200);
    expect((await sender.send(waiting)).body).toMatchObject({
      status: 'accepted',
      sequence: 2,
      cosignature: expect.stringMatching(/^—/),
    });
    expect((await sender.work(3)).body).toMatchObject({
      sequence: 3,
      cosignature: expect.stringMatching(/^—/),
    });
    expect(await used()).toBe(sum + units(sender));
  });

  it('reports signed with earlier keys are accepted only for periods of that time', async () => {
    const before = await started();
    await before.work(2);
    const [first, second] = [newName(), newName()];
    const { now } = service.services;
    // that is, before the periods of what comes
    Object.assign(service.services, { now: () => midLastMonth() - 86_400_000 });
    before.plane.rekey(first);
    const between = await again(before);
    before.plane.rekey(second);
    const sender = await again(between);
    Object.assign(service.services, { now });
    sender.plane.rekey(first);
    const answer = await sender.work(1);
    expect([answer.status, answer.body.reason]).toEqual([400, 'checkpoint_signature_invalid']);
    sender.plane.reports.pop();
    sender.plane.rekey(second);
    expect((await sender.send(sender.plane.report())).status).toBe(202);
  });

  it('a data plane that lost the answer gets other credentials with the same keys until it reports', async () => {
    const before = await started();
    await before.work(2);
    before.plane.rekey(newName());
    const token = await tokenFor(before);
    const lost = await enroll(tenant.call, before.plane, token);
    const second = await enroll(tenant.call, before.plane, token);
    expect([lost.status, second.status]).toEqual([201, 201]);
    const { identity } = before.plane;
    before.plane.rekey(newName());
    expect(await refused(enroll(tenant.call, before.plane, token))).toEqual([409, 'CONFLICT']);
    before.plane.rekey(identity.verifierKey);
    const sender = new Sender(before.plane, second.body, tenant.call);
    expect((await shown(sender)).formerKeys).toHaveLength(1);
    const kept = await tokenFor(sender);
    expect(await refused(enroll(tenant.call, before.plane, token))).toEqual([401, 'INVALID_CREDENTIAL']);
    expect((await enroll(tenant.call, before.plane, kept)).status).toBe(201);
  });

  it('a data plane has a token for its own log, and keeps working until it exchanges the token', async () => {
    const sender = await started();
    const token = await tokenFor(sender);
    const stranger = new ReportingPlane({ name: newName() }, sender.plane.home);
    expect(await refused(enroll(tenant.call, stranger, token))).toEqual([409, 'CONFLICT']);
    expect((await sender.work(1)).status).toBe(202);
    const { dataPlaneId } = sender.plane.home;
    expect(await refused(other.call('POST', `/telemetry/planes/${dataPlaneId}/token`))).toEqual([
      404,
      'NOT_FOUND',
    ]);
  });

  it('a revoked data plane is reinstated by a later token, and by no earlier one', async () => {
    const before = await started();
    await before.work(2);
    const early = await tokenFor(before);
    const path = `/telemetry/planes/${before.plane.home.dataPlaneId}`;
    expect((await tenant.call('DELETE', path)).status).toBe(204);
    expect(await refused(enroll(tenant.call, before.plane, early))).toEqual([401, 'INVALID_CREDENTIAL']);
    expect((await shown(before)).status).toBe('revoked');
    const token = await tokenFor(before);
    expect((await shown(before)).status).toBe('revoked');
    const answer = await enroll(tenant.call, before.plane, token);
    const sender = new Sender(before.plane, answer.body, tenant.call);
    expect(await shown(sender)).toMatchObject({ status: 'active', revokedAt: null });
    expect((await sender.work(1)).body).toMatchObject({ sequence: 2, status: 'accepted' });
  });

  it('a data plane has a limited number of earlier keys', async () => {
    const sender = await started();
    const { store } = service.services;
    const stored = (await store.plane(projectId(tenant), sender.plane.home.dataPlaneId))!;
    const enrolled = stored.enrolled!;
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => ({
        verifierKey: `v${n}`,
        auditVerifierKey: `a${n}`,
        untilMs: n,
      }));
    const kept = async (count: number): Promise<void> => {
      const { revision } = (await store.plane(projectId(tenant), stored.planeId))!;
      const plane = { ...stored, enrolled: { ...enrolled, formerKeys: many(count) }, revision: revision + 1 };
      const effects = [{ kind: 'savePlane', plane }] as const;
      const meter = { op: 'none', units: 0 } as const;
      await store.append({ projectId: projectId(tenant), leaves: [], meter, effects });
    };
    await kept(limits.planeFormerKeys);
    sender.plane.rekey(newName());
    expect(await refused(enroll(tenant.call, sender.plane, await tokenFor(sender)))).toEqual([
      409,
      'CONFLICT',
    ]);
    await kept(limits.planeFormerKeys - 1);
    expect((await enroll(tenant.call, sender.plane, await tokenFor(sender))).status).toBe(201);
    expect((await shown(sender)).formerKeys).toHaveLength(limits.planeFormerKeys);
  });
});

describe.each(engines)('data planes that enrolled again, of a service on %s', (engine) => {
  it('repeated enrolments leave an intact store', async () => {
    const service = await startService({ engine });
    const tenant = await service.signUp('tenant');
    const projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
    const sender = await enrolledPlane(tenant.call, { name: 'again', projectId });
    const { dataPlaneId } = sender.plane.home;
    const path = `/telemetry/planes/${dataPlaneId}`;
    await sender.work(3);
    for (const name of ['again 2', 'again 3']) {
      sender.plane.rekey(name);
      const { enrolmentToken } = (await tenant.call('POST', `${path}/token`)).body;
      for (let at = 0; at < 2; at++)
        sender.credentials = (await enroll(tenant.call, sender.plane, enrolmentToken)).body;
      expect((await sender.work(2)).status).toBe(202);
      if (name === 'again 2') expect((await tenant.call('DELETE', path)).status).toBe(204);
    }
    sender.credentials = (await sender.post('/telemetry/credentials/rotate', {})).body;
    await tenant.call('POST', `${path}/token`);
    const { problems, ok } = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    expect([problems, ok]).toEqual([[], true]);
    await service.end();
  });
});
