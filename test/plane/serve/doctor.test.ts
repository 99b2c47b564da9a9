/** What the doctor of a plane finds, and what it says to do: of the directory, and of the way to a service. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { planeDoctor } from '../../../plane/serve/doctor.ts';
import { enrolmentFiles } from '../../../plane/service/enrolment.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import type { DoctorReport } from '../../../src/host/process/checks.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { rememberHeads } from '../../../src/store/file/copies.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { mainMigrations } from '../../../src/store/file/schema/tables.ts';
import { makeAuthority, type Authority } from '../../support/certificates.ts';
import { gov, govHere } from '../../cli/support/tool.ts';
import { makeOlder } from '../../store/support/older.ts';

const root = mkdtempSync(join(tmpdir(), 'gov-planedoctor-'));
const made = join(root, 'made');
const servers: Server[] = [];
let authority: Authority;
let folder: string;
let dataDir: string;
beforeAll(async () => {
  authority = makeAuthority(root);
  await planeInit({ dataDir: made, listen: '127.0.0.1:0', metricsListen: 'off' });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  dataDir = join(folder, 'plane');
  cpSync(made, dataDir, { recursive: true });
  chmodSync(dataDir, 0o700);
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

const examine = (more: Partial<Parameters<typeof planeDoctor>[0]> = {}): Promise<DoctorReport> =>
  planeDoctor({ dataDir, env: {}, unitFolders: [folder], ...more });
const found = ({ checks }: DoctorReport) =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));
const check = ({ checks }: DoctorReport, name: string) => checks.find((each) => each.name === name);
const configure = (members: object): void => {
  const path = join(dataDir, 'plane.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...members }));
};
async function listen<Listening extends Server>(server: Listening): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

it('the doctor reports a folder of fonts with which the plane would not start', async () => {
  const none = join(folder, 'none');
  const detail = `GOV_REPORT_FONTS: expected a folder that this user may read, got ${none}`;
  const failed = { name: 'configuration', status: 'fail', detail, advice: 'fix the cause above' };
  const env = { GOV_REPORT_FONTS: none };
  expect(check(await examine({ env, isLocal: true }), 'configuration')).toEqual(failed);
  await expect(planeServe({ dataDir, env, log: silentLog })).rejects.toThrow(detail);
  configure({ reportFonts: '../none' });
  expect((await examine({ isLocal: true })).ok).toBe(false);
});

const newest = mainMigrations.at(-1)?.version ?? 0;

describe('a data directory of an older release', () => {
  it.each(mainMigrations.slice(0, -1).map(({ version }) => version))(
    'the doctor, and every command that reads, take a database of version %i and say what will migrate',
    async (version) => {
      makeOlder(dataDir, version);
      const before = readFileSync(storeFiles(dataDir).main);
      const report = await examine();
      expect(report.ok).toBe(true);
      expect(check(report, 'format')).toEqual({
        name: 'format',
        status: 'warn',
        detail: `of an older release: the next start migrates gov.db from version ${version} to ${newest}`,
        advice: 'make a backup first: docs/how-to/upgrade.md',
      });
      const codes = { status: 10, fsck: 0, backup: 0 };
      const words = {
        status: ['plane', 'status'],
        fsck: ['log', 'fsck', '--deep'],
        backup: ['plane', 'backup', '--out', join(folder, 'copy'), '--with-keys'],
      };
      for (const name of ['status', 'fsck', 'backup'] as const)
        expect([name, (await govHere([...words[name], '--data', dataDir])).code]).toEqual([
          name,
          codes[name],
        ]);
      expect(readFileSync(storeFiles(dataDir).main)).toEqual(before);
    },
  );

  it('a start logs what it migrates, from which version to which', async () => {
    makeOlder(dataDir, 1);
    const lines: [object, string][] = [];
    const log = { ...silentLog, warn: (fields: object, text: string) => void lines.push([fields, text]) };
    await (await planeServe({ dataDir, env: {}, log })).close();
    const step = { file: 'gov.db', from: 1, to: newest };
    expect(lines).toEqual(
      expect.arrayContaining([
        [step, 'migrating a database'],
        [{ ...step, ms: expect.any(Number) }, 'migrated a database'],
      ]),
    );
    expect(check(await examine(), 'format')).toBeUndefined();
    expect((await govHere(['log', 'fsck', '--deep', '--data', dataDir])).code).toBe(0);
  });

  it.each(['plane keys rotate', 'log index build'])(
    'gov %s, which migrates a stopped plane, says so',
    async (words) => {
      makeOlder(dataDir, 1);
      const done = await gov([...words.split(' '), '--data', dataDir]);
      expect([
        done.code,
        done.stderr.match(/"from":1,"to":\d+,.*"msg":"migrated a database"/g)?.length,
      ]).toEqual([0, 1]);
    },
  );
});

const well = {
  node: 'ok',
  configuration: 'ok',
  keys: 'ok',
  secrets: 'ok',
  'file system': 'ok',
  disk: 'ok',
  database: 'ok',
  'pinned keys': 'ok',
  integrity: 'ok',
  approver: 'ok',
  backup: 'warn',
  address: 'ok',
  'metrics address': 'ok',
  telemetry: 'ok',
  unit: 'ok',
  enrolment: 'ok',
} as const;

describe('the doctor of a plane', () => {
  it('the doctor finds a good plane in order, before it serves and while it serves', async () => {
    const before = await examine();
    expect([before.ok, found(before)]).toEqual([true, well]);
    const plane = await planeServe({ dataDir, log: silentLog, env: {} });
    const { host } = new URL(plane.baseUrl);
    const serving = await examine({ listen: host });
    await plane.close();
    expect([serving.ok, found(serving)]).toEqual([true, well]);
    expect(check(serving, 'address')?.detail).toBe(`gov serves at ${host}`);
  });

  it('the doctor exits with 3 when a check failed, and its JSON lists all checks', async () => {
    const good = await govHere(['plane', 'doctor', '--data', dataDir, '-o', 'json']);
    expect([good.code, JSON.parse(good.stdout).ok]).toEqual([0, true]);
    rmSync(join(dataDir, 'keys/store.key'));
    const bad = await govHere(['plane', 'doctor', '--data', dataDir, '--color', 'never'], { columns: 100 });
    expect(bad.code).toBe(3);
    expect(bad.stdout).toMatch(/✗ keys .*expected a key at\s+\S*store\.key\n +→ restore it from a backup/);
    expect(bad.stderr).toMatch(/^1 of \d+ checks failed\n/);
  });

  it('the doctor names an approver.key of an older release, and how to seal it', async () => {
    expect(check(await examine(), 'approver')).toMatchObject({ status: 'ok' });
    const file = join(dataDir, 'approver.key');
    writeFileSync(file, 'gov_live_x', { mode: 0o600 });
    expect(check(await examine(), 'approver')).toMatchObject({
      status: 'warn',
      advice: expect.stringContaining('gov approvers seal'),
    });
    rmSync(file);
  });

  it('the doctor names files that others may read', async () => {
    chmodSync(join(dataDir, 'agent.key'), 0o640);
    expect(check(await examine(), 'secrets')).toMatchObject({
      status: 'fail',
      advice: 'run chmod 600 on it',
    });
    chmodSync(join(dataDir, 'agent.key'), 0o600);
    chmodSync(dataDir, 0o755);
    expect(check(await examine(), 'secrets')).toMatchObject({
      status: 'warn',
      advice: 'run chmod 700 on it',
    });
  });

  it('the doctor names keys that are not those of the log', async () => {
    const other = join(folder, 'other');
    await planeInit({ dataDir: other });
    rmSync(join(dataDir, 'keys'), { recursive: true });
    cpSync(join(other, 'keys'), join(dataDir, 'keys'), { recursive: true });
    const report = await examine();
    expect([report.ok, check(report, 'keys')?.status, check(report, 'pinned keys')]).toMatchObject([
      false,
      'ok',
      { status: 'fail', advice: expect.stringContaining('restore keys/') },
    ]);
  });

  it('the doctor names a database that is an older copy, missing, or of a newer release', async () => {
    const origin = JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8')).origin as string;
    renameSync(join(dataDir, 'gov.db'), join(folder, 'gov.db'));
    expect(check(await examine(), 'database')).toMatchObject({ status: 'fail' });
    renameSync(join(folder, 'gov.db'), join(dataDir, 'gov.db'));
    const { default: Database } = await import('better-sqlite3');
    const db = new Database(join(dataDir, 'gov.db'));
    const version = db.pragma('user_version', { simple: true }) as number;
    db.pragma(`user_version = ${version + 1}`);
    expect(check(await examine(), 'database')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/expected database version \d+ or older/),
      advice: 'use a newer release of gov',
    });
    await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('use a newer release of gov'),
    });
    db.pragma(`user_version = ${version}`);
    db.close();
    rememberHeads(dataDir, [{ origin, size: 1000, root: Buffer.alloc(32), have: 1 }]);
    expect(check(await examine(), 'database')).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('restore the newest'),
    });
  });

  it('the doctor names ports in use, an expired certificate and a unit without a watchdog', async () => {
    const port = await listen(createServer());
    const expired = authority.issue('expired', -1);
    configure({ tlsCert: expired.certFile, tlsKey: expired.keyFile });
    writeFileSync(join(folder, 'gov-plane.service'), '[Service]\nType=exec\n');
    const report = await examine({ listen: `127.0.0.1:${port}`, metricsListen: `127.0.0.1:${port}` });
    expect(check(report, 'address')?.detail).toBe(`127.0.0.1:${port}: another program listens there`);
    expect(check(report, 'metrics address')).toMatchObject({
      status: 'fail',
      advice: 'give --metrics-listen HOST:PORT',
    });
    expect(check(report, 'certificate')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('tls_certificate_expired'),
    });
    expect(check(report, 'unit')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining('has no Type=notify, WatchdogSec=, ExecReload='),
    });
  });

  it('the doctor names a configuration that cannot be read', async () => {
    configure({ listen: 'nowhere' });
    expect(found(await examine())).toEqual({ node: 'ok', configuration: 'fail' });
  });
});

/** Enrols the plane on paper with a service at this address. */
function enrol(service: string, more: object = {}): void {
  const { projectId } = JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8')) as {
    projectId: string;
  };
  const { enrolment } = enrolmentFiles(dataDir);
  mkdirSync(join(dataDir, 'keys'), { recursive: true });
  const members = {
    service,
    dataPlaneId: 'dpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
    projectId,
    environment: 'production',
    cosignerKey: 'x',
    configKey: null,
    current: { key: `gov_hyb_${'A'.repeat(38)}`, signingSecret: `whsec_${'A'.repeat(43)}=` },
    previous: null,
    reportIntervalSeconds: 3600,
    caFile: null,
    certificateFile: null,
    certificateKeyFile: null,
    enrolledAt: '2026-01-05T09:00:00Z',
    ...more,
  };
  writeFileSync(enrolment, JSON.stringify(members), { mode: 0o600 });
}

