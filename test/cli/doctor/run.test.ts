/** Every check of `gov doctor`, against a real plane and the files of a user. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DoctorFinding } from '../../../src/cli/doctor/finding.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { Account } from '../support/account.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({
    extraKeys: {
      reader: { scopes: ['events:read'] },
      ending: { scopes: ['*'], expiresMs: Date.now() + 86_400_000 },
    },
  });
});
afterAll(() => plane.end());

let account: Account;
beforeEach(() => {
  account = new Account({ GOV_SYSTEM_CONFIG: '/dev/null/none' });
  mkdirSync(join(account.folder, 'config'));
});

const configure = (text: string): void => writeFileSync(join(account.folder, 'config/config.json'), text);
const usePlane = (): Promise<unknown> => account.gov(['context', 'set', 'local', '--data', plane.dataDir]);

async function doctor(options: Parameters<Account['gov']>[1] = {}, words: readonly string[] = []) {
  const { code, stdout } = await account.gov(['doctor', '-o', 'json', ...words], options);
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: DoctorFinding[] };
  const of = (name: string) => checks.find((each) => each.name === name);
  return { code, ok, checks, of, statusOf: (name: string) => of(name)?.status };
}

describe('gov doctor', () => {
  it('without a context, skips what needs a service, fails nothing and names the next step', async () => {
    const { code, ok, of, checks, statusOf } = await doctor();
    expect([code, ok]).toEqual([0, true]);
    expect(of('context')).toMatchObject({ status: 'warning', next: 'gov quickstart' });
    for (const name of [
      'server',
      'server version',
      'clock',
      'key',
      'trust',
      'health',
      'integrity',
      'data plane',
    ])
      expect(of(name), name).toMatchObject({ status: 'skipped', detail: 'there is no context' });
    expect(['node', 'version', 'configuration', 'disk'].map(statusOf)).toEqual(['ok', 'ok', 'ok', 'ok']);
    for (const { status, next } of checks)
      if (status === 'failed' || status === 'warning') expect(next).not.toBeNull();
  });

  it('checks a plane: server, clock, version, key, trust, health and integrity', async () => {
    await usePlane();
    const { code, of, statusOf } = await doctor();
    expect(code).toBe(0);
    for (const name of ['context', 'server', 'server version', 'clock', 'key', 'trust', 'health'])
      expect(of(name), name).toMatchObject({ status: 'ok' });
    expect(of('key')?.detail).toMatch(/^key_\w+, from context local \(.*local\.key\); scopes: all$/);
    expect(of('trust')?.detail).toContain('verifies the checkpoint of');
    // a new plane has no backup
    expect(of('integrity')).toMatchObject({ status: 'warning', next: 'gov plane backup --out DIR' });
    expect(statusOf('data plane')).toBe('warning');
  });

  it.each([
    [
      'an unknown key',
      () => `gov_live_${'x'.repeat(38)}`,
      { key: 'failed', health: 'ok', integrity: 'skipped' },
      3,
    ],
    [
      'a key that may little',
      () => plane.keys['reader'],
      { key: 'ok', trust: 'skipped', integrity: 'skipped' },
      0,
    ],
    ['a key that ends tomorrow', () => plane.keys['ending'], { key: 'warning', health: 'ok' }, 0],
  ])('judges %s', async (_, key, expected, exitCode) => {
    await usePlane();
    const { code, statusOf } = await doctor({ env: { GOV_API_KEY: key() ?? '' } });
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, statusOf(name)]))).toEqual(expected);
    expect(code).toBe(exitCode);
  });

  it('names a variable of the user that keeps telemetry from the plane', async () => {
    await usePlane();
    expect((await doctor()).statusOf('telemetry')).toBe('ok');
    const { of } = await doctor({ env: { OTEL_SDK_DISABLED: 'true' } });
    expect(of('telemetry')).toEqual({
      name: 'telemetry',
      status: 'warning',
      detail: 'OTEL_SDK_DISABLED=true: programs send no telemetry',
      next: 'unset OTEL_SDK_DISABLED',
    });
  });

  it('a clock ten minutes off fails, and one minute warns', async () => {
    await usePlane();
    const off = await doctor({ now: Date.now() - 600_000 });
    expect(off.of('clock')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/the server is 6\d\d s ahead/),
    });
    expect((await doctor({ now: Date.now() + 60_000 })).statusOf('clock')).toBe('warning');
  });

  it('a trust file of another log fails, and a broken one too', async () => {
    const other = join(account.folder, 'other.trust');
    writeFileSync(other, 'log nothing\nquorum none\n');
    const far = { kind: 'service', baseUrl: plane.baseUrl, trustFile: other };
    const config = JSON.stringify({ currentContext: 'far', contexts: { far } });
    configure(config);
    const env = { GOV_API_KEY: plane.key };
    expect((await doctor({ env })).of('trust')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('line 1'),
    });
    await account.gov(['plane', 'init', '--data', join(account.folder, 'p')]);
    copyFileSync(join(account.folder, 'p/trust'), other);
    configure(config);
    const { code, of } = await doctor({ env });
    expect(code).toBe(3);
    expect(of('trust')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('does not verify'),
    });
  });

  it('says that nobody listens, and skips the rest', async () => {
    await account.gov(['context', 'set', 'away', '--base-url', 'http://127.0.0.1:1']);
    const { code, of, statusOf } = await doctor();
    expect(code).toBe(3);
    expect(of('server')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('no process listens'),
    });
    expect(['clock', 'health', 'integrity'].map(statusOf)).toEqual(['skipped', 'skipped', 'skipped']);
  });

  it('gives up on a server that stays silent after 3 seconds at most', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const started = performance.now();
    const { of } = await doctor({ env: { GOV_BASE_URL: `http://127.0.0.1:${port}`, GOV_TIMEOUT: '60s' } });
    expect(performance.now() - started).toBeLessThan(4500);
    expect(of('server')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/did not answer within 1\.25 s$|^no result within 3 s$/),
    });
    silent.close();
  });
});

describe('gov doctor on the files of a user', () => {
  it.each([
    ['{"contexts": {}, "currnetContext": "x"}', 'warning', '"currnetContext"', 'gov config edit', 0],
    [
      '{"settings": {"output": "foo"}}',
      'warning',
      'ignored: expected one of table',
      'gov config unset output',
      0,
    ],
    [
      '{"settings": {"retries": "99"}}',
      'warning',
      'refused: expected a whole number',
      'gov config unset retries',
      0,
    ],
    [
      '{"currentContext": "gone", "contexts": {}}',
      'failed',
      '"gone" does not exist',
      'gov context use NAME',
      3,
    ],
    ['{', 'failed', 'expected a JSON object', 'correct the file or move it away', 3],
    ['{"settings": {"colour": "red"}}', 'failed', '"colour"', 'gov config edit', 3],
  ])('judges the configuration %s', async (text, status, detail, next, exitCode) => {
    configure(text);
    const { code, of, statusOf } = await doctor();
    expect(of('configuration')).toMatchObject({ status, detail: expect.stringContaining(detail), next });
    expect([code, statusOf('disk')]).toEqual([exitCode, 'ok']);
  });

  it('refuses a relative HOME in its check, and reports the others', async () => {
    const { code, of } = await doctor({ env: { HOME: 'here', GOV_CONFIG_DIR: '' } });
    expect(code).toBe(3);
    expect(of('configuration')?.detail).toBe('HOME: expected an absolute path, got "here"');
    expect(of('node')?.status).toBe('ok');
  });

  it('warns where gov can store nothing', async () => {
    const { code, of } = await doctor({ env: { GOV_CONFIG_DIR: '/dev/null/gov' } });
    expect([code, of('disk')?.status]).toEqual([0, 'warning']);
  });

  it('finds the completion of the shell, and an agent without hooks', async () => {
    const bin = join(account.folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho 2.1.400\n');
    chmodSync(join(bin, 'claude'), 0o755);
    const env = { SHELL: '/bin/bash', PATH: bin };
    const before = await doctor({ env });
    expect(before.statusOf('completion')).toBe('warning');
    expect(before.of('claude-code')).toMatchObject({ status: 'warning', next: 'gov agents install' });
    writeFileSync(join(account.folder, '.bashrc'), 'source <(gov completion bash)\n');
    expect((await doctor({ env })).statusOf('completion')).toBe('ok');
  });
});

describe('the output of gov doctor', () => {
  it('is one row a check in a pipe, one value a line as ndjson, and names for -o id', async () => {
    const { stdout } = await account.gov(['doctor']);
    expect(stdout).toMatch(/^context\twarning\t.*\tgov quickstart$/m);
    const lines = (await account.gov(['doctor', '-o', 'ndjson'])).stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).name)).toContain('keychain');
    expect((await account.gov(['doctor', '-o', 'id'])).stdout).toMatch(/^node\nversion\n/);
  });

  it('fits a terminal of 44 columns, and joins checks that were skipped for one reason', async () => {
    const { stdout } = await account.gov(['doctor'], { columns: 44, env: { NO_COLOR: '1' } });
    const breakable = stdout.split('\n').filter((line) => !line.includes('/') && !line.includes('→'));
    for (const line of breakable) expect(line.length, line).toBeLessThanOrEqual(44);
    expect(stdout.match(/there is no/g)).toHaveLength(1);
  });

  it('is what gov doctor is, and what a noun without a doctor leads to', async () => {
    const { code, stderr } = await account.gov(['auth', 'doctor']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^ {2}gov doctor$/m)]);
  });
});
