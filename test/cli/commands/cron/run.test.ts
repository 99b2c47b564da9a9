import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cronSecret, startReporting, type Reporting } from '../../../service/support/reporting.ts';
import { Account } from '../../support/account.ts';

let on: Reporting;
let account: Account;
beforeAll(async () => {
  on = await startReporting();
  account = new Account({ GOV_BASE_URL: on.service.baseUrl });
  writeFileSync(join(account.folder, 'cron.secret'), `${cronSecret}\n`, { mode: 0o600 });
});
afterAll(() => on.end());

describe('gov cron run', () => {
  it('gov cron run all does the four kinds of work in order: a report is built and delivered', async () => {
    const body = {
      reportTemplateId: 'executive-summary',
      formats: ['json'],
      parameters: { startTime: '2026-03-01T00:00:00Z', endTime: '2026-03-31T23:59:59.999Z' },
      deliveries: [{ channel: 'email', target: 'ada@example.org', format: 'json' }],
    };
    expect((await on.tenant.call('POST', '/reporting/executions', { body })).status).toBe(202);
    const { data } = await account.json(['cron', 'run', 'all', '--secret-file', 'cron.secret']);
    expect(data.map(({ work, succeeded }: Record<string, unknown>) => [work, succeeded])).toEqual([
      ['schedules', 0],
      ['executions', 1],
      ['deliveries', 1],
      ['cleanup', 0],
    ]);
    expect(on.mailbox.mails).toHaveLength(1);
    const again = await account.gov(['cron', 'run', 'all'], {
      env: { GOV_CRON_SECRET_FILE: join(account.folder, 'cron.secret') },
      columns: 100,
    });
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('deliveries')]);
  });

  it('gov cron run takes the secret from the environment, and needs no key', async () => {
    const env = { GOV_CRON_SECRET: cronSecret };
    expect((await account.gov(['cron', 'run', 'cleanup'], { env })).code).toBe(0);
  });

  it.each([
    [['cron', 'run', 'all'], 2, 'GOV_CRON_SECRET_FILE'],
    [
      ['cron', 'run', 'everything', '--secret-file', 'cron.secret'],
      2,
      'schedules, executions, deliveries, cleanup, all',
    ],
    [['cron', 'run', 'all', '--secret-file', 'missing'], 2, 'missing'],
  ])('%j ends with %i and says why', async (words, code, part) => {
    const result = await account.gov(words);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(part)]);
  });

  it('gov cron run with another secret is refused, and does not show it', async () => {
    const env = { GOV_CRON_SECRET: 'another-secret-another-secret-another' };
    const { code, stderr } = await account.gov(['cron', 'run', 'all'], { env });
    expect(code).toBe(4);
    expect(stderr).not.toContain('another-secret');
    expect(stderr).toContain('GOV_CRON_SECRET_FILE of the server');
    expect(stderr).not.toContain('gov auth login');
  });

  it('gov cron run refuses a secret file that every user can read', async () => {
    chmodSync(join(account.folder, 'cron.secret'), 0o644);
    const { code, stderr } = await account.gov(['cron', 'run', 'all', '--secret-file', 'cron.secret']);
    chmodSync(join(account.folder, 'cron.secret'), 0o600);
    expect([code, stderr]).toEqual([2, expect.stringContaining('every user can read')]);
  });
});
