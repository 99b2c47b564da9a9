/** What a plane says about checks and backups of its directory. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeEach(async () => {
  plane = await startPlane();
  await plane.call('POST', '/events', { body: event() });
});
afterEach(() => plane.end());
const integrity = async () => (await plane.call('GET', '/operations/integrity')).body;

describe('the integrity of a plane', () => {
  it('a plane without a backup needs attention', async () => {
    const { status, reasons, backup, fsck: checked, disk } = await integrity();
    expect([status, backup, checked]).toEqual(['attention', null, null]);
    expect(reasons).toEqual(['backup_missing: no backup is known; make one: gov plane backup']);
    expect(disk.freeBytes).toBeGreaterThan(0);
  });

  it('a plane shows its newest backup, and misses it when somebody deletes it', async () => {
    const out = join(plane.dataDir, '../copy');
    await planeBackup({ dataDir: plane.dataDir, out });
    const { status, backup } = await integrity();
    expect(status).toBe('ok');
    expect(backup).toMatchObject({ verified: true, present: true, withKeys: false });
    expect(backup.leaves).toBeGreaterThan(3);
    rmSync(out, { recursive: true });
    expect(await integrity()).toMatchObject({
      status: 'attention',
      reasons: [expect.stringContaining('backup_missing')],
      backup: { present: false },
    });
  });

  it('a plane shows when gov log fsck last ended and what it found', async () => {
    const { leaves } = await fsck({ dataDir: plane.dataDir, env: {} });
    expect((await integrity()).fsck).toMatchObject({ ok: true, found: 0, leaves, deep: false });
  });
});
