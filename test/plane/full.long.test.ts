/** The disk below a serving plane fills up: `test/faults/full.ts` does it, for longer, by hand. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { killDisk, loopDisk } from '../faults/dead-disk.ts';
import { fillDisk, mountSmall, takeRest } from '../faults/full.ts';
import { ask, serve } from '../faults/serving.ts';
import { event } from '../support/serving.ts';

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

it.skipIf(!mayMount)(
  'a full disk refuses only writes, and the plane recovers by itself (skipped where not root on Linux: needs a tmpfs)',
  async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-full-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const unmount = mountSmall(folder, 240);
    if (unmount === null) return test.skip('root may not mount here');
    undo.push(unmount);
    const report = await fillDisk(folder, { seconds: 2, takeAll: false });
    expect(report).toMatchObject({ failedReads: 0, lost: 0, exit: 0, fsckProblems: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
    expect(report.answers).toMatchObject({
      'POST /events/batch 503 STORAGE_FULL': expect.any(Number),
      'POST /proofs 503 STORAGE_FULL': expect.any(Number),
      'POST /proofs async 503 STORAGE_FULL': expect.any(Number),
    });
    expect(report.logLinesPerSecond).toBeLessThan(2);
    expect(report.idleCpu).toBeLessThan(0.5);
  },
);

it.skipIf(!mayMount).for(['SIGTERM', 'SIGKILL'] as const)(
  'a plane that ended by %s starts on a full disk, serves reads, and writes again once there is space (skipped where not root on Linux)',
  async (signal, test) => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-full-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const unmount = mountSmall(folder, 200);
    if (unmount === null) return test.skip('root may not mount here');
    undo.push(unmount);
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const before = await serve(dataDir);
    expect(await ask(before, '/events', { body: event({ runId: 'kept' }) })).toMatchObject({ status: 201 });
    before.child.kill(signal);
    await before.ended;
    const rest = join(folder, 'rest');
    takeRest(rest);

    const plane = await serve(dataDir);
    expect((await ask(plane, '/events?runId=kept')).body.events).toHaveLength(1);
    expect(plane.log().join('\n')).toContain('the disk is full: reads are served');
    writeFileSync(rest, '');
    await vi.waitFor(
      async () => expect(await ask(plane, '/events', { body: event() })).toMatchObject({ status: 201 }),
      { timeout: 10_000, interval: 200 },
    );
    plane.child.kill('SIGTERM');
    expect(await plane.ended).toBe(0);
  },
);

it.skipIf(!mayMount)(
  'a plane refuses to start on a full disk without a reserve, and blames no lock (skipped where not root on Linux)',
  async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-full-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const unmount = mountSmall(folder, 200);
    if (unmount === null) return test.skip('root may not mount here');
    undo.push(unmount);
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    rmSync(join(dataDir, 'reserve'));
    takeRest(join(folder, 'rest'));
    await expect(serve(dataDir)).rejects.toThrow('the disk is full; free space, then start again');
  },
);

it.skipIf(!mayMount).for([
  ['under load', 900],
  ['idle', 0],
] as const)(
  'a plane whose file system dies %s exits with 74 and keeps all acknowledged events (skipped where not root on Linux)',
  { timeout: 120_000 },
  async ([, loadMs], test) => {
    const disk = loopDisk();
    if (disk === null) return test.skip('root may not mount here');
    undo.push(() => disk.remove());
    expect(await killDisk(disk, loadMs)).toMatchObject({ exit: 74, lost: 0, fsckProblems: 0 });
  },
);
