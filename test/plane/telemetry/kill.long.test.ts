/**
 * Kill -9 at any point between an event, its report, the sending and the receipt: afterwards the reports are gap-free and
 * linked, the service has each once, and bills exactly what was recorded.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { enrolPlane } from '../../../plane/enrolment/exchange.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { projectRoot } from '../../paths.ts';
import { hashOf, openTelemetryPlane, register, setClock } from '../support/enrolled.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';

const rounds = Number(process.env['GOV_KILL_ROUNDS'] ?? 8);
const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 9, 30, 9);
let service: TestService;
let ada: Tenant;
const dataDir = join(mkdtempSync(join(tmpdir(), 'gov-telemetrykill-')), 'plane');

beforeAll(async () => {
  setClock(startMs);
  service = await startService();
  ada = await service.signUp('ada');
  await planeInit({ dataDir });
}, 60_000);
afterAll(async () => {
  await service.end();
  rmSync(dirname(dataDir), { recursive: true, force: true });
  vi.useRealTimers();
});

/** Runs the plane from a time and kills it within its third look, or soon after; answers the time of that look. */
async function killed(ms: number, afterMs: number): Promise<number> {
  const script = join(projectRoot, 'test/plane/telemetry/child.ts');
  const child = spawn(process.execPath, [script, dataDir, String(ms)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let at = ms;
  let looks = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    at = Number(line);
    setClock(at);
    looks += 1;
    if (looks === 3) setTimeout(() => child.kill('SIGKILL'), afterMs);
    child.stdin.write('go\n');
  }
  await ended;
  return at;
}

it('a killed plane leaves reports without a gap, each at the service once, and all usage is billed', async () => {
  const { token, dataPlaneId } = await register(ada);
  const { enrolment } = await enrolPlane({ dataDir, service: service.origin, token, env: {}, now: Date.now });
  let ms = startMs;
  // from at once to about the length of a look
  for (let round = 0; round < rounds; round++) ms = (await killed(ms, round * 4)) + hourMs;
  setClock(ms);
  const plane = openTelemetryPlane(dataDir);
  try {
    await plane.telemetry.look();
    await plane.looks(2);
    const totals = await plane.store.totals(plane.project.projectId);
    expect(totals.audit_event).toBeGreaterThanOrEqual(2 * rounds);
    const rows = plane.read((outbox) => [...outbox.reports(dataPlaneId, { queued: false })]);
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, at) => at + 1));
    expect(rows.filter(({ state }) => state !== 'accepted')).toEqual([]);
    for (const [at, { body, hash }] of rows.entries()) {
      const { previousReportHash } = JSON.parse(body);
      expect([hash, previousReportHash]).toEqual([hashOf(body), at === 0 ? null : rows[at - 1]?.hash]);
    }
    expect(JSON.parse(rows.at(-1)?.body ?? '').totals).toEqual(totals);
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect(body).toMatchObject({ missing: 0, lastReport: { sequence: rows.length } });
    let billed = 0;
    for (const month of ['2026-10', '2026-11', '2026-12']) {
      billed += (await service.services.store.planeUsage(enrolment.projectId, month)).audit_event;
    }
    expect(billed).toBe(totals.audit_event);
    const left = plane.read((outbox) => outbox.summary(dataPlaneId, 0));
    expect(left).toMatchObject({ waiting: { reports: 0 }, challenges: { open: 0, refused: 0 } });
  } finally {
    await plane.end();
  }
}, 180_000);
