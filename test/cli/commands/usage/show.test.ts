import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPage } from '../../../../src/cli/terminal/browser.ts';
import { limits } from '../../../../src/contract/limits.ts';
import { customers, startStripe, stripeKey, type StripeServer } from '../../../host/identity/stripe.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { Account } from '../../support/account.ts';

let stripe: StripeServer;
let service: TestService;
let tenant: Tenant;
let account: Account;
beforeAll(async () => {
  stripe = await startStripe();
  service = await startService({
    env: { GOV_STRIPE_KEY: stripeKey },
    file: {
      billing: { baseUrl: stripe.url },
      returnHosts: ['app.example.com'],
      quotas: { sandbox: { audit_event: 10, replay_verification: 0 } },
    },
  });
  tenant = await service.signUp('ada');
  account = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
  await account.gov(login, { input: tenant.keys.sandbox });
});
afterAll(async () => {
  await service.end();
  await stripe.stop();
});

const record = (count: number) =>
  account.gov(['events', 'push', '-', '--debug=http'], {
    input: Array.from({ length: count }, () => `${JSON.stringify(event())}\n`).join(''),
  });

describe('gov usage show', () => {
  const failOver = (share: string) => account.gov(['usage', 'show', '--fail-over', share]);
  const code = async (share: string) => (await failOver(share)).code;

  it('gov usage show exits with 3 from the share of --fail-over, and not below it', async () => {
    // a quota of nothing is always used up
    expect(await code('100%')).toBe(3);
    expect((await failOver('100%')).stderr).toBe('warning: replay_verification: 100 % of 0 used\n');
    await record(8);
    const { stdout } = await account.gov(['usage', 'show', '-o', 'csv']);
    const [head, ...rows] = stdout.trim().split('\n');
    expect(head).toBe('type,used,hybrid,limit,remaining,share,resetAt,period');
    const row = (type: string) =>
      rows
        .find((each) => each.startsWith(`${type},`))
        ?.split(',')
        .slice(0, 6)
        .join(',');
    expect(row('audit_event')).toBe('audit_event,8,0,10,2,0.8');
    expect(row('replay_verification')).toBe('replay_verification,0,0,0,0,1');
  });

  it('gov usage show counts usage of exactly the share as over it', async () => {
    const production = (share: string) =>
      account.gov(['usage', 'show', '--fail-over', share], {
        env: { GOV_API_KEY: tenant.keys.production, GOV_BASE_URL: `${service.origin}/api/v1` },
      });
    // unlimited quotas are never used up
    expect((await production('0')).code).toBe(0);
    const { projectId } = tenant;
    const { store } = service.services;
    await store.append({
      projectId,
      leaves: [],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'changeProject', quotas: { replay_verification: null }, atMs: Date.now() }],
    });
    // until then the service believes what it knows of a key
    await expect.poll(() => code('100%')).toBe(0);
    expect([await code('80%'), await code('0.8'), await code('80.1%'), await code('0.801')]).toEqual([
      3, 3, 0, 0,
    ]);
  });

  it('gov usage show draws people a bar for each quota and marks what is over', async () => {
    const looks = { columns: 110, env: { NO_COLOR: '1' } };
    const { stdout } = await account.gov(['usage', 'show', '--fail-over', '80%'], looks);
    expect(stdout).toMatch(
      /^\d{4}-\d{2}, calendar month in UTC\nTYPE +USED +LIMIT +REMAINING +SHARE +BAR +RESET AT\n/,
    );
    expect(stdout).toMatch(/^audit_event +8 +10 +2 +80 % {2}████████████████░░░░ {2}in /m);
    expect(stdout).toMatch(/^replay_verification +0 +unlimited +- +- {2}- +in /m);
    expect(stdout).toMatch(/^over audit_event: 80 % of 10 used\n$/m);
  });

  it('gov usage show returns the JSON of the service for the requested month', async () => {
    const now = await account.json(['usage', 'show']);
    expect(now.items).toHaveLength(4);
    const past = await account.json(['usage', 'show', '--period', '2026-01']);
    expect(past).toMatchObject({ period: '2026-01', items: [{ used: 0 }, {}, {}, {}] });
    for (const [words, message] of [
      [['--period', '2026-13'], /--period: expected text/],
      [['--fail-over', '101%'], /--fail-over: expected a share/],
      [['--fail-over', 'most'], /--fail-over: expected a share/],
    ] as const) {
      const refused = await account.gov(['usage', 'show', ...words]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(message)]);
    }
  });

  it('a used-up quota exits with 7, names gov usage show and causes no retry', async () => {
    const startedAt = performance.now();
    const { code: spent, stderr } = await record(3);
    expect([spent, stderr]).toEqual([7, expect.stringContaining('gov usage show')]);
    expect(stderr.match(/^> POST /gm)).toHaveLength(1);
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect((await record(2)).code).toBe(0);
  });
});

