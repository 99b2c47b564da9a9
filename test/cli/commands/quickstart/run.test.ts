/** `gov quickstart` as a user runs it: a real plane, nothing left running, everything that it says is true. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { data, hasData } from '../../../paths.ts';
import { emptyDirectory, gov } from '../../support/tool.ts';

const workspace = () => {
  const folder = emptyDirectory();
  return { folder: join(folder, 'demo'), env: { GOV_CONFIG_DIR: join(folder, 'config') } };
};

interface Summary {
  readonly runId: string;
  readonly events: number;
  readonly verified: boolean;
  readonly tamperedRefused: boolean;
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('gov quickstart', () => {
  it('gov quickstart records and proves the example run, verifies offline and refuses a changed copy', async () => {
    const { folder, env } = workspace();
    const done = await gov(['quickstart', '--data', folder], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toMatch(/Recorded {2}27 events of run payables-2026-11-20/);
    expect(done.stdout).toMatch(/✓ verified/);
    expect(done.stdout).toMatch(/none missing: proven \(exactly 27 events/);
    expect(done.stdout).toMatch(/no policy was active/);
    expect(done.stdout).toMatch(/"amount":7450 → "amount":74500\n.*refused.*DISCLOSURE_MISMATCH/);
    expect(done.stdout).toMatch(/approval\.granted {2}Dana Okafor → inv-1004/);
  });

  it('gov quickstart leaves no process and no lock, and its files verify again', async () => {
    const { folder, env } = workspace();
    const done = await gov(['quickstart', '--data', folder], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(existsSync(join(folder, 'plane/run.json'))).toBe(false);
    const trust = ['--trust', join(folder, 'plane/trust')];
    expect((await gov(['proofs', 'verify', join(folder, 'run.govproof.json'), ...trust], { env })).code).toBe(
      0,
    );
    expect(
      (await gov(['proofs', 'verify', join(folder, 'tampered.govproof.json'), ...trust], { env })).code,
    ).toBe(3);
    expect((await gov(['log', 'fsck', '--data', join(folder, 'plane'), '--deep'], { env })).code).toBe(0);
  });

  it('gov quickstart --keep leaves the plane running and makes it the current context', async () => {
    const { folder, env } = workspace();
    const done = await gov(['quickstart', '--keep', '--data', folder, '-o', 'json'], { env });
    expect(done.code, done.stderr).toBe(0);
    const { pid } = JSON.parse(readFileSync(join(folder, 'plane/run.json'), 'utf8')) as { pid: number };
    try {
      const listed = await gov(['runs', 'list', '-o', 'id'], { env });
      expect(listed.stdout.split('\n')).toContain('payables-2026-11-20');
    } finally {
      process.kill(pid, 'SIGTERM');
    }
    await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
  });

  it('gov quickstart records events of the user, run by run', async () => {
    const { folder, env } = workspace();
    const event = { eventType: 'tool.call', actor: 'a', action: 'b', timestamp: '2026-01-05T09:00:00Z' };
    const lines = ['mine', 'other', 'mine'].map((runId) => JSON.stringify({ runId, ...event }));
    const file = join(emptyDirectory(), 'run.ndjson');
    writeFileSync(file, lines.join('\n'));
    const done = await gov(['quickstart', '--data', folder, file, '-o', 'json'], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ runId: 'mine', events: 3, verified: true });
  });

  it('gov quickstart names a file that it cannot read', async () => {
    const { folder, env } = workspace();
    const done = await gov(['quickstart', '--data', folder, '/nonexistent.json'], { env });
    expect(done.code).toBe(2);
    expect(done.stderr).toMatch(/\/nonexistent\.json/);
  });

  const files = [
    'openhands/trajs__basic.json',
    'swe-agent/function_calling_simple.traj',
    'langfuse-framework-traces/crewai-2025-07-11.trace.json',
    'tau-bench/gpt-4o-airline.json',
  ];
  it.skipIf(!hasData).each(files)('gov quickstart records %s (needs the recorded runs)', async (file) => {
    const { folder, env } = workspace();
    const done = await gov(['quickstart', '--data', folder, data(file), '-o', 'json'], { env });
    expect(done.code, done.stderr).toBe(0);
    const summary = JSON.parse(done.stdout) as Summary;
    expect(summary).toMatchObject({ verified: true, tamperedRefused: true });
    expect(summary.events).toBeGreaterThan(0);
  });
});
