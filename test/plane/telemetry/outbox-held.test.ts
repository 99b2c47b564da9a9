/**
 * A plane and what its service holds of it: an outbox that was lost or is older, a log that was rolled back or begun anew,
 * a clock that was ahead, answers that nobody takes. Usage is billed once and goes on, or the plane says why not.
 */
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { planeDoctor } from '../../../plane/serve/doctor.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { outboxFile } from '../../../plane/telemetry/outbox.ts';
import { overviewOf } from '../../../plane/serve/overview.ts';
import { planeRecover } from '../../../plane/data/recover.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  answer,
  openTelemetryPlane,
  register,
  setClock,
  startWire,
  type TestTelemetryPlane,
  type Wire,
} from '../support/enrolled.ts';

const startMs = Date.UTC(2026, 9, 20, 9);
const hourMs = 3_700_000;
const dayMs = 24 * 3600 * 1000;
let service: TestService;
let wire: Wire;
let ada: Tenant;
let folder: string;
let dataDir: string;
let plane: TestTelemetryPlane;
let dataPlaneId: string;

beforeAll(async () => {
  setClock(startMs);
  service = await startService();
  wire = await startWire(service);
}, 60_000);
afterAll(async () => {
  await wire.close();
  await service.end();
  vi.useRealTimers();
});
beforeEach(async () => {
  setClock(startMs);
  wire.weather = 'clear';
  ada = await service.signUp(`ada${Math.random()}`.replace('.', ''));
  folder = mkdtempSync(join(tmpdir(), 'gov-held-'));
  dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  plane = openTelemetryPlane(dataDir);
  const registered = await register(ada);
  ({ dataPlaneId } = registered);
  await plane.enrol({ service: wire.origin, token: registered.token });
});
afterEach(async () => {
  await plane.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Records, and reports an hour later. */
async function report(events: number): Promise<void> {
  await plane.record(events);
  setClock(Date.now() + hourMs);
  await plane.telemetry.look();
}
const known = async () => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body;
const tokenAgain = async (): Promise<string> =>
  (await ada.call('POST', `/telemetry/planes/${dataPlaneId}/token`)).body.enrolmentToken;
async function reopen(change: () => void): Promise<void> {
  await plane.end();
  change();
  plane = openTelemetryPlane(dataDir);
}
const copy = (name: string): void => cpSync(dataDir, join(folder, name), { recursive: true });

describe('an outbox', () => {
  it('a plane that lost its outbox continues after what the service has, without a refused report', async () => {
    for (const count of [2, 3, 4]) await report(count);
    await reopen(() => rmSync(outboxFile(dataDir)));
    await report(5);
    expect(plane.telemetry.reasons()).toEqual([]);
    expect(plane.reports().map(({ sequence }) => sequence)).toEqual([3, 4]);
    expect(await known()).toMatchObject({ lastReport: { sequence: 4 }, missing: 0 });
    expect(plane.reports().at(-1)).toMatchObject({ operations: { audit_event: 5 } });
    expect(plane.read((outbox) => outbox.newest(dataPlaneId))).toMatchObject({
      state: 'accepted',
      reason: null,
    });
  });

  it('an older outbox takes over the missing reports after one refusal', async () => {
    await report(1);
    await reopen(() => copyFileSync(outboxFile(dataDir), join(folder, 'older.db')));
    for (const count of [2, 3]) await report(count);
    await reopen(() => copyFileSync(join(folder, 'older.db'), outboxFile(dataDir)));
    await report(4);
    expect(await known()).toMatchObject({ lastReport: { sequence: 4 }, missing: 0 });
    expect(plane.telemetry.reasons()).toEqual([]);
    expect(plane.reports().at(-1)).toMatchObject({ sequence: 4, operations: { audit_event: 4 } });
  });

  it('a plane names an outbox that cannot be opened and how to proceed, and opens it once it can', async () => {
    await report(1);
    await reopen(() => writeFileSync(outboxFile(dataDir), 'garbage'.repeat(1000)));
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()).toEqual([
      expect.stringMatching(/telemetry\.db.*move .*telemetry\.db away/),
    ]);
    expect(overviewOf(dataDir).reasons).toEqual([
      expect.stringMatching(/^telemetry_unreadable: .*telemetry\.db/),
    ]);
    const { checks } = await planeDoctor({ dataDir, env: {} });
    expect(checks.find(({ name }) => name === 'telemetry')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/telemetry\.db/),
    });
    rmSync(outboxFile(dataDir));
    setClock(Date.now() + 61_000);
    await plane.telemetry.look();
    await report(2);
    expect(plane.telemetry.reasons()).toEqual([]);
    expect(await known()).toMatchObject({ lastReport: { sequence: 3 }, missing: 0 });
  });
});

