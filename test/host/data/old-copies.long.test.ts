/** A service whose database is an older copy: refused before it signs a second history, and told by the doctor. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { doctor } from '../../../src/host/service/doctor.ts';
import { openService } from '../../../src/host/service/serve.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

async function record(tenant: Tenant, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    expect((await tenant.call('POST', '/events', { body: event() })).status).toBe(201);
  }
}

async function check(dataDir: string, name: string) {
  return (await doctor({ dataDir, env: {} })).checks.find((each) => each.name === name);
}

describe.skipIf(!engines.includes('postgres'))('an older copy of a PostgreSQL database', () => {
  async function copyOf({ database }: TestService): Promise<{ name: string; drop(): Promise<void> }> {
    if (database === null) throw new Error('expected a database');
    const own = new URL(database.superuser).pathname.slice(1);
    const name = `${own}_old`;
    const url = new URL(database.superuser);
    url.pathname = '/postgres';
    const ask = async (...statements: readonly string[]): Promise<void> => {
      const client = new Client({ connectionString: url.href });
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await client.end();
    };
    await ask(
      `ALTER DATABASE ${own} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${own}'`,
      `CREATE DATABASE ${name} TEMPLATE ${own}`,
      `ALTER DATABASE ${own} ALLOW_CONNECTIONS true`,
    );
    return { name, drop: () => ask(`DROP DATABASE ${name} WITH (FORCE)`) };
  }

  /** Names another database in `service.json`. */
  function point(dataDir: string, name: string): void {
    const path = join(dataDir, 'service.json');
    const file = JSON.parse(readFileSync(path, 'utf8')) as { database: string };
    const url = new URL(file.database);
    url.pathname = `/${name}`;
    writeFileSync(path, JSON.stringify({ ...file, database: url.href }));
  }

  it('an older database copy is refused, the doctor reports it, and --rebuild-heads serves it on purpose', async () => {
    const service = await startService({ engine: 'postgres' });
    const ada = await service.signUp('ada');
    await record(ada, 2);
    // all logs, so that from here on only those are signed that grow beyond the copy
    await service.services.checkpoints.signGrown();
    const old = await copyOf(service);
    await expect.poll(async () => (await ada.call('GET', '/projects')).status).toBe(200);
    await record(ada, 2);
    await service.services.checkpoints.signGrown();
    const { dataDir } = service;
    expect(await check(dataDir, 'signed heads')).toMatchObject({ status: 'ok' });
    point(dataDir, old.name);
    expect(await check(dataDir, 'signed heads')).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(
        /^log gov\.local\/prj_\w+\/(audit|metering\/0): expected a log of at least \d+ leaves/,
      ),
      advice: expect.stringContaining(
        'restore the newest copy, or, after an investigation, start once with gov service serve --rebuild-heads',
      ),
    });
    const options = { dataDir, env: {}, log: silentLog } as const;
    await expect(openService(options)).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
    const { engine } = (await openService({ ...options, rebuildHeads: true })).assembled;
    await engine.work.close();
    await engine.store.close();
    expect(await check(dataDir, 'signed heads')).toMatchObject({ status: 'ok' });
    await old.drop();
    await service.end();
  });

  it('an older database copy is not ready once a client asks for a record that it lacks', async () => {
    const service = await startService({ engine: 'postgres' });
    const { dataDir } = service;
    const [ada, bob] = [await service.signUp('ada'), await service.signUp('bob')];
    await service.services.checkpoints.signGrown();
    const old = await copyOf(service);
    await expect.poll(async () => (await ada.call('GET', '/projects')).status).toBe(200);
    await record(ada, 2);
    await service.services.checkpoints.signGrown();
    const heads = new Database(join(dataDir, 'heads.db'));
    heads.exec(`UPDATE newest SET origin = 'gov.local/${bob.projectId}/audit'`);
    heads.close();
    point(dataDir, old.name);
    const process = await service.again();
    const ask = (tenant: Tenant, method: string, path: string, body?: object) =>
      process.call(method, path, { key: tenant.keys.production, ...(body === undefined ? {} : { body }) });
    expect((await process.call('GET', '/health/ready')).status).toBe(200);
    expect(await ask(ada, 'POST', '/events', event())).toMatchObject({
      status: 503,
      body: { code: 'STORAGE_FAULT', detail: expect.stringContaining('the database is an older copy') },
    });
    expect((await ask(ada, 'GET', '/log/checkpoint')).status).toBe(503);
    expect((await ask(bob, 'POST', '/events', event())).status).toBe(201);
    expect((await process.call('GET', '/health/ready')).status).toBe(503);
    const health = await ask(bob, 'GET', '/health');
    expect(health.body).toMatchObject({ reasons: [expect.stringMatching(/^database_behind: /)] });
    expect(health.text).not.toContain('prj_');
    await service.end();
    await old.drop();
  });
});

