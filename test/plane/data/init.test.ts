import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { silentLog } from '../../../src/service/call/log.ts';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'gov-init-'));
  folders.push(made);
  return made;
};
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

const modes = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, encoding: 'utf8' }).map((name) => [
      name,
      (statSync(join(directory, name)).mode & 0o777).toString(8),
    ]),
  );

describe('plane init', () => {
  it('git sees no file of a data directory, so that nobody commits its keys', async () => {
    const repository = folder();
    const git = (...args: string[]) => execFileSync('git', args, { cwd: repository, encoding: 'utf8' });
    git('init', '--quiet');
    await planeInit({ dataDir: join(repository, 'my-plane') });
    expect(git('status', '--porcelain', '--untracked-files=all')).toBe('');
  });

  it('plane init makes a directory that only its owner can enter, with keys, trust, log and key', async () => {
    const dataDir = join(folder(), 'nested', 'my-plane');
    const made = await planeInit({ dataDir });
    expect(made).toMatchObject({
      created: true,
      dataDir,
      name: 'my-plane',
      environment: 'production',
      listen: '127.0.0.1:7460',
    });
    expect((statSync(dataDir).mode & 0o777).toString(8)).toBe('700');
    const found = modes(dataDir);
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([
        'gov.db',
        'heads.db',
        'local.key',
        'agent.key',
        'plane.json',
        'trust',
        'keys/log.ed25519.pem',
        'keys/store.key',
      ]),
    );
    for (const [name, mode] of Object.entries(found))
      expect(mode, name).toBe(name === 'keys' ? '700' : '600');
    expect(made.approverKeyFile).toBeNull();
    expect(found).not.toHaveProperty(['approver.key']);
    const keys = [made.keyFile, made.agentKeyFile].map((path) => readFileSync(path, 'utf8'));
    for (const key of keys) expect(key).toMatch(/^gov_live_[0-9A-Za-z]{38}\n$/);
    expect(keys[0]).not.toBe(keys[1]);
    const file = readPlaneFile(join(dataDir, 'plane.json'));
    expect(file.origin).toBe(`gov.local/${file.projectId}/audit`);
    expect(file.meteringOrigin).toBe(`gov.local/${file.projectId}/metering/0`);
    const trust = parseTrust(readFileSync(made.trustFile, 'utf8'));
    expect([trust.origin, trust.keys[0]?.algorithm]).toEqual([file.origin, 'ed25519']);
  });

  it('plane init stores no secret in clear except in the two key files', async () => {
    const dataDir = join(folder(), 'plane');
    await planeInit({ dataDir });
    for (const keyFile of ['local.key', 'agent.key']) {
      const key = readFileSync(join(dataDir, keyFile), 'utf8').trim();
      for (const name of ['gov.db', 'heads.db', 'plane.json', 'trust']) {
        expect(readFileSync(join(dataDir, name)).includes(key), name).toBe(false);
        expect(readFileSync(join(dataDir, name)).includes(key.slice(13, -4)), name).toBe(false);
      }
    }
  });

  it('plane init finds an existing plane and changes nothing in it', async () => {
    const dataDir = join(folder(), 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:7470' });
    const before = readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mtimeMs);
    const again = await planeInit({ dataDir, listen: '127.0.0.1:7470', environment: 'production' });
    expect(again).toMatchObject({ created: false, listen: '127.0.0.1:7470' });
    for (const [other, why] of [
      [
        { listen: '127.0.0.1:9999' },
        /--listen 127\.0\.0\.1:7470, which .*plane\.json has, got .*:9999; noth/,
      ],
      [{ metricsListen: 'off' }, /--metrics-listen .*Set metricsListen in that file/],
      [{ environment: 'sandbox' }, /--environment production.*make another plane/],
    ] as const)
      await expect(planeInit({ dataDir, ...other })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(why),
      });
    expect(readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mtimeMs)).toEqual(before);
  });

  it('plane init refuses a directory with other files and accepts an empty one', async () => {
    const full = folder();
    writeFileSync(join(full, 'notes.txt'), 'mine');
    await expect(planeInit({ dataDir: full })).rejects.toThrow(/absent or empty/);
    expect(readdirSync(full)).toEqual(['notes.txt']);
    const empty = join(folder(), 'empty');
    mkdirSync(empty);
    expect((await planeInit({ dataDir: empty })).created).toBe(true);
  });

  it('plane init that fails leaves no files behind', async () => {
    const parent = folder();
    await expect(planeInit({ dataDir: join(parent, 'plane'), listen: 'nonsense' })).rejects.toThrow(
      /--listen/,
    );
    await expect(planeInit({ dataDir: join(parent, 'plane'), metricsListen: ':1' })).rejects.toThrow(
      /--metrics-listen/,
    );
    expect(readdirSync(parent)).toEqual([]);
  });

  it('plane init logs its keys in the first leaf and the key of the operator as an event', async () => {
    const dataDir = join(folder(), 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const plane = await planeServe({ dataDir, log: silentLog, env: {} });
    const headers = { authorization: `Bearer ${readFileSync(join(dataDir, 'local.key'), 'utf8').trim()}` };
    const entries = Buffer.from(
      await (await fetch(`${plane.baseUrl}/log/tile/entries/000.p/2`, { headers })).arrayBuffer(),
    );
    const genesis = JSON.parse(entries.toString('utf8', 2, 2 + entries.readUInt16BE(0))) as {
      type: string;
      keys: string[];
    };
    const keys = (await (await fetch(`${plane.baseUrl}/log/key`, { headers })).text()).trim().split('\n');
    expect(genesis).toMatchObject({ type: 'gov.genesis/1', keys });
    await plane.close();
  });
});

