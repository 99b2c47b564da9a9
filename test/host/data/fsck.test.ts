/** The check of a hosted service's store, on either engine, also while it serves. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { randomBytes } from '../../../src/host/process/clock.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { openHeads } from '../../../src/store/file/heads.ts';
import { createKeys } from '../../../src/host/keys/disk.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { unguarded } from '../../support/unguarded.ts';

describe.each(engines)('a check on %s', (engine) => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-fsck-test-'));
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
    for (const name of ['ada', 'bob']) {
      const tenant = await service.signUp(name);
      await tenant.call('POST', '/events', { body: event() });
      expect((await tenant.call('POST', '/proofs', { body: { runId: 'run-1' } })).status).toBe(201);
    }
  }, 60_000);
  afterAll(async () => {
    await service.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it('fsck finds every project whole, with checkpoints that the service signed', async () => {
    const report = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    expect(report).toMatchObject({ ok: true, problems: [], projects: 4 });
    expect(report.checkpoints).toBeGreaterThanOrEqual(4);
  });

  it('fsck finds signed heads that the database lacks, as after a failover that lost leaves', async () => {
    await service.close();
    const dataDir = join(folder, 'ahead');
    cpSync(service.dataDir, dataDir, { recursive: true });
    const heads = openHeads(join(dataDir, 'heads.db'));
    const signed = [...heads.all()].find(({ origin }) => origin.endsWith('/audit'));
    if (signed === undefined) throw new Error('expected a signed head');
    heads.raise(signed.origin, { size: signed.size + 9000, root: signed.root });
    heads.raise('gov.local/prj_lost/audit', { size: 7, root: signed.root });
    heads.close();
    const report = await fsck({ dataDir, env: {} });
    const lost = { position: 'heads/gov.local/prj_lost/audit', got: 'no such log' };
    expect(report.problems).toContainEqual(expect.objectContaining({ kind: 'heads_mismatch', ...lost }));
    expect(report.problems).toContainEqual(
      expect.objectContaining({ kind: 'heads_mismatch', position: `heads/${signed.origin}` }),
    );
    expect(report).toMatchObject({ ok: false, found: 2 });
  });

  it('fsck finds checkpoints that other keys signed', async () => {
    const dataDir = join(folder, 'other');
    cpSync(service.dataDir, dataDir, { recursive: true });
    rmSync(join(dataDir, 'keys'), { recursive: true });
    createKeys(dataDir, randomBytes);
    const report = await fsck({ dataDir, env: {}, deep: true });
    expect(report.ok).toBe(false);
    expect(new Set(report.problems.map(({ kind }) => kind))).toEqual(new Set(['checkpoint_signature']));
  });
});

it('a check of a plane finds each changed column of its project', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-fsck-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const made = join(folder, 'made');
  await planeInit({ dataDir: made, listen: '127.0.0.1:0', metricsListen: 'off' });
  expect((await fsck({ dataDir: made, env: {} })).problems).toEqual([]);
  const changed = [
    ['project_id', 'projectId', 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz'],
    ['organization_id', 'organizationId', 'org_01jzzzzzzzzzzzzzzzzzzzzzzz'],
    ['environment', 'environment', 'sandbox'],
    ['audit_origin', 'auditOrigin', 'other.example/audit'],
    ['metering_origin', 'meteringOrigin', 'other.example/metering'],
  ] as const;
  for (const [column, name, value] of changed) {
    const dataDir = join(folder, column);
    cpSync(made, dataDir, { recursive: true });
    const db = new Database(join(dataDir, 'gov.db'));
    unguarded(db, () => db.exec(`UPDATE project SET ${column} = '${value}'`));
    db.close();
    const { problems } = await fsck({ dataDir, env: {} });
    expect(problems).toContainEqual({
      position: expect.stringMatching(/^prj_\w+\/project$/),
      kind: 'project_mismatch',
      expected: expect.stringMatching(new RegExp(`^${name} (?!${value}$)`)),
      got: `${name} ${value}`,
    });
  }
});
