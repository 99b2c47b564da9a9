/** A report that the service holds and the log lacks: what it means hangs on whether the key was in force there. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeNewest } from '../../../plane/telemetry/adopt.ts';
import { openMaker } from '../../../plane/telemetry/by-file.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { makeReports } from '../../../plane/telemetry/report.ts';
import { holdToReported } from '../../../plane/telemetry/reported.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { enrolFake, openTelemetryPlane } from '../support/enrolled.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-adopt-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The report of a plane that records so many events more. */
async function reportOf(dataDir: string, events: number): Promise<string> {
  const plane = openTelemetryPlane(dataDir);
  await plane.record(events);
  await plane.sign();
  await plane.end();
  enrolFake(dataDir);
  const { maker, close } = openMaker(dataDir);
  try {
    await makeReports(maker);
    return maker.outbox.newest(maker.enrolment.dataPlaneId)?.body ?? '';
  } finally {
    close();
  }
}

/** What the plane makes of it, and whether it would be signed no more. */
async function told(dataDir: string, report: string) {
  const { maker, close } = openMaker(dataDir);
  try {
    await takeNewest(maker, { epoch: 0, nextSequence: 2, report, cosignature: '' });
    const { heldReason } = maker.outbox.held.known();
    const held = await holdToReported(dataDir, { remember: false }).then(
      () => 'signs',
      () => 'is held',
    );
    return { heldReason, held };
  } finally {
    close();
  }
}

describe('a report by a key that the log retired', () => {
  const dataDir = join(folder, 'plane');
  const [stolen, older] = [join(folder, 'stolen'), join(folder, 'older')];
  beforeAll(async () => {
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    for (const copy of [stolen, older]) cpSync(dataDir, copy, { recursive: true });
    const plane = openTelemetryPlane(dataDir);
    await plane.record(10);
    await plane.sign();
    await plane.end();
    await rotateKeys(dataDir);
    await retireKeys(dataDir);
    // with the key in force, as by a token for the same data plane
    enrolFake(dataDir);
  });

  it('a report by a retired key with too many leaves is blamed on the holder of the key and stops nothing', async () => {
    expect(await told(dataDir, await reportOf(stolen, 50))).toEqual({
      heldReason: expect.stringMatching(/^outbox_behind: .*a key that this log had retired by then/),
      held: 'signs',
    });
  });

  it('a report from the time when its key was in force shows that the log has another history', async () => {
    expect(await told(dataDir, await reportOf(older, 5))).toEqual({
      heldReason: expect.stringMatching(/^rolled_back: /),
      held: 'is held',
    });
  });
});
