/** `gov log prune`, of a sandbox plane, which may prune what is young. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeServe } from '../../../../plane/serve/start.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { Account } from '../../support/account.ts';
import { clockPast } from '../../../support/clock/later.ts';

const account = new Account();
const bundle = join(account.folder, 'old.govproof.json');
const archive = join(account.folder, 'old.ndjson.gz');
let plane: TestPlane;
let proofId = '';
let before = '';
beforeAll(async () => {
  plane = await startPlane({ environment: 'sandbox' });
  const push = async (runId: string): Promise<void> => {
    const events = Array.from({ length: 30 }, () => event({ runId }));
    expect((await plane.call('POST', '/events/batch', { body: { events } })).status).toBeLessThan(300);
  };
  await push('old');
  ({ proofId } = (await plane.call('POST', '/proofs', { body: { runId: 'old' } })).body);
  writeFileSync(bundle, (await plane.call('GET', `/proofs/${proofId}/bundle?events=disclosed`)).text);
  await clockPast(Date.now() + 1);
  before = new Date().toISOString();
  await push('young');
});
afterAll(() => plane.end());

const prune = (...words: string[]) =>
  account.gov(['log', 'prune', '--data', plane.dataDir, '--before', before, '--archive', archive, ...words], {
    columns: 100,
  });
const offline = async (): Promise<unknown> =>
  account.json([
    'proofs',
    'verify',
    bundle,
    '--offline',
    '--no-remember',
    '--trust',
    join(plane.dataDir, 'trust'),
  ]);
const atPlane = (baseUrl: string) =>
  account.json(['proofs', 'verify', proofId], { env: { GOV_BASE_URL: baseUrl, GOV_API_KEY: plane.key } });

describe('gov log prune', () => {
  it('gov log prune moves old events into an archive, and their proofs verify before and after', async () => {
    expect((await prune('--yes')).code).toBe(6); // it is served
    const verified = await offline();
    expect(verified).toMatchObject({ verified: true, proofId });
    expect(await atPlane(plane.baseUrl)).toMatchObject({ verified: true, proofId });
    await plane.close();

    const would = await prune('--dry-run');
    expect([would.code, would.stdout]).toEqual([
      0,
      expect.stringMatching(/events of leaves 0 to \d+ would move to the archive/),
    ]);
    const unasked = await prune();
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining(`into ${archive}`)]);
    expect(existsSync(archive)).toBe(false);
    const pruned = await prune('--yes');
    expect([pruned.code, pruned.stdout]).toEqual([
      0,
      expect.stringMatching(/pruned leaves 0 to \d+ of prj_/),
    ]);
    expect(pruned.stdout).toMatch(/old\.ndjson\.gz +\d+ bytes +sha256:[0-9a-f]{64}/);
    expect(existsSync(archive)).toBe(true);
    expect((await prune('--yes')).stdout).toContain('nothing to prune');
    expect(await account.json(['log', 'fsck', '--data', plane.dataDir, '--deep'])).toMatchObject({
      ok: true,
    });

    expect(await offline()).toEqual(verified);
    const again = await planeServe({
      dataDir: plane.dataDir,
      env: {},
      log: silentLog,
      overloadDelayMs: 60_000,
    });
    try {
      expect(await atPlane(again.baseUrl)).toMatchObject({ verified: true, proofId });
      const env = { GOV_BASE_URL: again.baseUrl, GOV_API_KEY: plane.key };
      const list = (run: string) => account.json(['events', 'list', '--run', run], { env });
      expect(JSON.stringify(await list('old'))).not.toContain('evt_');
      expect(JSON.stringify(await list('young'))).toContain('evt_');
    } finally {
      await again.close();
    }
  });
});
