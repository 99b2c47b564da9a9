/**
 * The disk of a plane is full, and much of it is artifacts of exports: recording goes on by itself once those that were
 * finished first are gone, and those that need not go stay. Needs root on Linux, for a tmpfs.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { mountSmall } from '../../faults/full.ts';
import { exportEnd } from '../../service/support/filled.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

const MiB = 1024 * 1024;
const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
const folder = mkdtempSync(join(tmpdir(), 'gov-exports-full-'));
let unmount: (() => void) | null = null;
let plane: TestPlane | undefined;

beforeAll(async () => {
  if (!mayMount) return;
  unmount = mountSmall(folder, 1024);
  vi.stubEnv('TMPDIR', folder);
  plane = await startPlane();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await plane?.end();
  unmount?.();
  rmSync(folder, { recursive: true, force: true });
});

/** So that so many bytes are free. */
function leave(bytes: number): void {
  const { bavail, blocks, bsize } = statfsSync(folder);
  const size = Math.ceil(((blocks - bavail) * bsize + bytes) / 4096) * 4096;
  execFileSync('mount', ['-o', `remount,size=${size}`, folder], { stdio: 'pipe' });
}

it.skipIf(!mayMount)(
  'a plane on a full disk records again once expired exports made room',
  { timeout: 150_000 },
  async ({ skip }) => {
    skip(unmount === null || plane === undefined, 'no right to mount a tmpfs');
    if (plane === undefined) return;
    const { call } = plane;
    const events = Array.from({ length: 200 }, () => event({ metadata: { text: 'x'.repeat(60_000) } }));
    expect((await call('POST', '/events/batch', { body: { events } })).status).toBe(201);
    const ids: string[] = [];
    for (let at = 0; at < 9; at++) {
      const { body } = await call('POST', '/exports', { body: { resource: 'audit_events', format: 'json' } });
      expect((await exportEnd(call, body.exportId)).status).toBe('completed');
      ids.push(body.exportId);
    }
    const health = async (): Promise<string> => JSON.stringify((await call('GET', '/health')).body.reasons);
    // until the reserve is let go, all of them would not be enough
    leave(MiB);
    for (let status = 201; status === 201;)
      ({ status } = await call('POST', '/events', {
        body: event({ metadata: { text: 'x'.repeat(60_000) } }),
      }));
    expect(await health()).toContain('storage_full');
    expect(await health()).toMatch(/disk_space_low: exports take [0-9.]+ MiB of it/);
    await expect
      .poll(async () => (await call('POST', '/events', { body: event() })).status, { timeout: 30_000 })
      .toBe(201);
    const statesOf = (): Promise<string[]> =>
      Promise.all(ids.map(async (id) => (await call('GET', `/exports/${id}`)).body.status));
    // what could not be marked at once is marked by a later round
    await expect.poll(statesOf, { timeout: 30_000 }).toContain('expired');
    const told = (): Promise<Answer['body'][]> =>
      call('GET', '/events?runId=gov.system&eventType=export.expired').then(({ body }) => body.events);
    const isOver = async (): Promise<boolean> =>
      (await told()).length === (await statesOf()).filter((state) => state === 'expired').length;
    await expect.poll(isOver, { timeout: 30_000 }).toBe(true);
    const states = await statesOf();
    expect(states.toSorted().toReversed()).toEqual(states);
    expect(new Set(states)).toEqual(new Set(['expired', 'completed']));
    expect((await call('GET', `/exports/${ids.at(-1)}/download`)).status).toBe(200);
    expect(await health()).not.toContain('storage_full');
  },
);
