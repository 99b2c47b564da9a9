/** `gov quickstart` as a user runs it: a real plane, nothing left running, everything that it says is true. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { data, hasData } from '../../../paths.ts';
import { cleanEnv, emptyDirectory, ended, gov, runner, shell } from '../../support/tool.ts';

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

/** Folders for temporary files that hold a quickstart. */
const left = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith('gov-quickstart'));

describe.concurrent('gov quickstart', () => {
  it('gov quickstart lets policies decide three payments, proves the run and refuses a changed copy', async () => {
    const { folder, env } = workspace();
    const TMPDIR = emptyDirectory();
    const done = await gov(['quickstart', '--data', folder], { env: { ...env, TMPDIR } });
    expect(done.code, done.stderr).toBe(0);
    expect(done.stdout).toMatch(/✓ allowed {3}184\.5 to .*: paid/);
    expect(done.stdout).toMatch(
      /✓ approved {2}1290 to .*: approved by a key file in place of a person, then paid\n +apr_/,
    );
    expect(done.stdout).toMatch(/✗ denied {4}7450 to .*: nothing ran\n.*7450 > 5000/);
    expect(done.stdout).toMatch(/authentic ✓ {2}compliant ✓/);
    expect(done.stdout).toMatch(/none missing: by the operator's own index \(exactly 11 events/);
    expect(done.stdout).toMatch(/"amount":7450 → "amount":74500\n.*refused.*DISCLOSURE_MISMATCH/);
    expect(left(TMPDIR)).toEqual([]);
    expect(readdirSync(folder).toSorted()).toEqual([
      'policies',
      'run.govproof.json',
      'tampered.govproof.json',
      'trust',
    ]);
    const trust = ['--trust', join(folder, 'trust')];
    const verified = async (file: string) =>
      (await gov(['proofs', 'verify', join(folder, file), ...trust], { env })).code;
    expect([await verified('run.govproof.json'), await verified('tampered.govproof.json')]).toEqual([0, 3]);
  });

  it('gov quickstart ends with three commands that work when they are pasted', async () => {
    const { env } = workspace();
    const cwd = emptyDirectory();
    const done = await gov(['quickstart', '--data', "it's here"], { env, cwd });
    expect(done.code, done.stderr).toBe(0);
    const commands = done.stdout
      .slice(done.stdout.indexOf('Next\n') + 5)
      .trim()
      .split('\n');
    expect(commands).toHaveLength(3);
    const [verify, init, serve] = commands.map((line) => line.trim().replace(/^\S+/, 'gov'));
    expect((await shell(`${verify} && ${init}`, { env, cwd })).code).toBe(0);
    expect(serve).toBe('gov plane serve --data ./my-plane');
    expect(existsSync(join(cwd, 'my-plane/plane.json'))).toBe(true);
    // again, in the same folder
    expect((await gov(['quickstart', '--data', "it's here"], { env, cwd })).code).toBe(0);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'gov quickstart that %s ends has exit code %i, and leaves no process and no temporary files',
    async (signal, code) => {
      const { folder, env } = workspace();
      const TMPDIR = emptyDirectory();
      const argv = [runner, 'quickstart', '--data', folder];
      const child = spawn(process.execPath, argv, { env: cleanEnv({ ...env, TMPDIR }) });
      const done = ended(child);
      await once(child.stdout, 'data');
      const [made = ''] = left(TMPDIR);
      const { pid } = JSON.parse(readFileSync(join(TMPDIR, made, 'plane/run.json'), 'utf8')) as {
        pid: number;
      };
      child.kill(signal);
      child.kill(signal);
      expect(await done).toMatchObject({ code, stderr: '' });
      expect(left(TMPDIR)).toEqual([]);
      expect(isRunning(pid)).toBe(false);
    },
  );

  it('gov quickstart that fails leaves nothing in the folder for temporary files', async () => {
    const { folder, env } = workspace();
    const TMPDIR = emptyDirectory();
    mkdirSync(join(folder, 'trust'), { recursive: true });
    const done = await gov(['quickstart', '--data', folder], { env: { ...env, TMPDIR } });
    expect(done.code).toBe(1);
    expect(left(TMPDIR)).toEqual([]);
  });

  it('gov quickstart names a folder that it cannot make', async () => {
    const { env } = workspace();
    const done = await gov(['quickstart', '--data', '/dev/null/demo'], { env });
    expect(done).toMatchObject({ code: 1, stdout: '' });
    expect(done.stderr).toMatch(/cannot make \/dev\/null\/demo: a file blocks the path\n.*--data DIR/);
  });

  it('gov quickstart --keep leaves the plane running with a context, and does not change the current one', async () => {
    const { folder, env } = workspace();
    await gov(['context', 'set', 'mine', '--base-url', 'https://gov.example.com'], { env });
    await gov(['context', 'use', 'mine'], { env });
    const done = await gov(['quickstart', '--keep', '--data', folder], { env });
    expect(done.code, done.stderr).toBe(0);
    expect(done.stderr).toContain('made the context quickstart; the current context stays mine\n');
    const { pid } = JSON.parse(readFileSync(join(folder, 'plane/run.json'), 'utf8')) as { pid: number };
    try {
      for (const line of ['runs show payables-demo', 'events list --decision deny']) {
        expect(done.stdout).toContain(`gov ${line} -C quickstart\n`);
        const shown = await gov([...line.split(' '), '-C', 'quickstart'], { env });
        expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('ledger.pay') });
      }
      expect((await gov(['log', 'fsck', '--data', join(folder, 'plane'), '--deep'], { env })).code).toBe(0);
      const again = await gov(['quickstart', '--keep', '--data', folder], { env });
      expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('a folder without a plane') });
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
    expect(JSON.parse(done.stdout)).toMatchObject({
      runId: 'mine',
      events: 2,
      verified: true,
      compliant: 'not_governed',
    });
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
