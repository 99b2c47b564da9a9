/** The hosted service on either engine: it starts, says the truth of itself, ends, and starts again. */
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '../../../src/host/process/clock.ts';
import { createKeys } from '../../../src/host/keys/disk.ts';
import { serviceServe } from '../../../src/host/service/serve.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-serve-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const quiet = { env: {}, log: silentLog } as const;

describe.each(engines)('a service on %s', (engine) => {
  let service: TestService;
  let ada: Tenant;
  beforeAll(async () => {
    service = await startService({ engine, file: { metricsListen: '127.0.0.1:0' } });
    ada = await service.signUp('ada');
  }, 60_000);
  afterAll(() => service.end());

  it('a service serves both base paths, each to its own keys', async () => {
    for (const environment of ['production', 'sandbox'] as const) {
      expect((await ada.call('GET', '/health/ready', { environment, key: null })).status).toBe(200);
      const { body } = await ada.call('GET', '/auth/identity', { environment });
      expect(body).toMatchObject({ environment, organizationId: ada.orgId });
      const other = environment === 'production' ? 'sandbox' : 'production';
      const mixed = await ada.call('GET', '/runs', { environment, key: ada.keys[other] });
      expect([mixed.status, mixed.body.code]).toEqual([401, 'ENVIRONMENT_MISMATCH']);
    }
  });

  it('a service gives each project its own log under the name of the installation', async () => {
    const { body } = await ada.call('GET', '/auth/identity');
    const checkpoint = await ada.call('GET', '/log/checkpoint');
    expect(checkpoint.text.split('\n')[0]).toBe(`gov.local/${body.projectId}/audit`);
    const keys = (await ada.call('GET', '/log/key')).text.trim().split('\n');
    expect(keys[0]).toMatch(new RegExp(`^gov\\.local/${body.projectId}/audit\\+`));
  });

  it('a service shows metrics of the process, and none of a single tenant', async () => {
    const text = await (await fetch(service.metricsUrl ?? '')).text();
    expect(text).toContain('gov_writable 1');
    expect(text).toContain('gov_requests_total{operation="signUp",status="201"} 1');
    expect(text).not.toMatch(/gov_log_leaves|gov_metered_units|prj_|org_/);
  });

  it('local commands find a service that owns its directory', () => {
    const runFile = join(service.dataDir, 'run.json');
    if (engine === 'postgres') {
      expect(existsSync(runFile)).toBe(false);
      return;
    }
    expect(JSON.parse(readFileSync(runFile, 'utf8'))).toMatchObject({
      pid: process.pid,
      baseUrl: service.baseUrl,
    });
  });

  it('a service refuses to start with keys of another installation', async () => {
    const mixed = join(folder, engine);
    cpSync(service.dataDir, mixed, { recursive: true });
    rmSync(join(mixed, 'keys'), { recursive: true });
    createKeys(mixed, randomBytes);
    await expect(serviceServe({ dataDir: mixed, ...quiet })).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: expect.stringMatching(/these differ: keys\/log\.ed25519\.pem/),
    });
  });

  it('a service stops, and starts again with all data', async () => {
    const { body } = await ada.call('POST', '/events', { body: event() });
    await service.close();
    await service.close();
    const again = await service.again();
    const { status } = await again.call('GET', `/events/${body.eventId}`, { key: ada.keys.production });
    expect(status).toBe(200);
  });
});

describe('a service on SQLite', () => {
  it('a service on SQLite does not share its directory with another process', async () => {
    const service = await startService();
    await expect(service.again()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await service.call('GET', '/health/ready')).status).toBe(200);
    await service.end();
  });
});

describe.skipIf(!engines.includes('postgres'))('a service on PostgreSQL', () => {
  const asked = async (url: string, ...statements: string[]): Promise<void> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };

  it('a service is ready while a write would be durable, and reports a change within seconds', async () => {
    const service = await startService({ engine: 'postgres' });
    const ready = async () => (await service.call('GET', '/health/ready')).status;
    const superuser = new URL(service.database?.superuser ?? '');
    const name = superuser.pathname.slice(1);
    superuser.pathname = '/postgres';
    expect(await ready()).toBe(200);
    await asked(
      superuser.href,
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
    // nobody writes meanwhile: only the probe can tell
    await expect.poll(ready, { timeout: 10_000 }).toBe(503);
    expect((await service.call('GET', '/health/live')).status).toBe(200);
    await asked(superuser.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await expect.poll(ready, { timeout: 10_000 }).toBe(200);
    await service.end();
  }, 40_000);

  it('a service refuses to start on tables of another release, or as a role without row-level security', async () => {
    const service = await startService({ engine: 'postgres' });
    const { dataDir, database } = service;
    for (const url of [database?.superuser, database?.owner]) {
      await expect(serviceServe({ dataDir, ...quiet, env: { GOV_DATABASE: url } })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining('ordinary role'),
      });
    }
    await asked(database?.owner ?? '', 'UPDATE gov.version SET version = version - 1');
    await expect(serviceServe({ dataDir, ...quiet })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('gov service migrate'),
    });
    await asked(database?.owner ?? '', 'UPDATE gov.version SET version = version + 1');
    await service.end();
  });

  it('a service keeps serving while its tables are migrated, and refuses a later start', async () => {
    const service = await startService({ engine: 'postgres' });
    const ada = await service.signUp('ada');
    await ada.call('POST', '/events', { body: event() });
    await asked(service.database?.owner ?? '', 'UPDATE gov.version SET version = version + 1');
    // by the worker thread, which connects now
    expect((await ada.call('POST', '/proofs', { body: { runId: 'run-1' } })).status).toBe(201);
    await expect(service.again()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('use a newer release of gov'),
    });
    await service.end();
  });

  it('a service on PostgreSQL writes only its signed and acknowledged heads into its directory', async () => {
    const service = await startService({ engine: 'postgres' });
    const ada = await service.signUp('ada');
    await ada.call('POST', '/events', { body: event() });
    expect((await service.call('GET', '/health/ready')).status).toBe(200);
    const files = '.gitignore acked.bin heads.db heads.db-shm heads.db-wal keys service.json';
    expect(readdirSync(service.dataDir).toSorted().join(' ')).toBe(files);
    await service.end();
  });
});
