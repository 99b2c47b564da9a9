/** A plane that reports to a real service: accepted, cosigned, challenged and verified. */

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  register,
  setClock,
  startTelemetryPlane,
  type PlaneOptions,
  type TestTelemetryPlane,
} from '../support/enrolled.ts';

let service: TestService;
let ada: Tenant;
const planes: TestTelemetryPlane[] = [];

beforeAll(async () => {
  setClock(Date.UTC(2026, 9, 20, 9));
  service = await startService();
  ada = await service.signUp('ada');
}, 60_000);
afterEach(async () => {
  for (const plane of planes.splice(0)) await plane.end();
});
afterAll(async () => {
  await service.end();
  vi.useRealTimers();
});

async function enrolled(options: PlaneOptions = {}) {
  const plane = await startTelemetryPlane(options);
  planes.push(plane);
  const { token, dataPlaneId } = await register(ada);
  await plane.enrol({ service: service.origin, token });
  return { plane, dataPlaneId };
}

describe('a plane that reports to a service', () => {
  it('a report is accepted, cosigned and challenged, and its answer verifies', async () => {
    const { plane, dataPlaneId } = await enrolled();
    await plane.record(3);
    await plane.record(1, 'compliance_proof');
    await plane.telemetry.look();
    const status = telemetryStatus(plane.dataDir);
    expect(status).toMatchObject({
      enrolled: true,
      mode: 'auto',
      reportsWaiting: 0,
      challengesOpen: 0,
      reasons: [],
    });
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect(body).toMatchObject({
      status: 'active',
      missing: 0,
      lastReport: { sequence: 1, attestation: 'verified' },
    });
    const [report] = plane.reports();
    expect(report).toMatchObject({
      sequence: 1,
      operations: { audit_event: 3, compliance_proof: 1, risk_decision: 0, replay_verification: 0 },
      previousReportHash: null,
    });
  });
});
