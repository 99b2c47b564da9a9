/** Stopping a real process that serves a plane, and leaving every other process alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../../plane/data/init.ts';
import { projectRoot } from '../../../paths.ts';
import { Account } from '../../support/account.ts';
import { serving } from '../../support/tool.ts';

const account = new Account();
const dataDir = join(account.folder, 'plane');
const stop = (...words: string[]) => account.gov(['plane', 'stop', '--data', dataDir, ...words]);
const start = () => serving(['plane', 'serve', '--data', dataDir], { env: account.env, cwd: account.folder });
const pidOf = (): number =>
  (JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as { pid: number }).pid;
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

beforeAll(() => planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' }));

describe('gov plane stop', { timeout: 60_000 }, () => {
  it('ends the serving process in order, and is done at once where none serves', async () => {
    const { child } = await start();
    const ended = once(child, 'exit');
    const pid = pidOf();
    const { code, stdout } = await stop('-o', 'json');
    expect([code, JSON.parse(stdout)]).toEqual([0, { dataDir, result: 'stopped', pid }]);
    expect((await ended)[0]).toBe(0);
    expect(existsSync(join(dataDir, 'run.json'))).toBe(false);
    expect(JSON.parse((await stop('-o', 'json')).stdout)).toEqual({
      dataDir,
      result: 'not serving',
      pid: null,
    });
  });

  it('is named by a second process that wants to serve the same directory', async () => {
    const { child } = await start();
    const ended = once(child, 'exit');
    const pid = pidOf();
    const { code, stderr } = await account.gov(['plane', 'serve', '--data', dataDir, '-o', 'json']);
    const { error } = JSON.parse(stderr) as { error: unknown };
    expect([code, error]).toMatchObject([
      6,
      {
        message: expect.stringContaining(`process ${pid} holds it`),
        next: [`gov plane status --data ${dataDir}`, `gov plane stop --data ${dataDir}`],
      },
    ]);
    child.kill('SIGTERM');
    await ended;
  });

  it('does not signal a process whose id a killed plane left in run.json', async () => {
    const other = spawn('sleep', ['60']);
    try {
      writeFileSync(join(dataDir, 'run.json'), JSON.stringify({ pid: other.pid }));
      expect((await stop()).code).toBe(0);
      expect(isRunning(other.pid ?? 0)).toBe(true);
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('does not signal a process that uses the directory without serving it', async () => {
    const script = join(projectRoot, 'test/store/file/hold-lock.ts');
    const holder = spawn(process.execPath, [script, join(dataDir, 'lock')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(holder.stdout, 'data');
      const { code, stderr } = await stop();
      expect([code, stderr]).toEqual([6, expect.stringContaining(`got process ${holder.pid} that uses it`)]);
      expect(isRunning(holder.pid ?? 0)).toBe(true);
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
  });

  it('waits for --timeout, and kills only with --force', async () => {
    const { child } = await start();
    const pid = pidOf();
    // a stopped process cannot act on SIGTERM
    child.kill('SIGSTOP');
    const { code, stderr } = await stop('--timeout', '300ms');
    expect([code, stderr]).toEqual([8, expect.stringContaining(`process ${pid} still serves`)]);
    expect(isRunning(pid)).toBe(true);
    const forced = await stop('--timeout', '300ms', '--force', '-o', 'json');
    expect([forced.code, JSON.parse(forced.stdout)]).toMatchObject([0, { result: 'killed', pid }]);
  });

  it('names a directory that is not a data plane', async () => {
    const { code, stderr } = await account.gov(['plane', 'stop', '--data', account.folder]);
    expect([code, stderr]).toEqual([5, expect.stringContaining('expected a plane at')]);
  });
});
