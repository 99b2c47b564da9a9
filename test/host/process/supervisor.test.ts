/** What a process tells its supervisor: by a stand-in for systemd-notify, and by the real one where there is Python. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { openSupervisor, progressOf } from '../../../src/host/process/supervisor.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { serving } from '../../cli/support/tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-notify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const said = join(folder, 'said');
writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$*" >> '${said}'\n`, { mode: 0o755 });
const env = { NOTIFY_SOCKET: '@none', PATH: `${folder}:/usr/bin:/bin` };
const lines = (): string[] => (existsSync(said) ? readFileSync(said, 'utf8').trim().split('\n') : []);
const forget = (): void => rmSync(said, { force: true });
const until = (holds: () => boolean) => vi.waitUntil(holds, { timeout: 20_000, interval: 20 });

describe('a supervisor', () => {
  it('a supervisor gets messages of start, life, reload and stop, in this order', async () => {
    forget();
    const alive = openSupervisor({
      env: { ...env, WATCHDOG_USEC: '150000' },
      log: silentLog,
      isAlive: async () => true,
    });
    alive.ready('serving at x');
    await until(() => lines().filter((line) => line === 'WATCHDOG=1').length > 1);
    alive.reloading();
    alive.ready('serving at x');
    await alive.stopping();
    const [first = '', ...more] = lines();
    expect(first).toBe('READY=1 STATUS=serving at x');
    expect(more.filter((line) => line !== 'WATCHDOG=1')).toEqual([
      expect.stringMatching(/^RELOADING=1 MONOTONIC_USEC=[0-9]+$/),
      'READY=1 STATUS=serving at x',
      'STOPPING=1',
    ]);
    expect(more.at(-1)).toBe('STOPPING=1');
  });

  it.each([
    ['says no', async () => false],
    ['fails', () => Promise.reject(new Error('the store is closed'))],
  ])('a supervisor gets no sign of life when the question for progress %s', async (_, answer) => {
    forget();
    const isAlive = vi.fn(answer);
    const supervisor = openSupervisor({ env: { ...env, WATCHDOG_USEC: '60000' }, log: silentLog, isAlive });
    supervisor.ready('x');
    await until(() => isAlive.mock.calls.length > 2);
    await supervisor.stopping();
    expect(lines()).toEqual(['READY=1 STATUS=x', 'STOPPING=1']);
  });

  it.each([{ WATCHDOG_USEC: '60000', WATCHDOG_PID: '1' }, { WATCHDOG_USEC: 'soon' }, {}])(
    'a supervisor gets no sign of life when it watches another process or none: %j',
    async (more) => {
      forget();
      const repeated = vi.spyOn(globalThis, 'setInterval');
      onTestFinished(() => repeated.mockRestore());
      const isAlive = async (): Promise<boolean> => true;
      const supervisor = openSupervisor({ env: { ...env, ...more }, log: silentLog, isAlive });
      supervisor.ready('x');
      expect(repeated).not.toHaveBeenCalled();
      await supervisor.stopping();
      expect(lines()).toEqual(['READY=1 STATUS=x', 'STOPPING=1']);
    },
  );

  it('an unreachable supervisor causes one warning and stops nothing', async () => {
    const warned: string[] = [];
    const log = { ...silentLog, warn: (_details: object, text: string) => warned.push(text) };
    const supervisor = openSupervisor({
      env: { NOTIFY_SOCKET: '@none', PATH: '/nowhere' },
      log,
      isAlive: async () => true,
    });
    supervisor.ready('x');
    supervisor.reloading();
    await supervisor.stopping();
    expect(warned).toEqual([
      expect.stringMatching(/systemd-notify to reach systemd, but it ended with 127; use Type=exec/),
    ]);
  });
});

describe('writing', () => {
  it('writing counts as alive while nothing waits, records are committed or the disk is full', async () => {
    let now = { size: 1, queued: 0, full: false };
    const isAlive = progressOf(async () => now);
    const at = (size: number, queued: number, full = false): Promise<boolean> => {
      now = { size, queued, full };
      return isAlive();
    };
    expect(await at(1, 0)).toBe(true);
    expect(await at(1, 5)).toBe(true); // may have come just now
    expect(await at(2, 5)).toBe(true);
    expect(await at(2, 5)).toBe(true);
    expect(await at(2, 5)).toBe(false);
    expect(await at(2, 9)).toBe(false);
    expect(await at(2, 9, true)).toBe(true);
    expect(await at(3, 9)).toBe(true);
    expect(await at(3, 0)).toBe(true);
  });
});

/** As systemd reads NOTIFY_SOCKET; closes the descriptor of BARRIER=1, for which the sender waits. */
const receiver = `
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    data, ancillary, flags, address = s.recvmsg(4096, 4096)
    for level, kind, fds in ancillary:
        each = array.array('i')
        each.frombytes(fds[:len(fds) - len(fds) % 4])
        for fd in each: os.close(fd)
    print(data.decode().replace('\\n', ' '), flush=True)
`;
const hasTools =
  spawnSync('systemd-notify', ['--version']).status === 0 && spawnSync('python3', ['-V']).status === 0;

describe('a plane under systemd', () => {
  it.skipIf(!hasTools)(
    'a plane under systemd reports READY=1, pings, reloads on SIGHUP and reports STOPPING=1',
    async () => {
      const dataDir = join(folder, 'plane');
      await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
      const socket = join(folder, 'notify');
      const python = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(() => void python.kill('SIGKILL'));
      const heard: string[] = [];
      createInterface(python.stdout).on('line', (line) => heard.push(line));
      await until(() => heard.includes('bound'));
      const plane = await serving(['plane', 'serve', '--data', dataDir], {
        env: { GOV_CONFIG_DIR: join(folder, 'config'), NOTIFY_SOCKET: socket, WATCHDOG_USEC: '300000' },
        cwd: folder,
      });
      const has = (text: string): boolean => heard.some((line) => line.startsWith(text));
      await until(() => has(`READY=1 STATUS=serving at ${plane.baseUrl}`) && has('WATCHDOG=1'));
      plane.child.kill('SIGHUP');
      await until(() => has('RELOADING=1'));
      await plane.stop();
      await until(() => has('STOPPING=1'));
      expect(heard.filter((line) => line.startsWith('READY=1')).length).toBe(2);
    },
  );
});
