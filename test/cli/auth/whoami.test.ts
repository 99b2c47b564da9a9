/** Whose API key the calls to a data plane have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { Account } from '../support/account.ts';

const account = new Account();
let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { reader: { scopes: ['events:read'] } } });
  await account.gov(['context', 'set', 'local', '--data', plane.dataDir]);
});
afterAll(() => plane.end());

describe('gov auth whoami on a data plane', () => {
  it('names the key of the context, its project and its source, and never the key itself', async () => {
    const value = await account.json(['auth', 'whoami']);
    expect(value).toMatchObject({
      type: 'api_key',
      context: 'local',
      scopes: ['*'],
      environment: 'production',
    });
    expect(value.from).toContain('local.key');
    const { stdout } = await account.gov(['auth', 'whoami'], {
      columns: 80,
      env: { NO_COLOR: '1' },
    });
    expect(stdout).toContain(`(${value.id})`);
    expect(stdout).toMatch(/may +everything/);
    const secret = readFileSync(join(plane.dataDir, 'local.key'), 'utf8').trim();
    expect(JSON.stringify(value) + stdout).not.toContain(secret);
  });

  it('names another key and what it may do, and ends with 4 for one that the plane does not know', async () => {
    const reader = { env: { GOV_API_KEY: plane.keys['reader'] ?? '' } };
    expect(await account.json(['auth', 'whoami'], reader)).toMatchObject({
      scopes: ['events:read'],
      from: 'GOV_API_KEY',
    });
    const unknown = { env: { GOV_API_KEY: `gov_live_${'x'.repeat(38)}` } };
    const { code, stderr } = await account.gov(['auth', 'whoami'], unknown);
    expect([code, stderr]).toEqual([4, expect.stringContaining('no longer valid')]);
  });

  it('is what gov auth status names on a data plane', async () => {
    const { code, stderr } = await account.gov(['auth', 'status']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('gov auth whoami')]);
  });
});
