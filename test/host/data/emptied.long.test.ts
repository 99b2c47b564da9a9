/** A database of which somebody emptied a table: fsck says so, on either engine. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { fillProject } from '../../service/support/filled.ts';
import { emptiedTables } from '../../store/support/emptied.ts';
import { postgresBelow } from '../../support/below.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { unguarded } from '../../support/unguarded.ts';

async function filled(engine: 'sqlite' | 'postgres'): Promise<TestService> {
  const service = await startService({ engine });
  const acme = await service.signUp('acme');
  await fillProject(acme.call, { name: 'acme' });
  await service.close();
  return service;
}

describe('a filled service on SQLite', () => {
  let service: TestService;
  const folder = mkdtempSync(join(tmpdir(), 'gov-emptied-'));
  beforeAll(async () => void (service = await filled('sqlite')));
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await service.end();
  });

  it('is whole before', async () => {
    expect((await fsck({ dataDir: service.dataDir, env: {} })).problems).toEqual([]);
  });

  it.each(Object.entries(emptiedTables))('is reported when %s is emptied: %s', async (table, kind) => {
    const dataDir = join(folder, table);
    cpSync(service.dataDir, dataDir, { recursive: true });
    const db = new Database(storeFiles(dataDir).main);
    db.pragma('foreign_keys = OFF');
    expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 'rows').toBeGreaterThan(0);
    unguarded(db, () => db.exec(`DELETE FROM ${table}`));
    db.close();
    const { problems } = await fsck({ dataDir, env: {}, deep: true });
    expect(problems.map((problem) => problem.kind)).toContain(kind);
  });

  it.each([
    [
      'a webhook endpoint that was switched',
      "UPDATE document SET status = iif(status = 'enabled', 'disabled', 'enabled') WHERE kind = 'webhook_endpoint'",
    ],
    ['an approver taken away', "DELETE FROM document WHERE kind = 'approver'"],
    [
      'a schedule that no event created',
      "INSERT INTO document SELECT project, kind, 'ghost', NULL, parent_id, status, created_ms, due_ms, version, data FROM document WHERE kind = 'report_schedule' LIMIT 1",
    ],
  ])('is reported with %s', async (what, statement) => {
    const dataDir = join(folder, what);
    cpSync(service.dataDir, dataDir, { recursive: true });
    const db = new Database(storeFiles(dataDir).main);
    unguarded(db, () => db.exec(statement));
    expect(db.prepare('SELECT total_changes()').pluck().get(), 'changed rows').toBeGreaterThan(0);
    db.close();
    const { problems } = await fsck({ dataDir, env: {} });
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['document_mismatch']));
  });
});

/** fsck copies each table of PostgreSQL and checks the copy: so a few tables show that all are copied. */
describe.runIf(engines.includes('postgres'))('a filled service on PostgreSQL', () => {
  let service: TestService;
  beforeAll(async () => void (service = await filled('postgres')));
  afterAll(() => service.end());

  it('is whole before, and reported when repeats or documents are emptied', async () => {
    const check = () => fsck({ dataDir: service.dataDir, env: {} });
    expect((await check()).problems).toEqual([]);
    const { sql } = postgresBelow(service.database?.superuser ?? '', '');
    for (const table of ['client_event', 'document']) {
      await sql(`DELETE FROM gov.${table}`);
      const { problems } = await check();
      expect(problems.map(({ kind }) => kind)).toContain(emptiedTables[table]);
    }
  });
});
