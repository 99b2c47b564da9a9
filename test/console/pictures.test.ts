/**
 * Pictures of the console for docs/how-to/use-the-console.md, and for people who change its look:
 * `GOV_PICTURES=FOLDER scripts/with-node vitest run test/console/pictures.test.ts`.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startMailbox, type Mailbox } from '../host/outbound/mailbox.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startService, type TestService } from '../support/hosted.ts';
import type { TestPlane } from '../support/serving.ts';
import { SshSigner } from '../support/signers.ts';
import { hasBrowser, startBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { fillPlane } from './support/calls.ts';
import { governedKeys, recordRuns } from './support/governed-runs.ts';
import { fillLists } from './support/lists.ts';

const folder = process.env['GOV_PICTURES'];
const sizes = folder === undefined ? [1280] : [360, 1024, 1600];
const themes = ['light', 'dark'] as const;

/** Pictures of all pages of a tour: addresses by the name of the picture, `address > button` with a dialog. */
async function takeTour(
  page: Page,
  tour: Readonly<Record<string, string>>,
  about: { readonly theme: string; readonly width: number },
): Promise<void> {
  for (const [name, step] of Object.entries(tour)) {
    const [address = '/', ...buttons] = step.split(' > ');
    await page.evaluate(`location.hash = '#${address}'`);
    // the new page is rendered, and its data is there
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.locator('.loading').count()).toBe(0);
    await expect.poll(() => page.locator('main').innerText()).not.toMatch(/(?:Loading|Coverage).*…/);
    await page.waitForLoadState('networkidle');
    for (const button of buttons) await page.getByRole('button', { name: button }).last().click();
    if (step.includes('Roll back'))
      await page
        .getByText(/recorded decisions?, /)
        .last()
        .waitFor();
    const path =
      folder === undefined ? {} : { path: join(folder, `${name}-${about.theme}-${about.width}.png`) };
    const picture = await page.screenshot({ fullPage: buttons.length === 0, ...path });
    expect(picture.length).toBeGreaterThan(5_000);
    // nothing runs out of the frame, and no blank area follows the page
    const beyond = await page.evaluate(`(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      const { bottom } = document.querySelector('main').getBoundingClientRect();
      return [scrollWidth - innerWidth, scrollHeight - Math.max(innerHeight, Math.ceil(bottom + scrollY))];
    })()`);
    expect([name, about.width, ...(beyond as number[]).map((px) => Math.max(0, px))]).toEqual([
      name,
      about.width,
      0,
      0,
    ]);
    if (buttons.length > 0) await page.keyboard.press('Escape');
  }
}

describe.skipIf(!hasBrowser)('pictures of the console', () => {
  let world: ConsoleWorld;
  let tour: Readonly<Record<string, string>>;
  beforeAll(async () => {
    world = await startConsole({ extraKeys: { ...governedKeys, approver: { scopes: ['*'] } } });
    const { plane } = world;
    await fillPlane(plane);
    await recordRuns(plane);
    const ssh = new SshSigner();
    const approver = { name: 'Grace, desk', ssh: { publicKey: ssh.publicKey } };
    await plane.call('POST', '/approvers', { body: approver, key: plane.keys['approver'] ?? '' });
    ssh.end();
    await plane.call('POST', '/proofs', { body: { runId: 'checkout' } });
    const { data } = (await plane.call('GET', '/approvals?status=pending')).body as {
      data: { approvalId: string }[];
    };
    const shown = { home: '/', approval: `/approvals/${data.at(-1)?.approvalId ?? ''}` };
    tour = { ...shown, run: '/runs/checkout', approvers: '/approvers' };
    if (folder === undefined) return;
    mkdirSync(folder, { recursive: true });
    await fillLists(plane.call, { policyId: 'no-shell' });
    tour = { ...tour, ...others, report: `/reports/${await newestReport(plane.call)}` };
  });
  afterAll(() => world?.end());

  it.each(themes)('every page of the tour can be pictured in the %s theme', async (theme) => {
    for (const width of sizes) {
      const key = world.plane.keys['approver'] ?? '';
      const { page, context, errors } = await world.open('/', { theme, width, height: 900, key });
      await takeTour(page, tour, { theme, width });
      expect(errors).toEqual([]);
      await context.close();
    }
  });
});

describe.skipIf(!hasBrowser || folder === undefined)('pictures of the console of a service', () => {
  let service: TestService;
  let browser: Browser;
  let mailbox: Mailbox;
  let tour: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const authority = makeAuthority(mkdtempSync(join(tmpdir(), 'gov-pictures-')));
    mailbox = await startMailbox({ certificate: authority.issue('peer') });
    const from = 'Reports <reports@gov.example>';
    const smtp = { host: '127.0.0.1', port: mailbox.port, from, ca: authority.certFile };
    [service, browser] = await Promise.all([startService({ file: { smtp } }), startBrowser()]);
    const { call, keys } = await service.signUp('ada', { name: 'Ada Byron', organizationName: 'Example AG' });
    const plane = { call, key: keys.production } as unknown as TestPlane;
    await fillPlane(plane);
    await fillLists(call, { policyId: 'no-shell', mailTo: 'audit@example.com' });
    for (const name of ['Zurich, data centre 2', 'Frankfurt']) {
      const made = await call('POST', '/telemetry/planes', { body: { name } });
      expect(made.status, made.text).toBe(201);
    }
    await mailbox.until(2);
    const report = await newestReport(call);
    tour = Object.fromEntries(
      Object.entries({ ...hosted, report: `/reports/${report}` }).map(([name, step]) => [
        `hosted-${name}`,
        step,
      ]),
    );
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end();
    await mailbox?.close();
  });

  it.each(themes)('every page with lists can be pictured in the %s theme', async (theme) => {
    for (const width of sizes) {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: { width, height: 900 },
        reducedMotion: 'reduce',
        baseURL: `http://localhost:${service.port}`,
      });
      const page = await context.newPage();
      await page.goto('/console/icon');
      await page.evaluate(
        async (body) => {
          const headers = { 'content-type': 'application/json' };
          await fetch('/api/v1/auth/session', { method: 'POST', headers, body });
        },
        JSON.stringify({ idToken: await service.idToken('ada') }),
      );
      await page.goto('/console/');
      await page.getByText('Example AG · production').waitFor({ state: 'attached' });
      await takeTour(page, tour, { theme, width });
      await context.close();
    }
  });
});

async function newestReport(call: TestPlane['call']): Promise<string> {
  const { data } = (await call('GET', '/reporting/executions?limit=10')).body as {
    data: { executionId: string; reportTemplateId: string }[];
  };
  return data.find(({ reportTemplateId }) => reportTemplateId === 'decisions-exceptions')?.executionId ?? '';
}

const lists = {
  reports: '/reports',
  schedules: '/reports/schedules',
  'new-schedule': '/reports/schedules > New schedule > Add a recipient',
  deliveries: '/reports/deliveries',
  exports: '/exports',
  webhooks: '/webhooks',
  keys: '/keys',
  policies: '/policies',
  policy: '/policies/no-shell',
  rollback: '/policies/no-shell > Roll back to v1',
};

/** Pages without a picture in the documentation. */
const others = {
  ...lists,
  approvals: '/approvals',
  runs: '/runs',
  causes: '/runs/checkout?tab=graph',
  proof: '/runs/checkout?tab=proof',
  replay: '/runs/checkout?tab=replay',
  events: '/events',
  verify: '/verify',
  unknown: '/nothing',
};

const hosted = { ...lists, home: '/', approvals: '/approvals', planes: '/planes', projects: '/projects' };
