/** An enrolled plane whose keys change, killed at each step: it starts, signs, and its service knows it as before. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import { planeDoctor } from '../../../plane/serve/doctor.ts';
import { retireKeys, rotateKeys } from '../../../plane/keys/rotate.ts';
import { signed } from '../../../plane/keys/change.ts';
import type { KeyOrder } from '../../../plane/keys/order.ts';
import type { KeyChangeResult } from '../../../plane/keys/order.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { readKeys, telemetryKeyFile } from '../../../src/host/keys/disk.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { projectRoot } from '../../paths.ts';
import { enrolFake, openTelemetryPlane, setClock } from '../support/enrolled.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-rotatecrash-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const copied = (from: string, name: string): string => {
  // without the space that a start reserves
  cpSync(at(from), at(name), { recursive: true, filter: (path) => basename(path) !== 'reserve' });
  return at(name);
};
const knownAs = (dataDir: string): string | undefined =>
  readKeys(dataDir).telemetrySigners('log')[0]?.verifierKey;
const keyFiles = (dataDir: string, below = ''): string[] =>
  readdirSync(join(dataDir, 'keys', below)).filter((name) => name.startsWith('log.'));
const serving = async (dataDir: string): Promise<void> =>
  (await planeServe({ dataDir, log: silentLog, env: {} })).close();
const pinned = async (dataDir: string) =>
  (await planeDoctor({ dataDir, env: {} })).checks.find(({ name }) => name === 'pinned keys');
const killed = (dataDir: string, order: KeyOrder, step: number) =>
  spawnSync(
    process.execPath,
    [join(projectRoot, 'test/plane/keys/rotate-kill.ts'), dataDir, order, `${step}`],
    {
      encoding: 'utf8',
    },
  );

beforeAll(async () => {
  const dataDir = at('enrolled');
  setClock(Date.now() - 4_000_000);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const plane = openTelemetryPlane(dataDir);
  enrolFake(dataDir);
  await plane.record(2);
  setClock(Date.now() + 3_700_000);
  await plane.telemetry.look();
  expect(plane.reports()).toHaveLength(1);
  await plane.end();
  vi.useRealTimers();
  expect(readdirSync(dataDir)).toContain('telemetry.db');
  await rotateKeys(copied('enrolled', 'rotated'));
});

describe('a plane that is killed while its keys', { timeout: 120_000 }, () => {
  it.each([
    ['rotate', 'enrolled'],
    ['retire', 'rotated'],
  ] as const)(
    'a plane killed at any step while its keys %s has them in order after the next start',
    async (order, from) => {
      const before = knownAs(at(from));
      const whole = copied(from, `${order}-whole`);
      const steps = Number(killed(whole, order, 0).stdout);
      expect(steps).toBeGreaterThan(3);
      for (let step = 1; step <= steps; step++) {
        const dataDir = copied(from, `${order}-${step}`);
        expect([step, killed(dataDir, order, step).signal]).toEqual([step, 'SIGKILL']);
        // also for what reads keys before that start
        expect([step, knownAs(dataDir)]).toEqual([step, before]);
        await serving(dataDir);
        expect([step, knownAs(dataDir)]).toEqual([step, before]);
        expect(readdirSync(join(dataDir, 'keys')).filter((name) => name.endsWith('.tmp'))).toEqual([]);
        // the leaf holds, or the same command is given again
        if (
          keyFiles(dataDir).length !== keyFiles(whole).length ||
          keyFiles(dataDir)[0] !== keyFiles(whole)[0]
        )
          await (order === 'rotate' ? rotateKeys : retireKeys)(dataDir);
        expect([step, keyFiles(dataDir)]).toEqual([step, keyFiles(whole)]);
        expect([step, knownAs(dataDir)]).toEqual([step, before]);
        if (step === steps) expect((await fsck({ dataDir, deep: true, env: {} })).problems).toEqual([]);
        rmSync(dataDir, { recursive: true });
      }
    },
  );
});

describe('keys that a former release left between two places', { timeout: 60_000 }, () => {
  it('half a pair of keys left by a former release does not prevent the start of a plane', async () => {
    const dataDir = copied('rotated', 'half');
    await retireKeys(dataDir);
    renameSync(join(dataDir, 'keys/retired/log.mldsa44.pem'), join(dataDir, 'keys/log.mldsa44.pem'));
    await serving(dataDir);
    expect(keyFiles(dataDir)).toEqual(['log.2.ed25519.pem', 'log.2.mldsa44.pem']);
  });

  it('retired keys left between two places by a former release cause no error in checks and backups', async () => {
    const dataDir = copied('rotated', 'between');
    await retireKeys(dataDir);
    renameSync(join(dataDir, 'keys/retired/log.ed25519.pem'), join(dataDir, 'keys/log.ed25519.pem'));
    expect(await pinned(dataDir)).toMatchObject({ status: 'ok' });
    await planeBackup({ dataDir, out: at('between-copy'), withKeys: true });
    await serving(at('between-copy'));
    const coming = copied('rotated', 'coming');
    mkdirSync(join(coming, 'keys/next'), { mode: 0o700 });
    renameSync(join(coming, 'keys/log.2.mldsa44.pem'), join(coming, 'keys/next/log.2.mldsa44.pem'));
    expect(await pinned(coming)).toMatchObject({ status: 'ok' });
    rmSync(join(coming, 'keys/next'), { recursive: true });
    expect(await pinned(coming)).toMatchObject({ status: 'fail' });
  });

  it('a torn key file that the log never named does not prevent the start of a plane', async () => {
    const dataDir = copied('enrolled', 'torn-next');
    mkdirSync(join(dataDir, 'keys/next'), { mode: 0o700 });
    writeFileSync(join(dataDir, 'keys/next/log.2.ed25519.pem'), '', { mode: 0o600 });
    expect(await pinned(dataDir)).toMatchObject({ status: 'ok' });
    await serving(dataDir);
    expect(await rotateKeys(dataDir)).toMatchObject({ change: 'add', warning: null });
  });

  it('a start copies the telemetry key again when the copy is damaged', async () => {
    const dataDir = copied('rotated', 'torn');
    const before = knownAs(dataDir);
    const kept = join(dataDir, 'keys', telemetryKeyFile);
    writeFileSync(kept, '', { mode: 0o600 });
    expect(() => knownAs(dataDir)).toThrow(/enrol it again.*gov planes token.*--force/);
    await retireKeys(dataDir);
    expect(knownAs(dataDir)).toBe(before);
  });
});

describe('secrets that a killed process left', () => {
  it('a start removes drafts of secrets that a killed process left, and keeps those of a living process', async () => {
    const dataDir = copied('enrolled', 'drafts');
    const ended = spawnSync('true').pid;
    const draft = (name: string, pid: number): string => join(dataDir, `keys/${name}.${pid}.tmp`);
    const kept = draft('telemetry.json', process.ppid);
    for (const path of [
      draft('telemetry.json', ended),
      draft('enrolment-request.json', ended),
      draft(telemetryKeyFile, ended),
      kept,
    ])
      writeFileSync(path, 'gov_hyb_…', { mode: 0o600 });
    await serving(dataDir);
    const left = readdirSync(join(dataDir, 'keys')).filter((name) => name.endsWith('.tmp'));
    expect(left).toEqual([basename(kept)]);
  });
});

describe('what fails after the leaf', () => {
  it('a change of keys reports a failure after the leaf as a warning, and the next start repairs it', async () => {
    const dataDir = copied('rotated', 'blocked');
    const retired = join(dataDir, 'keys/retired');
    writeFileSync(retired, 'no folder');
    const { change, warning } = await retireKeys(dataDir);
    expect([change, warning]).toEqual([
      'retire',
      expect.stringMatching(/^EEXIST.*the next start of the plane puts files and keys in order$/),
    ]);
    rmSync(retired);
    await serving(dataDir);
    expect(keyFiles(dataDir, 'retired')).toEqual(['log.ed25519.pem', 'log.mldsa44.pem']);
    expect((await fsck({ dataDir, deep: true, env: {} })).problems).toEqual([]);
  });

  it('a change of keys reports a failure to sign as a warning too', async () => {
    const changed = { leaf: 7, warning: null } as KeyChangeResult;
    const full = () => Promise.reject(new Error('disk full'));
    const { leaf, warning } = await signed(changed, full);
    expect([leaf, warning]).toEqual([7, expect.stringContaining('keys in force yet: disk full')]);
  });
});
