/** An index of a log from before, and one that outlives the pruning of its leaves. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planeBuildIndex } from '../../../plane/data/build-index.ts';
import { planePrune } from '../../../plane/data/prune.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { checkedCalls, event, startPlane, type TestPlane } from '../../support/serving.ts';

const dayMs = 86_400_000;
const realNow = Date.now;
let aheadMs = 0;
let plane: TestPlane;
let folder = '';
beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  folder = mkdtempSync(join(tmpdir(), 'gov-index-'));
  plane = await startPlane();
  await record(plane.call, 'old', 300);
  await plane.close();
});
afterAll(async () => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
  await plane.end();
});

const record = (call: TestPlane['call'], runId: string, count: number) => {
  const timestamp = new Date(Date.now()).toISOString();
  const events = Array.from({ length: count }, (_, n) => event({ runId, timestamp, metadata: { n } }));
  return call('POST', '/events/batch', { body: { events } });
};

/** Serves the plane again, proves a run, and says what its bundle shows. */
async function proved(runId: string) {
  const served = await planeServe({
    dataDir: plane.dataDir,
    log: silentLog,
    env: {},
    overloadDelayMs: 60_000,
  });
  const own = checkedCalls(served.baseUrl).call;
  const call: TestPlane['call'] = (method, path, options = {}) =>
    own(method, path, { key: plane.key, ...options });
  await record(call, runId, 5);
  const composed = { layers: ['event_integrity'] };
  const { body } = await call('POST', '/proofs', { body: { runId, composed } });
  const { bytes } = await call('GET', `/proofs/${body.proofId}/bundle`);
  await served.close();
  const verdict = verifyBundle(bytes, parseTrust(readFileSync(join(plane.dataDir, 'trust'), 'utf8')));
  return [verdict.verified, verdict.checks.find(({ id }) => id === 'completeness')!.result];
}

describe('gov log index build', () => {
  it('gov log index build indexes a log without an index leaf, and fsck derives the same index', async () => {
    const place = { dataDir: plane.dataDir, env: {} };
    const built = await planeBuildIndex(place);
    expect(built.size).toBeGreaterThan(300);
    expect(built.leafIndex).toBe(built.size);
    const { ok, problems } = await fsck({ dataDir: plane.dataDir, deep: true, env: {} });
    expect([ok, problems]).toEqual([true, []]);
    const again = await planeBuildIndex(place);
    expect(again.size).toBe(built.size + 1);
  });

  it.each([
    'UPDATE index_list SET n = n - 1 WHERE n > 1',
    'UPDATE index_list SET last_ms = last_ms + 1',
    'DELETE FROM index_list',
    'DELETE FROM index_list WHERE key_hash = (SELECT max(key_hash) FROM index_list)',
    "UPDATE index_map SET parts = x'00'",
    'UPDATE index_map SET ms = ms + 1',
    'UPDATE index_map SET size = size - 1',
  ])('gov log index build makes the saved map again that fsck reports after: %s', async (damage) => {
    await plane.sql(damage);
    const place = { dataDir: plane.dataDir, env: {} };
    const damaged = await fsck({ ...place, deep: true });
    expect(
      damaged.problems.map(({ position, kind }) => `${position.replace(/^prj_\w+/, '')} ${kind}`),
    ).toEqual(['/index_map index_mismatch']);
    await planeBuildIndex(place);
    expect((await fsck({ ...place, deep: true })).problems).toEqual([]);
  });

  it('gov log index build lets later bundles prove completeness after earlier leaves were pruned', async () => {
    aheadMs = 200 * dayMs;
    expect(await proved('young')).toEqual([true, 'passed']);
    const pruned = await planePrune(
      { dataDir: plane.dataDir, env: {} },
      { beforeMs: Date.now() - 190 * dayMs, archive: join(folder, 'a.ndjson.gz'), dryRun: false },
    );
    expect(pruned.to).toBeGreaterThan(300);
    expect(await proved('younger')).toEqual([true, 'passed']);
  });

  it('gov log index build refuses a log whose leaves were pruned before it had an index', async () => {
    const { sql } = plane;
    await sql('DELETE FROM index_map');
    await sql('DELETE FROM index_list');
    await expect(planeBuildIndex({ dataDir: plane.dataDir, env: {} })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await proved('youngest')).toEqual([true, 'not_checked']);
  });
});
