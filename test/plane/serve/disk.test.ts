/** How long a disk lasts, by the times in the metering leaves of a log whose clock is ours; and the gauges of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { diskOf } from '../../../plane/serve/disk.ts';
import { planeGauges } from '../../../plane/serve/gauges.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { overviewOf } from '../../../plane/serve/overview.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { ofExports } from '../../../src/host/process/checks.ts';
import { randomBytes } from '../../../src/host/process/clock.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { growthOf } from '../../../src/store/file/growth.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-disk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dataDir = join(folder, 'plane');
const day = 24 * 3600 * 1000;

describe('a plane that records', () => {
  it('a plane computes its growth over the last week, or since its start', async () => {
    expect(growthOf(join(folder, 'none'), 0)).toBeNull();
    await planeInit({ dataDir });
    const startMs = Date.now();
    expect(diskOf(dataDir, startMs)).toMatchObject({ bytesPerDay: null, daysLeft: null, exportBytes: 0 });
    const own = join(dataDir, 'exports', 'prj_a');
    mkdirSync(own, { recursive: true });
    for (const name of ['exp_1.a', 'exp_2.b.part']) writeFileSync(join(own, name), Buffer.alloc(1_048_576));
    expect(diskOf(dataDir, startMs)).toMatchObject({ exportBytes: 2_097_152 });
    expect(ofExports(dataDir)).toBe('; exports take 2.0 MiB');
    const { projectId } = readPlaneFile(join(dataDir, 'plane.json'));
    let nowMs = startMs;
    const store = await openStore({ dataDir, clock: { now: () => nowMs }, randomBytes, reserveBytes: 0 });
    const append = (leaves: number) =>
      store.append({
        projectId,
        leaves: Array.from({ length: leaves }, () => draftLeaf('gov.proof/1', { proofId: 'x', runId: 'y' })),
        meter: { op: 'none', units: 0 },
      });
    // 3 leaves at the start, 10 a day for ten days
    for (let n = 1; n <= 10; n++) {
      nowMs = startMs + n * day;
      await append(10);
    }
    await store.close();
    const whole = growthOf(dataDir, 0);
    expect(whole).toMatchObject({ leaves: 103, recentLeaves: 103 });
    const lastWeek = growthOf(dataDir, nowMs - 7 * day + 1);
    expect(lastWeek).toMatchObject({ recentLeaves: 70, sinceMs: nowMs - 7 * day + 1 });
    expect(growthOf(dataDir, nowMs + 1)).toMatchObject({ recentLeaves: 0 });
    const { bytesPerDay, databaseBytes, daysLeft, freeBytes } = diskOf(dataDir, nowMs);
    expect(bytesPerDay).toBe(Math.round((databaseBytes / 103) * (80 / 7)));
    expect(daysLeft).toBeLessThan(freeBytes / (bytesPerDay ?? 1));
    expect(diskOf(dataDir, nowMs + 30 * day)).toMatchObject({ bytesPerDay: 0, daysLeft: null });
  });

  it('a plane reports its growth to Prometheus and computes it once a minute', async () => {
    let [nowMs, looked] = [Date.now() + 11 * day, 0];
    const signed = async () => {
      looked += 1;
      return { size: 7, root: 'x', signedAt: '2026-01-05T09:00:00.000Z' };
    };
    const lines = planeGauges({ dataDir, configHash: 'sha256:0', signed, now: () => nowMs });
    const text = (await lines()).join('\n');
    for (const name of [
      'gov_disk_free_bytes',
      'gov_database_bytes',
      'gov_exports_bytes',
      'gov_disk_days_left',
    ]) {
      expect(text).toMatch(new RegExp(`^${name} [0-9.e+]+$`, 'm'));
    }
    expect(text).toContain('gov_checkpoint_leaves 7');
    expect(text).toContain('gov_checkpoint_seconds 1767603600');
    expect(text).toContain('gov_config_info{hash="sha256:0"} 1');
    rmSync(join(dataDir, 'gov.db'));
    await lines();
    nowMs += 60_001;
    expect((await lines()).join('\n')).toContain('gov_database_bytes 0');
    expect(looked).toBe(3);
  });

  it('a plane reports which part of its directory cannot be read', () => {
    const { disk, telemetry, reasons } = overviewOf(join(folder, 'gone'));
    expect([disk, telemetry?.enrolled, reasons]).toEqual([
      null,
      false,
      [
        expect.stringMatching(/^disk_unreadable: ENOENT/),
        expect.stringMatching(/^plane\.json_unreadable: expected a plane at /),
      ],
    ]);
  });
});
