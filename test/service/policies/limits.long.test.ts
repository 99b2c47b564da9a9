/** Bounds that a test reaches only with rows that no request made. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let plane: TestPlane;
/** Where it listens after it was started again. */
let base = '';
let again: RunningPlane | undefined;
beforeAll(async () => {
  plane = await startPlane();
  await create({ policyId: 'force-a' });
  await post('force-a/publish', {});
});
afterAll(async () => {
  await again?.close();
  await plane.end();
});

const noShell = { condition: { 'tool.name': 'shell' }, action: 'deny', severity: 'high' };
const create = (members: Record<string, unknown>): Promise<Answer> =>
  plane.call('POST', '/governance/policies', { body: { name: 'No shell', ...noShell, ...members } });
const post = (path: string, body: unknown): Promise<Answer> =>
  plane.call('POST', `${base}/governance/policies/${path}`, { body });
const move = (policyId: string, targetStatus: string): Promise<Answer> =>
  post(`${policyId}/transition`, { targetStatus });

describe('the numbers of policies and versions', () => {
  /** Rows that no request made, as many as a test would not wait for. */
  const insert = (sql: string, count: number): void => {
    const db = new Database(join(plane.dataDir, 'gov.db'));
    const statement = db.prepare(sql);
    db.transaction(() => {
      for (let at = 0; at < count; at++) statement.run(at);
    })();
    db.close();
  };

  it('a policy has a limited number of versions', async () => {
    await create({ policyId: 'many' });
    insert(
      `INSERT INTO policy_version (project, policy_id, version, condition, normalized, action, severity, policy_hash,
         created_ms, created_by, published)
       SELECT project, policy_id, 2 + ?, condition, normalized, action, severity, policy_hash, created_ms, created_by, 0
       FROM policy_version WHERE policy_id = 'many' AND version = 1`,
      limits.policyVersions - 2,
    );
    const db = new Database(join(plane.dataDir, 'gov.db'));
    db.prepare("UPDATE policy SET revision = revision + 1, latest_version = ? WHERE policy_id = 'many'").run(
      limits.policyVersions - 1,
    );
    db.close();
    expect((await post('many/versions', noShell)).body.version).toBe(limits.policyVersions);
    const over = await post('many/versions', noShell);
    expect([over.status, over.body.errors[0].code]).toEqual([400, 'TOO_MANY']);
  });

  it('a project has a limited number of active policies', { timeout: 60_000 }, async () => {
    const { body } = await plane.call('GET', '/governance/policies/force-a/in-force');
    for (const policyId of ['last', 'over']) await create({ policyId });
    const rows = limits.policiesActive - 1 - body.size;
    insert(
      `INSERT INTO policy_version (project, policy_id, version, condition, normalized, action, severity, policy_hash,
         created_ms, created_by, published)
       SELECT project, 'filler-' || ?, 1, condition, normalized, action, severity, policy_hash, 1, created_by, 1
       FROM policy_version WHERE policy_id = 'force-a' AND version = 1`,
      rows,
    );
    insert(
      `INSERT INTO policy (project, policy_id, name, description, status, active_version, last_active_version,
         latest_version, revision, created_ms, created_by, updated_ms)
       SELECT project, 'filler-' || ?, name, description, 'active', 1, 1, 1, 1, 1, created_by, 1
       FROM policy WHERE policy_id = 'force-a'`,
      rows,
    );
    // what is in memory is read again
    await plane.close();
    again = await planeServe({ dataDir: plane.dataDir, log: silentLog, env: {}, overloadDelayMs: 60_000 });
    base = again.baseUrl;
    expect((await move('last', 'active')).status).toBe(200);
    const over = await move('over', 'active');
    expect([over.status, over.body.errors[0].code]).toEqual([400, 'TOO_MANY']);
    expect((await post('last/publish', {})).status).toBe(200);
    await move('last', 'disabled');
    expect((await move('over', 'active')).status).toBe(200);
  });
});