describe('plane serve', () => {
  const make = async (): Promise<string> => {
    const dataDir = join(folder(), 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    return dataDir;
  };
  const serve = (dataDir: string, options = {}) =>
    planeServe({ dataDir, log: silentLog, env: {}, ...options });

  it('plane serve says what is missing when there is no plane', async () => {
    await expect(serve(join(folder(), 'nothing'))).rejects.toThrow(/gov plane init/);
  });

  it('plane serve refuses keys that others may read, and keys that are damaged or missing', async () => {
    const dataDir = await make();
    const store = join(dataDir, 'keys/store.key');
    chmodSync(store, 0o644);
    await expect(serve(dataDir)).rejects.toThrow(/chmod 600/);
    chmodSync(store, 0o600);
    const log = join(dataDir, 'keys/log.ed25519.pem');
    const pem = readFileSync(log, 'utf8');
    writeFileSync(log, 'nonsense');
    await expect(serve(dataDir)).rejects.toThrow(/private key/);
    rmSync(log);
    await expect(serve(dataDir)).rejects.toThrow(/backup/);
    writeFileSync(log, pem, { mode: 0o600 });
    await (await serve(dataDir)).close();
  });

  it('plane serve refuses keys of another plane, and refuses to start without a key that the log pins', async () => {
    const [dataDir, other] = [await make(), await make()];
    const names = ['log.ed25519.pem', 'log.mldsa44.pem'].filter((name) =>
      existsSync(join(dataDir, 'keys', name)),
    );
    for (const name of names) {
      const path = join(dataDir, 'keys', name);
      const own = readFileSync(path);
      writeFileSync(path, readFileSync(join(other, 'keys', name)));
      await expect(serve(dataDir), name).rejects.toMatchObject({
        code: 'STORAGE_FAULT',
        message: expect.stringMatching(
          new RegExp(
            `first leaf.*\\(keys/${name}\\) is missing and .*\\(keys/${name}\\) is here instead.*backup`,
          ),
        ),
      });
      rmSync(path);
      await expect(serve(dataDir), name).rejects.toMatchObject({
        code: 'STORAGE_FAULT',
        message: expect.stringMatching(/backup/),
      });
      writeFileSync(path, own, { mode: 0o600 });
    }
    await (await serve(dataDir)).close();
  });

  it('plane serve takes its address from the flag, then the environment, then the file', async () => {
    const dataDir = await make();
    const path = join(dataDir, 'plane.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...file, listen: '127.0.0.2:0' }));
    const host = async (options: object): Promise<string> => {
      const plane = await serve(dataDir, options);
      await plane.close();
      return new URL(plane.baseUrl).hostname;
    };
    expect(await host({})).toBe('127.0.0.2');
    expect(await host({ env: { GOV_LISTEN: '127.0.0.3:0' } })).toBe('127.0.0.3');
    expect(await host({ env: { GOV_LISTEN: '127.0.0.3:0' }, listen: '127.0.0.4:0' })).toBe('127.0.0.4');
    expect(await host({ listen: '0.0.0.0:0' })).toBe('127.0.0.1');
  });

  it('plane serve releases the data directory when it cannot listen', async () => {
    const dataDir = await make();
    const first = await serve(dataDir);
    const second = await make();
    await expect(serve(second, { listen: new URL(first.baseUrl).host })).rejects.toThrow(
      /another program listens there/,
    );
    await (await serve(second)).close();
    await first.close();
    await first.close();
  });

  it('plane serve starts in less than a second', async () => {
    const dataDir = await make();
    const plane = await serve(dataDir);
    expect(plane.startedInMs).toBeLessThan(1000); // 30 to 80 ms on an idle machine; tests share theirs
    expect(existsSync(join(dataDir, 'run.json'))).toBe(true);
    expect(basename(dataDir)).toBe('plane');
    await plane.close();
  });

  it('plane serve shows metrics on a separate port only', async () => {
    const dataDir = await make();
    const plane = await serve(dataDir, { metricsListen: '127.0.0.1:0' });
    const text = await (await fetch(plane.metricsUrl ?? '')).text();
    // counted from the start of the process, not from the first scrape
    const cpu = (name: string): number =>
      Number(new RegExp(`^process_cpu_${name}seconds_total (\\S+)`, 'm').exec(text)?.[1]);
    const { user, system } = process.cpuUsage();
    expect(cpu('')).toBeGreaterThan(((user + system) / 1e6) * 0.8);
    expect(cpu('')).toBeCloseTo(cpu('user_') + cpu('system_'), 3);
    for (const name of [
      'gov_writable 1',
      'gov_log_leaves 3',
      'gov_write_queue ',
      'process_cpu_seconds_total',
    ]) {
      expect(text).toContain(name);
    }
    await fetch(`${plane.baseUrl}/health`);
    const again = await (await fetch(plane.metricsUrl ?? '')).text();
    expect(again).toContain('gov_requests_total{operation="getHealth",status="200"} 1');
    expect(again).toContain('gov_request_seconds_count{operation="getHealth"} 1');
    expect((await fetch(new URL('/metrics', plane.baseUrl))).status).toBe(404);
    expect((await fetch(new URL('/other', plane.metricsUrl ?? ''))).status).toBe(404);
    await plane.close();
  });
});
