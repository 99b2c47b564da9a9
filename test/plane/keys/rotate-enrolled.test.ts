/** A plane whose log gets other keys while it is enrolled: its service goes on believing it, and knows the new key once it enrols again. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { openTelemetryPlane, register, setClock, type TestTelemetryPlane } from '../support/enrolled.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-rotated-'));
const dataDir = join(folder, 'plane');
let service: TestService;
let ada: Tenant;

beforeAll(async () => {
  setClock(Date.UTC(2026, 9, 20, 9));
  service = await startService();
  ada = await service.signUp('ada');
}, 60_000);
afterAll(async () => {
  await service.end();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** Records, and reports an hour later; the plane is closed again. */
async function reporting(before: (plane: TestTelemetryPlane) => Promise<unknown> = async () => {}) {
  const plane = openTelemetryPlane(dataDir);
  try {
    await before(plane);
    await plane.record(2);
    setClock(Date.now() + 3_700_000);
    await plane.telemetry.look();
  } finally {
    await plane.end();
  }
}

const known = async (dataPlaneId: string) => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body;
const telemetryKey = join(dataDir, 'keys/telemetry.ed25519.pem');

it(
  'a service believes a plane before, during and after a key overlap, and after it enrols again',
  { timeout: 60_000 },
  async () => {
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const first = await register(ada);
    await reporting((plane) => plane.enrol({ service: service.origin, token: first.token }));
    expect(await known(first.dataPlaneId)).toMatchObject({ lastReport: { sequence: 1 }, missing: 0 });

    await rotateKeys(dataDir);
    await reporting();
    expect(await known(first.dataPlaneId)).toMatchObject({ lastReport: { sequence: 2 }, missing: 0 });

    await retireKeys(dataDir);
    expect(existsSync(telemetryKey)).toBe(true);
    await reporting();
    expect(await known(first.dataPlaneId)).toMatchObject({ lastReport: { sequence: 3 }, missing: 0 });

    const again = await ada.call('POST', `/telemetry/planes/${first.dataPlaneId}/token`);
    const token = again.body.enrolmentToken;
    await reporting((plane) => plane.enrol({ service: service.origin, token, force: true }));
    expect(existsSync(telemetryKey)).toBe(false);
    const [signer] = readKeys(dataDir).signers('gov.test');
    expect(readKeys(dataDir).telemetrySigners('gov.test')[0]?.verifierKey).toBe(signer?.verifierKey);
    expect(await known(first.dataPlaneId)).toMatchObject({ lastReport: { sequence: 4 }, missing: 0 });
  },
);
