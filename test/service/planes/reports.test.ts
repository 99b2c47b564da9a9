/**
 * What a service makes of reports (contract J1-J3): links, gaps, receipts, and planes that cheat: each is told once, stored
 * never twice, and a second history of a log gets no receipt.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { enrolledPlane, midLastMonth, ReportingPlane, Sender } from '../../support/telemetry-plane.ts';
import { told, type SystemEvent } from '../support/tenants.ts';

interface Row {
  readonly sequence: number;
  readonly epoch: number;
  readonly linked: string;
}

describe.each(engines)('reports kept by a service on %s', (engine) => {
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

  const newPlane = (): Promise<Sender> =>
    enrolledPlane(tenant.call, { name: `ward-${(planes += 1)}`, projectId });
  const rows = async ({ plane }: Sender): Promise<Row[]> =>
    (await tenant.call('GET', `/telemetry/planes/${plane.home.dataPlaneId}/reports?limit=200`)).body.data;
  const links = async (sender: Sender): Promise<unknown[]> =>
    (await rows(sender)).toReversed().map(({ sequence, linked }) => [sequence, linked]);
  const toldOf = async (eventType: string, { plane }: Sender): Promise<SystemEvent['metadata'][]> =>
    (await told(tenant.call, eventType))
      .filter(({ actor }) => actor.id === plane.home.dataPlaneId)
      .map(({ metadata }) => metadata);
  const receipts = async (sender: Sender, reports: readonly UsageReport[]): Promise<boolean[]> => {
    const found: boolean[] = [];
    for (const report of reports) {
      const { body } = await sender.send(report);
      found.push(body.cosignature.startsWith('— gov.local/cosigner '));
    }
    return found;
  };

  /** The same plane with the same keys, and another history: it forgot its last reports. */
  const forkOf = (
    { plane, credentials }: Sender,
    { name, reports, work = 3 }: { name: string; reports: number; work?: number },
  ) => {
    const fork = new ReportingPlane({ name }, plane.home).append({
      op: 'risk_decision',
      units: 1,
      leaves: 1,
    });
    for (let at = 0; at < reports; at++) fork.work(work).report();
    return new Sender(fork, credentials, tenant.call);
  };

  it('a report is linked as soon as the one before it is stored', async () => {
    const sender = await newPlane();
    const [first, second, third, fourth] = Array.from({ length: 4 }, () => sender.plane.work(3).report());
    await sender.send(third);
    await sender.send(fourth);
    expect(await links(sender)).toEqual([
      [3, 'unknown'],
      [4, 'linked'],
    ]);
    await sender.send(first);
    await sender.send(second);
    expect(await links(sender)).toEqual([1, 2, 3, 4].map((sequence) => [sequence, 'linked']));
  });

  it('a missing report is a gap that is recorded once, and closed by the late report', async () => {
    const sender = await newPlane();
    const reports = Array.from({ length: 6 }, () => sender.plane.work(2).report());
    const send = async (at: number) => (await sender.send(reports[at])).body;
    expect((await send(0)).nextSequence).toBe(2);
    expect((await send(3)).nextSequence).toBe(2);
    expect((await send(4)).nextSequence).toBe(2);
    expect((await send(3)).status).toBe('duplicate');
    const { dataPlaneId } = sender.plane.home;
    const missing = async () => (await tenant.call('GET', `/telemetry/planes/${dataPlaneId}`)).body.missing;
    expect(await missing()).toBe(2);
    expect((await send(1)).nextSequence).toBe(3);
    expect((await send(2)).nextSequence).toBe(6);
    expect([await missing(), (await send(5)).nextSequence]).toEqual([0, 7]);
    expect(await toldOf('telemetry.gap_detected', sender)).toEqual([
      { epoch: 0, firstMissing: 2, before: 4 },
    ]);
  });

  it('late reports of a billed month are recorded, the first of those in a row', async () => {
    const beganMs = midLastMonth(midLastMonth());
    const sender = await enrolledPlane(tenant.call, { name: 'late', projectId, beganMs });
    const reports = Array.from({ length: 4 }, () => sender.plane.work(2).report());
    for (const at of [0, 1, 3, 2]) await sender.send(reports[at]);
    const month = new Date(beganMs).toISOString().slice(0, 7);
    const late = (at: number) => ({ reportId: reports[at]?.reportId, epoch: 0, sequence: at + 1, month });
    // the fourth came while the one before it was missing
    expect(await toldOf('telemetry.reported_late', sender)).toEqual([late(0), late(3)]);
    const timely = await enrolledPlane(tenant.call, { name: 'timely', projectId, beganMs: Date.now() });
    await timely.send(timely.plane.report());
    expect(await toldOf('telemetry.reported_late', timely)).toEqual([]);
  });

  it('a report gets a receipt when all reports before it are stored, and none otherwise', async () => {
    const sender = await newPlane();
    const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () =>
      sender.plane.work(3).report(),
    );
    const sent = [first, third, fourth, second, fifth] as UsageReport[];
    expect(await receipts(sender, sent)).toEqual([true, false, false, true, true]);
    // what was answered stays so
    expect(await receipts(sender, sent)).toEqual([true, false, false, true, true]);
  });

  it('a report of a second history is refused and recorded when it follows stored ones', async () => {
    const sender = await newPlane();
    for (let at = 0; at < 3; at++) await sender.send(sender.plane.work(3).report());
    const name = sender.plane.identity.origin.split('/')[1] ?? '';
    const fork = forkOf(sender, { name, reports: 0 });
    const reports = Array.from({ length: 4 }, () => fork.plane.work(5).report());
    const known = reports.slice(0, 3);
    for (const report of known) {
      expect(
        (await fork.send({ ...report, reportId: `urp_0000000000000000000000009${report.sequence}` })).body
          .code,
      ).toBe('REPORT_CONFLICT');
    }
    for (let time = 0; time < 3; time++) {
      const { status, body } = await fork.send(reports[3]);
      expect([status, body.code, body.reason]).toEqual([400, 'REPORT_INVALID', 'history_regressed']);
    }
    expect((await rows(sender)).length).toBe(3);
    const events = await toldOf('integrity.violation', sender);
    expect(events).toMatchObject([{ sequence: 4, reason: 'history_regressed', stored: false }]);
  });

  it('a report of a second history is never cosigned, whatever is left out in between', async () => {
    const sender = await newPlane();
    for (let at = 0; at < 2; at++) await sender.send(sender.plane.work(3).report());
    const name = sender.plane.identity.origin.split('/')[1] ?? '';
    const fork = forkOf(sender, { name, reports: 3, work: 30 });
    const forked = Array.from({ length: 4 }, () => fork.plane.work(5).report());
    // sequences 4 to 7, where 3 is missing: they hold together, and hang in the air
    expect(await receipts(fork, forked)).toEqual([false, false, false, false]);
    expect(await links(sender)).toEqual([
      [1, 'linked'],
      [2, 'linked'],
      [4, 'unknown'],
      [5, 'linked'],
      [6, 'linked'],
      [7, 'linked'],
    ]);
    const third = sender.plane.work(3).report();
    expect(await receipts(sender, [third])).toEqual([true]);
    expect((await links(sender))[3]).toEqual([4, 'broken']);
    const [event] = await toldOf('integrity.violation', sender);
    expect(event).toMatchObject({ reportId: forked[0]?.reportId, sequence: 4, stored: true });
    // and what follows the second history is in none of them
    expect(await receipts(fork, [fork.plane.work(2).report()])).toEqual([false]);
  });

  it('a report that falls behind stored ones is refused and recorded, although the one before is missing', async () => {
    const sender = await newPlane();
    for (let at = 0; at < 2; at++) await sender.send(sender.plane.work(40).report());
    const name = sender.plane.identity.origin.split('/')[1] ?? '';
    // set back to an older copy, as which it went on to sequence 6
    const fork = forkOf(sender, { name, reports: 5, work: 1 });
    const report = fork.plane.work(1).report();
    for (let time = 0; time < 2; time++) {
      const { status, body } = await fork.send(report);
      expect([status, body.code, body.reason]).toEqual([400, 'REPORT_INVALID', 'history_regressed']);
    }
    expect(await links(sender)).toEqual([
      [1, 'linked'],
      [2, 'linked'],
    ]);
    expect(await toldOf('integrity.violation', sender)).toMatchObject([{ sequence: 6, stored: false }]);
  });

  it('reports of another epoch are a log of their own, and add to the bill', async () => {
    const sender = await newPlane();
    await sender.send(sender.plane.work(4).report());
    const name = sender.plane.identity.origin.split('/')[1] ?? '';
    const next = new Sender(
      new ReportingPlane({ name, epoch: 1 }, sender.plane.home),
      sender.credentials,
      tenant.call,
    );
    const report = next.plane.work(4).report({ reportId: 'urp_00000000000000000000000051' });
    const { status, body } = await next.send(report);
    expect([status, body.attestation.status]).toEqual([202, 'pending']);
    expect(await rows(sender)).toMatchObject([
      { epoch: 1, sequence: 1, linked: 'linked' },
      { epoch: 0, sequence: 1 },
    ]);
    const one = await tenant.call(
      'GET',
      `/telemetry/planes/${sender.plane.home.dataPlaneId}/reports?limit=1`,
    );
    const path = `/telemetry/planes/${sender.plane.home.dataPlaneId}/reports?limit=1&cursor=${one.body.nextCursor}`;
    const two = await tenant.call('GET', path);
    expect([two.body.data[0].epoch, two.body.nextCursor]).toEqual([0, null]);
  });

  it('inconsistent reports are recorded once each, and ten a minute in all', async () => {
    const other = await service.signUp(`rates-${engine}`);
    const theirs = (await other.call('GET', '/auth/identity')).body.projectId;
    const sender = await enrolledPlane(other.call, { name: `rates-${engine.length}`, projectId: theirs });
    const { now } = service.services;
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    Object.assign(service.services, { now: () => minute });
    try {
      const report = sender.plane.work(3).report();
      const broken = (n: number) => ({
        ...report,
        reportId: `urp_${String(n).padStart(26, '0')}`,
        totals: { ...report.totals, audit_event: report.totals.audit_event + 1 },
      });
      const timestamp = String(minute / 1000);
      for (let time = 0; time < 3; time++) {
        expect((await sender.send(broken(1), { timestamp })).body.reason).toBe('totals_sum_mismatch');
      }
      const count = async () => (await told(other.call, 'telemetry.report_refused')).length;
      expect(await count()).toBe(1);
      for (let n = 2; n <= limits.telemetryFaultsPerMinute + 5; n++)
        await sender.send(broken(n), { timestamp });
      expect(await count()).toBe(limits.telemetryFaultsPerMinute - 2);
    } finally {
      Object.assign(service.services, { now });
    }
  });

  it('a report above the possible use of a month is refused and recorded, and others are not', async () => {
    const other = await service.signUp(`most-${engine}`);
    const theirs = (await other.call('GET', '/auth/identity')).body.projectId;
    const enrolled = (name: string) =>
      enrolledPlane(other.call, { name: `${name}-${engine}`, projectId: theirs });
    const [first, second] = [await enrolled('most'), await enrolled('more')];
    first.plane.append({ op: 'audit_event', units: Number.MAX_SAFE_INTEGER, leaves: 1 });
    const report = first.plane.report();
    expect((await first.send(report)).body.code).toBe('REPORT_INVALID');
    expect((await first.send(report)).body.code).toBe('REPORT_INVALID');
    second.plane.append({ op: 'audit_event', units: limits.epochMonthUnits, leaves: 1 });
    expect((await second.send(second.plane.report())).status).toBe(202);
    const [event, ...others] = await told(other.call, 'telemetry.report_refused');
    expect([event?.metadata, others]).toMatchObject([
      { reportId: report.reportId, sequence: 1, reason: 'limit_reached' },
      [],
    ]);
  });

  it('reports return the quotas of the project, and no quota refuses them', async () => {
    const sandbox: Tenant['call'] = (method, path, options = {}) =>
      tenant.call(method, path, { environment: 'sandbox', ...options });
    const identity = (await sandbox('GET', '/auth/identity')).body;
    const sender = await enrolledPlane(sandbox, {
      name: `quota-${engine.length}`,
      projectId: identity.projectId,
      environment: 'sandbox',
    });
    const report = sender.plane.append({ op: 'audit_event', units: 200_000, leaves: 1 }).report();
    const { status, body } = await sender.send(report);
    expect([status, body.quota.audit_event.limit]).toEqual([202, 100_000]);
    const { body: usage } = await sandbox('GET', `/metering/usage?period=${report.periodEnd.slice(0, 7)}`);
    expect(usage.items[0]).toMatchObject({
      type: 'audit_event',
      used: 200_000,
      hybrid: 200_000,
      remaining: 0,
    });
    // what is recorded here has the quota for itself
    const event = {
      runId: 'r',
      eventType: 'e',
      actor: 'a',
      resource: 'r',
      action: 'x',
      timestamp: report.sentAt,
    };
    expect((await sandbox('POST', '/events', { body: event })).status).toBe(201);
  });
});