describe('gov usage thresholds', () => {
  it('gov usage thresholds shows and sets the thresholds', async () => {
    expect(await account.json(['usage', 'thresholds'])).toEqual({ percents: [50, 80, 90, 100] });
    expect(await account.json(['usage', 'thresholds', '--set', '40,95%'])).toEqual({ percents: [40, 95] });
    expect(await account.json(['usage', 'thresholds'])).toEqual({ percents: [40, 95] });
    const many = Array.from({ length: limits.thresholds }, (_, at) => at + 1);
    expect((await account.gov(['usage', 'thresholds', '--set', many.join(',')])).code).toBe(0);
    for (const bad of ['0', '101', 'x', '50.5', [...many, 99].join(',')]) {
      const { code, stderr } = await account.gov(['usage', 'thresholds', '--set', bad]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--set: expected')]);
    }
  });
});

describe('gov billing', () => {
  it('gov billing summary adds up what each project used', async () => {
    const whole = await account.json(['billing', 'summary']);
    expect(whole).toMatchObject({ organizationId: tenant.orgId, hasCustomer: false });
    const { stdout } = await account.gov(['billing', 'summary', '-o', 'csv']);
    expect(stdout.split('\n')[0]).toBe(
      'projectId,name,environment,audit_event,compliance_proof,risk_decision,replay_verification,deletedAt,organizationId,period,hasCustomer',
    );
    const month = `${tenant.orgId},${whole.period},false`;
    expect(stdout).toContain(`${tenant.projectId},Sandbox,sandbox,10,0,0,0,,${month}\n`);
  });

  it('gov billing retention sets how long bodies are kept, and the legal hold', async () => {
    const retention = (...words: string[]) => account.json(['billing', 'retention', ...words]);
    expect(await retention()).toEqual({ retentionDays: null, legalHold: false });
    expect(await retention('--days', '30')).toEqual({ retentionDays: 30, legalHold: false });
    expect(await retention('--legal-hold', 'on')).toEqual({ retentionDays: 30, legalHold: true });
    expect(await retention('--days', 'forever', '--legal-hold', 'off')).toEqual({
      retentionDays: null,
      legalHold: false,
    });
    expect(await retention('--days', String(limits.retentionDays))).toMatchObject({
      retentionDays: limits.retentionDays,
    });
    for (const bad of ['0', String(limits.retentionDays + 1), '-1', 'ever'])
      expect((await account.gov(['billing', 'retention', '--days', bad])).code).toBe(2);
  });

  describe('portal', () => {
    const portal = (...words: string[]) =>
      account.gov(['billing', 'portal', '--return-url', 'https://app.example.com/billing', ...words]);

    it('gov billing portal fails for an organization without a customer', async () => {
      expect((await portal()).code).toBe(5);
      const { code, stderr } = await account.gov(['billing', 'portal']);
      expect([code, stderr]).toEqual([2, expect.stringContaining('expected --return-url https://')]);
      expect((await account.gov(['billing', 'portal', '--return-url', 'https://evil.example'])).code).toBe(2);
    });

    it('gov billing portal prints the address alone on its line, and opens it on request', async () => {
      const { store } = service.services;
      const organization = await store.organization(tenant.orgId);
      await store.append({
        projectId: organization!.home.production,
        leaves: [],
        meter: { op: 'none', units: 0 },
        effects: [{ kind: 'setCustomer', organizationId: tenant.orgId, customerId: customers[0] ?? '' }],
      });
      const opener = join(account.folder, 'xdg-open');
      writeFileSync(opener, `#!/bin/sh\nprintf '%s' "$1" > '${account.folder}/opened'\n`);
      chmodSync(opener, 0o700);
      account.env['PATH'] = `${account.folder}:${process.env['PATH'] ?? ''}`;
      const { code, stdout } = await portal();
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^https:\/\/billing\.stripe\.com\/\S+\n$/)]);
      expect((await portal('--open')).code).toBe(0);
      expect(`${account.file('opened').text}\n`).toBe(stdout);
      expect(JSON.parse((await portal('-o', 'json')).stdout)).toEqual({ url: stdout.trim() });
      writeFileSync(opener, '#!/bin/sh\nexit 3\n');
      const unopened = await portal('--open');
      writeFileSync(opener, '#!/bin/sh\n');
      expect([unopened.code, unopened.stdout]).toEqual([0, expect.stringMatching(/^https:\S+\n$/)]);
      expect(unopened.stderr).toContain('no browser opened: xdg-open ended with 3');
    });
  });
});

describe('a page', () => {
  it.each(['file:///etc/passwd', 'javascript:alert(1)', '--version', 'x'])(
    'the browser opens no page at %s',
    async (address) => {
      await expect(openPage(address, process.env)).rejects.toThrow(/expected the address of a page/);
    },
  );

  it('a page that no program opens is reported, so that a person can open it', async () => {
    await expect(openPage('https://example.test/x', { PATH: account.folder, HOME: '/' })).resolves.toBeNull();
    await expect(openPage('https://example.test/x', { PATH: '/nowhere' })).resolves.toBe(
      'xdg-open is not installed here',
    );
  });
});