describe('the files of a service on SQLite', () => {
  const refusals: readonly (readonly [
    what: string,
    change: (dataDir: string, old: string) => Promise<void> | void,
    why: RegExp,
  ])[] = [
    ['without gov.db', (dataDir) => drop(dataDir, 'gov.db'), /got no such log$/],
    [
      'with an older gov.db',
      (dataDir, old) => take(dataDir, old, 'gov.db'),
      /expected a log of at least \d+ leaves, got/,
    ],
    [
      'without heads.db',
      (dataDir) => drop(dataDir, 'heads.db'),
      /expected a signed head of at least \d+ leaves, got 0/,
    ],
    [
      'with an older heads.db',
      (dataDir, old) => take(dataDir, old, 'heads.db'),
      /expected a signed head of at least/,
    ],
    ['with an empty heads.db', (dataDir) => empty(dataDir, 'heads.db'), /expected a signed head of at least/],
    ['with an empty gov.db', (dataDir) => empty(dataDir, 'gov.db'), /got no such log$/],
    [
      'with the gov.db of a plane',
      plane,
      /^expected the database of a service in .*gov\.db, got that of a plane, with project prj_/,
    ],
  ];

  function drop(dataDir: string, name: string): void {
    for (const each of readdirSync(dataDir)) if (each.startsWith(name)) rmSync(join(dataDir, each));
  }
  function take(dataDir: string, from: string, name: string): void {
    drop(dataDir, name);
    cpSync(join(from, name), join(dataDir, name));
  }
  function empty(dataDir: string, name: string): void {
    drop(dataDir, name);
    writeFileSync(join(dataDir, name), '', { mode: 0o600 });
  }
  async function plane(dataDir: string): Promise<void> {
    const from = join(dataDir, '..', 'plane');
    await planeInit({ dataDir: from });
    for (const name of ['gov.db', 'heads.db']) take(dataDir, from, name);
  }

  it.each(refusals)(
    'the start and the doctor both refuse a service on SQLite: %s',
    async (_what, change, why) => {
      const service = await startService();
      const { dataDir } = service;
      const ada = await service.signUp('ada');
      await record(ada, 2);
      const folder = mkdtempSync(join(tmpdir(), 'gov-copies-'));
      const [old, copy] = [join(folder, 'old'), join(folder, 'service')];
      await service.close();
      cpSync(dataDir, old, { recursive: true });
      const again = await service.again();
      await again.call('POST', '/events', { key: ada.keys.production, body: event() });
      expect(await check(dataDir, 'database')).toMatchObject({ status: 'ok' });
      await again.close();
      cpSync(dataDir, copy, { recursive: true });
      await change(copy, old);
      const found = await check(copy, 'database');
      expect(found).toMatchObject({
        status: 'fail',
        detail: expect.stringMatching(why),
        advice: expect.any(String),
      });
      const told = `${found?.detail}; ${found?.advice}`;
      expect(told).not.toContain('gov plane serve --rebuild-heads');
      await expect(openService({ dataDir: copy, env: {}, log: silentLog })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: told,
      });
      rmSync(folder, { recursive: true });
      await service.end();
    },
  );
});
