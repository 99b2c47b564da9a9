/**
 * What data planes reported counts for the thresholds of their project's quotas, with what was recorded here (contract I9,
 * J2): in the month that it is of, once each. Nothing is refused for it, neither reports nor what is recorded.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { postgresBelow, sqliteBelow } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { enrolledPlane, type Sender } from '../../support/telemetry-plane.ts';
import { told, until } from '../support/tenants.ts';

const quotas = { audit_event: 100, compliance_proof: null, risk_decision: null, replay_verification: null };

describe.each(engines)('units that data planes report, of a service on %s', (engine) => {
  let service: TestService;
  let now: () => number;
  let made = 0;
  beforeAll(async () => {
    service = await startService({ engine, file: { quotas: { production: quotas } } });
    ({ now } = service.services);
  });
  afterAll(() => service.end());

  const thisMonth = (): string => new Date().toISOString().slice(0, 7);
  /** At the beginning of this month, so that no report crosses one. */
  const start = async (): Promise<{ of: Tenant; sender: Sender }> => {
    const of = await service.signUp(`tenant-${(made += 1)}`);
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const beganMs = Date.parse(`${thisMonth()}-01T00:00:00Z`);
    const name = `ward-${made}`;
    return { of, sender: await enrolledPlane(of.call, { name, projectId, beganMs }) };
  };
  /** One report of so many events, within a moment of time. */
  const report = async (sender: Sender, units: number) => {
    sender.plane.append({ op: 'audit_event', units, leaves: units });
    const answer = await sender.send(sender.plane.report());
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
    return answer.body;
  };
  const record = (of: Tenant, length: number) =>
    of.call('POST', '/events/batch', { body: { events: Array.from({ length }, () => event()) } });
  const reached = async (of: Tenant, length: number) =>
    (
      await until(
        () => told(of.call, 'quota.threshold_reached'),
        (found) => found.length >= length,
      )
    ).map(({ metadata }) => [metadata['month'], metadata['percent'], metadata['used']]);

  it('units of data planes count for thresholds with those of the service, and nothing is refused for them', async () => {
    const { of, sender } = await start();
    expect((await record(of, 30)).status).toBe(201);
    await report(sender, 19);
    const { quota } = await report(sender, 1);
    expect(quota.audit_event).toMatchObject({ limit: 100 });
    expect(await reached(of, 1)).toEqual([[thisMonth(), 50, 50]]);
    await report(sender, 55);
    expect(await reached(of, 4)).toEqual(
      [50, 80, 90, 100].map((percent, at) => [thisMonth(), percent, at === 0 ? 50 : 105]),
    );
    // both go on
    await report(sender, 500);
    expect((await record(of, 70)).status).toBe(201);
    expect((await record(of, 1)).body).toMatchObject({ code: 'QUOTA_EXCEEDED', quota: { used: 100 } });
    expect(await reached(of, 4)).toHaveLength(4);
  });

  it('units of data planes count when a unit of the project passes the threshold', async () => {
    const { of, sender } = await start();
    await report(sender, 49);
    expect(await told(of.call, 'quota.threshold_reached')).toEqual([]);
    expect((await record(of, 1)).status).toBe(201);
    expect(await reached(of, 1)).toEqual([[thisMonth(), 50, 50]]);
    // as of a moment ago, where a process did not take the report itself
    Object.assign(service.services, { now: () => now() + limits.planeUsageSeconds * 1000 });
    expect((await record(of, 30)).status).toBe(201);
    Object.assign(service.services, { now });
    expect(await reached(of, 2)).toContainEqual([thisMonth(), 80, 80]);
  });

  it('units of data planes count for their own month', async () => {
    const { of } = await start();
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    // its clock stands in the month before
    const late = await enrolledPlane(of.call, { name: `late-${made}`, projectId });
    await report(late, 80);
    const before = new Date(Date.parse(`${thisMonth()}-01T00:00:00Z`) - 1).toISOString().slice(0, 7);
    expect(await reached(of, 2)).toEqual([
      [before, 50, 80],
      [before, 80, 80],
    ]);
    expect((await record(of, 49)).status).toBe(201);
    expect(await told(of.call, 'quota.threshold_reached')).toHaveLength(2);
  });

  it('units of data planes are shown up to the greatest exact number, and no report is refused beyond it', async () => {
    const { of, sender } = await start();
    await report(sender, 1);
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
    const ofProject = `project = (SELECT project FROM project WHERE project_id = '${projectId}')`;
    // as after more epochs than a test can report
    await below.sql(`UPDATE telemetry_usage SET audit_event = 9007199254740995 WHERE ${ofProject}`);
    sender.plane.append({ op: 'audit_event', units: 2 ** 32 + 2, leaves: 1 });
    expect((await sender.send(sender.plane.report())).status).toBe(202);
    expect(
      await below.sql(`SELECT CAST(audit_event AS TEXT) AS units FROM telemetry_usage WHERE ${ofProject}`),
    ).toEqual([{ units: '9007203549708293' }]);
    const most = Number.MAX_SAFE_INTEGER;
    expect(await reached(of, 4)).toEqual([50, 80, 90, 100].map((percent) => [thisMonth(), percent, most]));
    expect((await record(of, 1)).status).toBe(201);
    const { items } = (await of.call('GET', '/metering/usage')).body;
    expect(items[0]).toMatchObject({ type: 'audit_event', used: most, hybrid: most });
    const { projects } = (await of.call('GET', '/billing/summary')).body;
    expect(projects.map(({ used }: { used: Record<string, number> }) => used['audit_event'])).toContain(most);
  });

  it('units of data planes announce nothing in a project without a limit', async () => {
    const of = await service.signUp(`tenant-${(made += 1)}`);
    const { projectId } = (await of.call('GET', '/auth/identity')).body;
    const sender = await enrolledPlane(of.call, { name: `free-${made}`, projectId });
    sender.plane.append({ op: 'compliance_proof', units: 1000, leaves: 1000 });
    expect((await sender.send(sender.plane.report())).body.quota).toEqual({
      audit_event: expect.any(Object),
    });
    expect(await told(of.call, 'quota.threshold_reached')).toEqual([]);
  });
});
