/**
 * The console while things go wrong or slowly: answers after seconds, a session that ends, two tabs,
 * a reload in the middle, and a reader who has only a keyboard or twice the size of letters.
 */
import type { Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../support/serving.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { callTool, fillPlane } from './support/calls.ts';

/** Holds matching requests until `release`. */
async function held(page: Page, address: RegExp, method: string) {
  const seen: Route[] = [];
  let release = (): void => {};
  const gate = new Promise<void>((open) => (release = open));
  await page.route(address, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    seen.push(route);
    await gate;
    // a page that has left does not wait for it
    await route.continue().catch(() => {});
  });
  return { seen, release };
}

describe.skipIf(!hasBrowser)('the console in trouble', () => {
  let world: ConsoleWorld;
  const asApprover = () => ({ key: world.plane.keys['approver'] ?? '' });
  beforeAll(async () => {
    world = await startConsole({
      extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read', 'events:read'] } },
    });
    await fillPlane(world.plane);
  });
  afterAll(() => world?.end());

  const ask = async (runId: string): Promise<string> =>
    (await callTool(world.plane, { runId, arguments: { amount: 7 } })).approvalId ?? '';
  const statusOf = async (approvalId: string): Promise<string> =>
    ((await world.plane.call('GET', `/approvals/${approvalId}`)).body as { status: string }).status;
  const approve = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true });

  it('a slow answer shows what is loading, and a decision that waits is sent once, however often it is clicked', async () => {
    const approvalId = await ask('slow');
    const { page, context } = await world.open('/approvals', asApprover());
    const reading = await held(page, /\/approvals\/apr_[^/]+$/, 'GET');
    await page.evaluate(`location.hash = '#/approvals/${approvalId}'`);
    await page.getByText('Loading the approval…').waitFor();
    reading.release();
    await approve(page).waitFor();
    const deciding = await held(page, /\/decision$/, 'POST');
    await approve(page).click({ trial: true });
    await page.evaluate(`(() => {
      const button = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Approve');
      button.click();
      button.click();
    })()`);
    await expect.poll(() => deciding.seen.length).toBe(1);
    await expect.poll(() => approve(page).isDisabled()).toBe(true);
    await expect.poll(() => page.getByRole('button', { name: 'Deny' }).isDisabled()).toBe(true);
    deciding.release();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    expect(deciding.seen.length).toBe(1);
    await context.close();
  });

  it('a page that is reloaded while its decision is on the way shows what the server decided', async () => {
    const approvalId = await ask('reloaded');
    const { page, context } = await world.open(`/approvals/${approvalId}`, asApprover());
    const sent = page.waitForRequest(/\/decision$/);
    await approve(page).click();
    await sent;
    await page.reload();
    const isDecided = (await statusOf(approvalId)) === 'approved';
    const shown = isDecided ? page.getByRole('heading', { name: 'Decision', exact: true }) : approve(page);
    await shown.waitFor();
    await expect.poll(() => approve(page).count()).toBe(isDecided ? 0 : 1);
    await context.close();
  });

  it('an approval that another tab decided is shown as decided, and the late click is refused in words', async () => {
    const approvalId = await ask('two-tabs');
    const { page, context } = await world.open(`/approvals/${approvalId}`, asApprover());
    const other = await context.newPage();
    await other.goto(`/console/#/approvals/${approvalId}`);
    const reading = await held(page, /\/approvals\/apr_[^/]+$/, 'GET');
    await approve(page).waitFor();
    await other.getByRole('button', { name: 'Deny' }).click();
    await other.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    await approve(page).click();
    await page.getByRole('alert').getByText('denied by').waitFor();
    reading.release();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    expect(await statusOf(approvalId)).toBe('denied');
    await context.close();
  });

  it('a session that ends while a comment is written leads to the sign-in page, and a sign-in elsewhere back to the approval', async () => {
    const approvalId = await ask('ended');
    const { page, context } = await world.open(`/approvals/${approvalId}`, asApprover());
    await page.getByLabel('Comment').fill('half a sen');
    await context.clearCookies();
    await approve(page).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await statusOf(approvalId)).toBe('pending');
    const { body } = await world.plane.call('POST', '/console/links', asApprover());
    const other = await context.newPage();
    await other.goto(`/console#code=${(body as { code: string }).code}`);
    await approve(page).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/approvals/${approvalId}`);
    await context.close();
  });

  it('with the keyboard alone a reader finds a waiting approval, approves it, and denies the next one', async () => {
    for (const [outcome, button] of [
      ['approved', 'Approve'],
      ['denied', 'Deny'],
    ] as const) {
      const approvalId = await ask(`keys-${outcome}`);
      const { page, context } = await world.open('/approvals', asApprover());
      const focused = (): Promise<string> =>
        page.evaluate(
          `(document.activeElement?.getAttribute('href') ?? document.activeElement?.textContent ?? '')`,
        );
      const tabTo = async (wanted: string): Promise<void> => {
        for (let presses = 0; (await focused()) !== wanted; presses += 1) {
          expect(presses, `Tab reaches ${wanted}`).toBeLessThan(60);
          await page.keyboard.press('Tab');
        }
      };
      await page.locator(`a[href$="${approvalId}"]`).waitFor();
      await tabTo(`#/approvals/${approvalId}`);
      await page.keyboard.press('Enter');
      await approve(page).waitFor();
      await tabTo(button);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
      expect(await statusOf(approvalId)).toBe(outcome);
      // the button is gone: the focus is not lost with it
      await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('Decision');
      await context.close();
    }
  });

  it('back and forward restore the page, its tab and its filters', async () => {
    const body = { outcome: 'denied' };
    await world.plane.call('POST', `/approvals/${await ask('back')}/decision`, { body, ...asApprover() });
    const { page, context } = await world.open('/approvals', asApprover());
    await page.getByRole('link', { name: 'Denied' }).click();
    await page.getByText('denied', { exact: true }).first().waitFor();
    const list = page.url();
    await page.getByRole('link', { name: 'send_payment on bank' }).first().click();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    const approval = page.url();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Approvals' }).waitFor();
    expect(page.url()).toBe(list);
    await expect
      .poll(() => page.getByRole('link', { name: 'Denied' }).getAttribute('aria-current'))
      .not.toBeNull();
    await page.goForward();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    expect(page.url()).toBe(approval);
    await context.close();
  });

  it('an export that runs is cancelled by a click, and the list shows how each export ended', async () => {
    const { plane } = world;
    const text = 'x'.repeat(2000);
    const events = Array.from({ length: 500 }, (_, n) => event({ runId: 'large', metadata: { text, n } }));
    for (let batch = 0; batch < 40; batch += 1)
      await plane.call('POST', '/events/batch', { body: { events } });
    const { page, context, errors } = await world.open('/exports');
    await page.getByRole('button', { name: 'New export' }).click();
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'Events, json' });
    await row.getByText('processing').waitFor();
    await row.getByRole('button', { name: 'Cancel' }).click();
    await row.getByText('cancelled').waitFor();
    await expect.poll(() => row.getByRole('button').count()).toBe(0);
    const { data } = (await plane.call('GET', '/exports')).body as { data: { exportId: string }[] };
    const [{ exportId = '' } = {}] = data;
    expect((await plane.call('GET', `/exports/${exportId}`)).body).toMatchObject({ status: 'cancelled' });
    expect((await plane.call('GET', `/exports/${exportId}/download`)).status).toBe(409);
    // the next one is not in its way, and nobody has to reload the page to see its end
    await page.getByRole('button', { name: 'New export' }).click();
    await page.getByLabel('Only of the run (optional)').fill('slow');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const next = page.getByRole('row').filter({ hasText: 'run slow' });
    await next.getByText('completed').waitFor();
    await next.getByRole('button', { name: 'Download' }).waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  it('at 200 % zoom nothing runs out of the frame, and axe-core finds no fault', async () => {
    const approvalId = await ask('zoomed');
    // a window of 1280 by 800 at 200 %
    const { page, context } = await world.open('/', { ...asApprover(), width: 640, height: 400 });
    for (const address of [
      '/',
      '/approvals',
      `/approvals/${approvalId}`,
      '/runs',
      '/runs/run-1',
      '/policies',
    ]) {
      await page.evaluate(`location.hash = '#${address}'`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([address, Math.max(0, Number(overflow)), await axeFaults(page)]).toEqual([address, 0, []]);
    }
    await context.close();
  });
});