describe('the way to the service', () => {
  const answers =
    (aheadMs: number, status = 200): RequestListener =>
    (_request, response) => {
      const date = new Date(Date.now() + aheadMs).toUTCString();
      response
        .writeHead(status, { 'gov-api-version': '1', date, 'content-type': 'application/json' })
        .end('{}');
    };
  const lastOf = ({ checks }: DoctorReport) => checks.at(-1);

  it('the doctor checks the connection to the service step by step, over TLS with the enrolled authority', async () => {
    const { cert, key } = authority.issue('service');
    const port = await listen(createHttps({ cert, key }, answers(0)));
    enrol(`https://127.0.0.1:${port}/api/v1`, { caFile: authority.certFile });
    const report = await examine();
    expect([report.ok, found(report)]).toEqual([
      true,
      { ...well, proxy: 'ok', 'service name': 'ok', 'service connection': 'ok', service: 'ok', clock: 'ok' },
    ]);
    enrol(`https://127.0.0.1:${port}/api/v1`);
    const untrusted = await examine();
    expect(lastOf(untrusted)).toMatchObject({
      name: 'service',
      status: 'fail',
      detail: expect.stringContaining('no authority that this machine trusts'),
    });
  });

  it('the doctor names the connection step that fails, and stops there', async () => {
    enrol('https://no-such-host.invalid/api/v1');
    expect(lastOf(await examine())).toMatchObject({ name: 'service name', status: 'fail' });
    enrol('http://127.0.0.1:1/api/v1');
    expect(lastOf(await examine())).toMatchObject({
      name: 'service connection',
      status: 'fail',
      detail: expect.stringContaining('no process listens there'),
    });
    const plain = await listen(createHttp((_request, response) => response.end('hello')));
    enrol(`http://127.0.0.1:${plain}/api/v1`);
    expect(lastOf(await examine())).toMatchObject({
      name: 'service',
      status: 'fail',
      detail: expect.stringContaining('is no gov'),
    });
    const report = await examine({ env: { HTTPS_PROXY: 'socks5://127.0.0.1:1' } });
    expect(check(report, 'proxy')?.status).toBe('ok'); // loopback is always direct
    enrol('https://gov.example.com/api/v1');
    expect(lastOf(await examine({ env: { HTTPS_PROXY: 'socks5://127.0.0.1:1' } }))).toMatchObject({
      name: 'proxy',
      status: 'fail',
    });
    expect(lastOf(await examine({ env: { HTTPS_PROXY: 'http://user:hush@127.0.0.1:1' } }))).toMatchObject({
      name: 'service connection',
      status: 'fail',
      detail: expect.not.stringContaining('hush'),
    });
  });

  it('the doctor reports how far the clocks differ, and from when the difference matters', async () => {
    const clockAt = async (aheadMs: number) => {
      const port = await listen(createHttp(answers(aheadMs)));
      enrol(`http://127.0.0.1:${port}/api/v1`);
      return check(await examine(), 'clock');
    };
    expect(await clockAt(0)).toMatchObject({ status: 'ok' });
    expect(await clockAt(60_000)).toMatchObject({ status: 'warn', detail: expect.stringMatching(/ahead$/) });
    expect(await clockAt(-400_000)).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/behind$/),
    });
  });

  it('the doctor refuses an enrolment that others may read', async () => {
    enrol('http://127.0.0.1:1/api/v1');
    chmodSync(enrolmentFiles(dataDir).enrolment, 0o644);
    expect(check(await examine(), 'secrets')?.status).toBe('fail');
    expect(lastOf(await examine())).toMatchObject({ name: 'enrolment', status: 'fail' });
  });
});
