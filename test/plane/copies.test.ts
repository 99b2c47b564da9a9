/** Data directories that are not as a plane left them: heads lost, or nothing may be written. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe } from '../../plane/serve/start.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import { silentLog } from '../../src/service/call/log.ts';

let folder: string;
let dataDir: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gov-copies-'));
  dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a plane whose heads.db was lost', () => {
  it('a plane without heads.db names the flag that rebuilds it, and serves once the flag is given', async () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `heads.db${suffix}`), { force: true });
    await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('gov plane serve --rebuild-heads'),
    });
    const warned: string[] = [];
    const log = { ...silentLog, warn: (_details: object, text: string) => warned.push(text) };
    const plane = await planeServe({ dataDir, log, env: {}, rebuildHeads: true });
    await plane.close();
    expect(warned).toContainEqual(expect.stringContaining('heads.db is rebuilt'));
    await (await planeServe({ dataDir, log: silentLog, env: {} })).close();
    expect((await fsck({ dataDir, deep: true })).problems).toEqual([]);
  });
});

/** Makes a directory read-only, for root by a mount; null where that is not allowed. The answer undoes it. */
function readOnly(directory: string): (() => void) | null {
  if (process.getuid?.() !== 0) {
    chmodSync(directory, 0o500);
    return () => chmodSync(directory, 0o700);
  }
  try {
    execFileSync('mount', ['--bind', directory, directory], { stdio: 'pipe' });
    execFileSync('mount', ['-o', 'remount,bind,ro', directory], { stdio: 'pipe' });
  } catch {
    return null;
  }
  return () => execFileSync('umount', ['-l', directory]);
}

describe('a read-only data directory', () => {
  it('a plane refuses a read-only data directory, and fsck reads it (skipped for root without the right to mount)', async (test) => {
    const undo = readOnly(dataDir);
    if (undo === null) return test.skip('root may not mount here');
    try {
      await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toMatchObject({
        code: 'STORAGE_FAULT',
        message: expect.stringMatching(/expected a writable .*, got .* \((EROFS|EACCES)\)/),
      });
      const report = await fsck({ dataDir, deep: true });
      expect(report.problems).toEqual([]);
      expect(report.leaves).toBeGreaterThan(1);
    } finally {
      undo();
    }
  });
});