describe('a log', () => {
  it('a plane stops reporting a log that lacks reported leaves; its successor is the same data plane', async () => {
    await report(2);
    await reopen(() => copy('older'));
    await report(3);
    const before = { lastReport: (await known()).lastReport };
    await plane.end();
    // all of it is older: nothing on this machine knows
    dataDir = join(folder, 'older');
    plane = openTelemetryPlane(dataDir);
    await plane.record(1);
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    const reason = expect.stringMatching(/^rolled_back: .*gov log recover/);
    expect(plane.telemetry.reasons()[0]).toEqual(reason);
    expect(telemetryStatus(dataDir).reasons[0]).toEqual(reason);
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    expect([await known(), plane.telemetry.reasons()[0]]).toMatchObject([before, reason]);
    await plane.end();
    await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toThrow(
      /older copy.*gov log recover/,
    );
    const next = join(folder, 'next');
    await planeRecover({ from: dataDir, dataDir: next, reason: 'rolled back' });
    dataDir = next;
    plane = openTelemetryPlane(dataDir);
    await plane.enrol({ service: wire.origin, token: await tokenAgain() });
    await report(7);
    expect(plane.telemetry.reasons()).toEqual([]);
    expect(plane.reports()).toMatchObject([{ dataPlaneId, sequence: 1, log: { epoch: 1 } }]);
    expect(await known()).toMatchObject({ missing: 0, lastReport: { epoch: 1, sequence: 1 } });
  });

  it.each([
    ['has fewer leaves than', 1],
    ['outgrew', 20],
  ])(
    'a log that %s what the service has is no longer signed once that is known, and can be recovered',
    async (_, events) => {
      await report(2);
      await reopen(() => copy('older'));
      await report(3);
      await plane.end();
      dataDir = join(folder, 'older');
      plane = openTelemetryPlane(dataDir);
      await plane.record(events);
      await plane.sign(); // nobody knows yet
      setClock(Date.now() + hourMs);
      await plane.telemetry.look();
      expect(plane.telemetry.reasons()[0]).toMatch(/^rolled_back: /);
      await plane.record(1); // which goes on
      const refused = {
        code: 'STORAGE_FAULT',
        message: expect.stringMatching(/signs nothing more of it/),
      };
      await expect(plane.sign()).rejects.toMatchObject(refused);
      await plane.restart();
      await expect(plane.sign()).rejects.toMatchObject(refused);
      await plane.end();
      await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toMatchObject({
        code: 'CONFLICT',
      });
      const next = join(folder, 'next');
      const recovered = await planeRecover({ from: dataDir, dataDir: next, reason: 'rolled back' });
      const held = (await known()).lastReport;
      expect(recovered.previous[1]?.lastKnownCheckpoint?.size).toBe(held.treeSize);
      plane = openTelemetryPlane(next);
    },
  );

  it('a serving plane stops signing a log once it is found older than its telemetry.db', async () => {
    const { main, heads } = storeFiles(dataDir);
    await report(2);
    await reopen(() => copy('older'));
    await report(3);
    await reopen(() => {
      for (const file of [main, heads]) {
        for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
        copyFileSync(file.replace(dataDir, join(folder, 'older')), file);
      }
    });
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    await plane.record(1);
    await expect(plane.sign()).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
  });

  it('a plane does not sign a log that is older than its telemetry.db', async () => {
    await report(2);
    const { main, heads } = storeFiles(dataDir);
    await reopen(() => copy('older'));
    await report(3);
    await plane.end();
    for (const file of [main, heads]) {
      for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      copyFileSync(file.replace(dataDir, join(folder, 'older')), file);
    }
    await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toThrow(
      /telemetry\.db has a report .*older copy/,
    );
    plane = openTelemetryPlane(join(folder, 'older'));
  });
});

describe('a clock', () => {
  it('a clock that was ahead once stops no report when it is right again', async () => {
    await reopen(() => {
      vi.useRealTimers(); // its answers say what time it truly is
      setClock(Date.now());
    });
    await report(2);
    const rightMs = Date.now() + 1;
    setClock(rightMs + 400 * dayMs);
    wire.weather = 'refuse';
    await plane.restart(); // no connection is left
    await plane.record(1);
    await plane.telemetry.look();
    setClock(rightMs);
    wire.weather = 'clear';
    await plane.restart();
    await report(1);
    setClock(Date.now() + 300_001);
    await plane.telemetry.look();
    await report(4);
    expect(plane.telemetry.reasons()).toEqual([]);
    const last = plane.reports().at(-1);
    expect(last).toMatchObject({ totals: { audit_event: 8 } });
    expect(await known()).toMatchObject({ missing: 0, lastReport: { sequence: last?.sequence } });
    // a period ends with its month at the latest
    expect(plane.reports().filter(({ periodEnd }) => Date.parse(periodEnd) > rightMs + 32 * dayMs)).toEqual(
      [],
    );
  });
});

describe('a clock that is ahead of the service', () => {
  it('a plane with a clock ahead of the service makes one report an interval and reports the clock skew', async () => {
    await plane.end();
    const aheadMs = 3 * dayMs;
    plane = openTelemetryPlane(dataDir, { now: () => Date.now() + aheadMs });
    for (const each of [1, 2]) await report(each);
    expect(plane.reports().length).toBeLessThan(6);
    expect(plane.telemetry.reasons()).toEqual([expect.stringMatching(/clock_skew: .* ahead of the service/)]);
  });
});

describe('an answer to a challenge', () => {
  it('an unsettled answer to a challenge delays no report, and ends with its challenge', async () => {
    wire.weather = { loseAfter: 2 };
    await report(1); // the answer to the first challenge is made and lost
    expect(telemetryStatus(dataDir)).toMatchObject({ challengesOpen: 1 });
    wire.weather = answer(413, { 'content-type': 'text/html' }, '<html>');
    await plane.restart();
    setClock(Date.now() + 300_001);
    await plane.telemetry.look();
    wire.weather = 'clear';
    await plane.restart();
    setClock(Date.now() + 2 * dayMs);
    await report(2);
    expect(telemetryStatus(dataDir)).toMatchObject({ reportsWaiting: 0, challengesOpen: 0 });
  });
});
