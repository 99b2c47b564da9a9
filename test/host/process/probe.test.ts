import { chmodSync, mkdtempSync, rmSync, statSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { mountSmall } from '../../faults/full.ts';
import { createDatabaseProbe, createProbe } from '../../../src/host/process/probe.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-probe-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the write probe', () => {
  it('the write probe finds no problem in a writable directory and writes at most once a second', async () => {
    let nowMs = 0;
    const probe = createProbe(folder, () => nowMs);
    expect(await probe()).toEqual([]);
    const first = statSync(join(folder, 'probe')).mtimeMs;
    await Promise.all([probe(), probe(), probe()]);
    expect(statSync(join(folder, 'probe')).mtimeMs).toBe(first);
    nowMs = 1001;
    expect(await probe()).toEqual([]);
    expect(statSync(join(folder, 'probe')).mtimeMs).toBeGreaterThanOrEqual(first);
    expect((statSync(join(folder, 'probe')).mode & 0o777).toString(8)).toBe('600');
  });

  it('the write probe reports that nothing can be written', async () => {
    const gone = createProbe(join(folder, 'gone'), () => 0);
    expect(await gone()).toEqual(['write_probe_failed', 'disk_space_low']);
    const blocked = join(folder, 'blocked');
    mkdirSync(join(blocked, 'probe'), { recursive: true });
    chmodSync(blocked, 0o700);
    expect(await createProbe(blocked, () => 0)()).toEqual(['write_probe_failed']);
  });
});

it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'the write probe reports how much exports use of a disk that is low (skipped where not root on Linux: needs a tmpfs)',
  async () => {
    const low = join(folder, 'low');
    mkdirSync(low);
    const unmount = mountSmall(low, 64);
    if (unmount === null) return; // a container without the right to mount
    try {
      expect(await createProbe(low, () => 0)()).toEqual(['disk_space_low']);
      mkdirSync(join(low, 'exports', 'prj_a'), { recursive: true });
      writeFileSync(join(low, 'exports', 'prj_a', 'exp_1.a'), Buffer.alloc(1_048_576));
      expect(await createProbe(low, () => 0)()).toEqual(['disk_space_low: exports take 1.0 MiB of it']);
    } finally {
      unmount();
    }
  },
);

describe('the probe of a database', () => {
  it('the database probe commits at most once a second, and reports a commit that failed', async () => {
    let nowMs = 0;
    const commits = [async () => {}, async () => Promise.reject(new Error('no')), async () => {}];
    const commit = vi.fn(async () => commits.shift()?.());
    const probe = createDatabaseProbe(commit, () => nowMs);
    expect(await Promise.all([probe(), probe()])).toEqual([[], []]);
    expect(commit).toHaveBeenCalledTimes(1);
    nowMs = 1001;
    expect(await probe()).toEqual(['write_probe_failed']);
    nowMs = 2002;
    expect(await probe()).toEqual([]);
  });

  it('the database probe waits three seconds for a commit that does not end', async () => {
    vi.useFakeTimers();
    const probe = createDatabaseProbe(
      () => new Promise(() => {}),
      () => 0,
    );
    const asked = probe();
    await vi.advanceTimersByTimeAsync(3000);
    expect(await asked).toEqual(['write_probe_failed']);
    vi.useRealTimers();
  });
});
