/** What the doctor finds, on either engine, and what it says to do. */
import { chmodSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { doctor, type DoctorReport } from '../../../src/host/service/doctor.ts';
import { engines, startService, type StartService, type TestService } from '../../support/hosted.ts';

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0)) await end();
});
async function start(options: StartService): Promise<TestService> {
  const service = await startService(options);
  ended.push(() => service.end());
  return service;
}

const found = ({ checks }: DoctorReport) =>
  Object.fromEntries(checks.map(({ name, status }) => [name, status]));
const check = ({ checks }: DoctorReport, name: string) => checks.find((each) => each.name === name);
const examine = (dataDir: string, more: Partial<Parameters<typeof doctor>[0]> = {}): Promise<DoctorReport> =>
  doctor({ dataDir, env: {}, ...more });
/** Changes members of `service.json`. */
function configure(dataDir: string, members: object): void {
  const path = join(dataDir, 'service.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...members }));
}

const common = { configuration: 'ok', keys: 'ok', issuer: 'ok', billing: 'ok', address: 'ok' } as const;

describe('the doctor', () => {
  it('the doctor finds a service on SQLite in order, before it serves and while it serves', async () => {
    const service = await start({ file: { publicUrl: 'https://gov.example.com' } });
    const well = { ...common, 'file system': 'ok', disk: 'ok', database: 'ok', 'public address': 'ok' };
    const free = await examine(service.dataDir);
    expect([free.ok, found(free)]).toEqual([true, well]);
    const serving = await examine(service.dataDir, { listen: new URL(service.baseUrl).host });
    expect([serving.ok, found(serving)]).toEqual([true, well]);
    expect(check(serving, 'address')?.detail).toMatch(/^gov serves at 127\.0\.0\.1:/);
    expect(serving.checks.every(({ advice }) => advice === null)).toBe(true);
  });

  it('the doctor of a service names what is missing and what to do', async () => {
    const service = await start({ file: { publicUrl: 'http://gov.example.com' } });
    const { dataDir, issuer } = service;
    const none = await examine(join(dataDir, 'none'));
    expect(none).toEqual({
      ok: false,
      checks: [
        {
          name: 'configuration',
          status: 'fail',
          detail: expect.stringMatching(/^expected a service at .*none\/service\.json$/),
          advice: 'make one with gov service init',
        },
      ],
    });
    await issuer.pause();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const report = await examine(dataDir, { listen: taken });
    other.close();
    expect(report.ok).toBe(false);
    expect(check(report, 'address')).toMatchObject({
      status: 'fail',
      detail: `${taken}: another program listens there`,
      advice: 'give --listen HOST:PORT',
    });
    expect(check(report, 'issuer')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/ECONNREFUSED/),
    });
    expect(check(report, 'public address')?.status).toBe('warn');
    await issuer.resume();
    issuer.discovery = { authorization_endpoint: undefined };
    expect(check(await examine(dataDir), 'issuer')).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining(
        'signs no browser in: its discovery document names no authorization_endpoint',
      ),
    });
    issuer.discovery = {};
    expect(check(await examine(dataDir), 'issuer')?.detail).toContain(
      'browsers return to http://gov.example.com/console/callback, to a public client',
    );
    configure(dataDir, { issuer: undefined, publicUrl: undefined });
    const bare = await examine(dataDir);
    expect([bare.ok, check(bare, 'issuer')?.status, check(bare, 'public address')?.status]).toEqual([
      true,
      'warn',
      'warn',
    ]);
  });

  it('the doctor checks that keys exist, are private and belong to the installation', async () => {
    const service = await start({});
    const { dataDir } = service;
    const store = join(dataDir, 'keys/store.key');
    chmodSync(store, 0o644);
    expect(check(await examine(dataDir), 'keys')).toMatchObject({
      status: 'fail',
      advice: 'run chmod 600 on it',
    });
    chmodSync(store, 0o600);
    const kept = readFileSync(store);
    writeFileSync(store, `${'0'.repeat(64)}\n`, { mode: 0o600 });
    expect(check(await examine(dataDir), 'database')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining('these differ: keys/store.key'),
      advice: 'copy keys/ from that process, or restore it from a backup',
    });
    writeFileSync(store, kept);
    renameSync(store, `${store}.away`);
    expect(check(await examine(dataDir), 'keys')).toMatchObject({ status: 'fail' });
    renameSync(`${store}.away`, store);
  });
});

describe.skipIf(!engines.includes('postgres'))('the doctor on PostgreSQL', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-doctor-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const asked = async (url: string, statement: string): Promise<void> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(statement);
    await client.end();
  };

  it('the doctor finds a service on PostgreSQL in order', async () => {
    const service = await start({ engine: 'postgres', file: { publicUrl: 'https://gov.example.com' } });
    const report = await examine(service.dataDir);
    expect([report.ok, found(report)]).toEqual([
      true,
      {
        ...common,
        database: 'ok',
        tables: 'ok',
        'role and settings': 'ok',
        commit: 'ok',
        clock: 'ok',
        connections: 'ok',
        installation: 'ok',
        'signed heads': 'ok',
        'public address': 'ok',
      },
    ]);
  });

  it('the doctor names a database that cannot be reached, without its password', async () => {
    const service = await start({ engine: 'postgres' });
    const away = await examine(service.dataDir, {
      env: { GOV_DATABASE: 'postgres://gov:hush@127.0.0.1:1/gov' },
    });
    expect(check(away, 'database')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/ECONNREFUSED/),
    });
    const wrong = new URL(service.database?.serving ?? '');
    wrong.password = 'hush';
    const refused = await examine(service.dataDir, { env: { GOV_DATABASE: wrong.href } });
    expect(check(refused, 'database')?.detail).toMatch(/password authentication failed/);
    expect(JSON.stringify([away, refused])).not.toContain('hush');
  });

  it('the doctor names tables of another release, roles without row-level security, and other keys', async () => {
    const service = await start({ engine: 'postgres' });
    const { dataDir, database } = service;
    if (database === null) throw new Error('expected a database');
    for (const url of [database.superuser, database.owner]) {
      const report = await examine(dataDir, { env: { GOV_DATABASE: url } });
      expect(check(report, 'role and settings')).toMatchObject({
        status: 'fail',
        detail: expect.stringContaining('expected an ordinary role'),
        advice: expect.stringContaining('gov service migrate'),
      });
    }
    const tables = async () => check(await examine(dataDir), 'tables');
    await asked(database.owner, 'UPDATE gov.version SET version = version - 1');
    expect(await tables()).toMatchObject({ status: 'fail', advice: expect.stringContaining('migrate') });
    await asked(database.owner, 'UPDATE gov.version SET version = version + 2');
    expect(await tables()).toMatchObject({ status: 'fail', advice: 'use a newer release of gov' });
    await asked(database.owner, 'UPDATE gov.version SET version = version - 1');
    const other = await start({});
    const mixed = join(folder, 'mixed');
    cpSync(dataDir, mixed, { recursive: true });
    cpSync(join(other.dataDir, 'keys'), join(mixed, 'keys'), { recursive: true });
    expect(check(await examine(mixed), 'installation')).toMatchObject({ status: 'fail' });
    configure(mixed, { connections: 1000 });
    expect(check(await examine(mixed), 'connections')).toMatchObject({ status: 'fail' });
  });
});
