/**
 * Ninety days without the service (contract R5): two planes record and report to nobody; once the service is back
 * everything arrives, totals equal to the last unit, every challenge answered, and no rush of connections.
 */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { meteredTypes, type MeteredType } from '../../../src/contract/operation.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  register,
  setClock,
  startTelemetryPlane,
  startWire,
  type TestTelemetryPlane,
  type Wire,
} from '../support/enrolled.ts';

const hourMs = 3_600_000;
const stepHours = 12;
const startMs = Date.UTC(2026, 8, 20, 9, 17);
let service: TestService;
let wire: Wire;
let ada: Tenant;
let projectId = '';
const planes: { plane: TestTelemetryPlane; dataPlaneId: string; expected: Record<MeteredType, number> }[] =
  [];
/** Events that both recorded, by month. */
const recorded: Record<string, number> = {};

beforeAll(async () => {
  setClock(startMs);
  service = await startService({ engine: engines.at(-1) ?? 'sqlite' });
  wire = await startWire(service);
  ada = await service.signUp('ada');
  for (const seed of ['one', 'two']) {
    const plane = await startTelemetryPlane({
      seed,
      settings: { mode: 'auto', intervalSeconds: (stepHours * hourMs) / 1000 },
    });
    const { token, dataPlaneId } = await register(ada, seed);
    ({ projectId } = (await plane.enrol({ service: wire.origin, token })).enrolment);
    const expected = Object.fromEntries(meteredTypes.map((type) => [type, 0])) as Record<MeteredType, number>;
    planes.push({ plane, dataPlaneId, expected });
  }
}, 120_000);
afterAll(async () => {
  for (const { plane } of planes) await plane.end();
  await wire.close();
  await service.end();
  vi.useRealTimers();
});

it('a plane loses nothing in a long outage: every unit arrives once and every challenge is answered', async () => {
  wire.weather = 'refuse';
  const before = wire.connections;
  const steps = (90 * 24) / stepHours;
  for (let step = 0; step < steps; step++) {
    for (const { plane, expected } of planes) {
      const type = meteredTypes[step % meteredTypes.length] ?? 'audit_event';
      const events = step % 3;
      await plane.record(events, 'audit_event');
      expected.audit_event += events;
      const month = new Date().toISOString().slice(0, 7);
      recorded[month] = (recorded[month] ?? 0) + events;
      if (type !== 'audit_event') await plane.record(1, type);
      if (type !== 'audit_event') expected[type] += 1;
      await plane.telemetry.look();
    }
    setClock(Date.now() + stepHours * hourMs);
  }
  // while the service was away each look tried once at most
  const refused = wire.connections - before;
  expect(refused).toBeLessThanOrEqual(2 * steps);
  const waiting = planes.map(({ plane, dataPlaneId }) =>
    plane.read((outbox) => outbox.summary(dataPlaneId, 0).waiting.reports),
  );
  // one each step, and one more for each month that ended
  for (const reports of waiting) expect(reports).toBeGreaterThanOrEqual(steps);

  wire.weather = 'clear';
  await Promise.all(planes.map(({ plane }) => plane.looks(2)));
  expect(wire.most).toBeLessThanOrEqual(planes.length);
  const months: Record<string, number> = {};
  for (const { plane, dataPlaneId, expected } of planes) {
    const left = plane.read((outbox) => outbox.summary(dataPlaneId, 0));
    expect(left).toMatchObject({
      waiting: { reports: 0 },
      refused: { reports: 0 },
      challenges: { open: 0, refused: 0 },
    });
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect(body).toMatchObject({ status: 'active', missing: 0 });
    const reports = plane.reports();
    expect(reports.at(-1)?.totals).toEqual(expected);
    expect(body.lastReport).toMatchObject({ sequence: reports.at(-1)?.sequence });
    for (const { periodStart, operations } of reports) {
      const month = periodStart.slice(0, 7);
      months[month] = (months[month] ?? 0) + operations.audit_event;
    }
    const { body: listed } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}/reports?limit=200`);
    const attested = listed.items?.map(({ attestation }: { attestation: string }) => attestation) ?? [];
    expect(attested.filter((status: string) => !['verified', 'not_sampled'].includes(status))).toEqual([]);
  }
  // what the service bills of each month is what was recorded in it
  expect(Object.keys(recorded)).toEqual(['2026-09', '2026-10', '2026-11', '2026-12']);
  expect(months).toEqual(recorded);
  for (const [month, units] of Object.entries(recorded)) {
    const usage = await service.services.store.planeUsage(projectId, month);
    expect([month, usage.audit_event]).toEqual([month, units]);
  }
}, 240_000);
