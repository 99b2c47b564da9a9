/**
 * Schedules and deliveries of reports in a real Chromium, as a person of a hosted service whose scheduler is the test, with
 * a real mail server and a real receiver of webhooks.
 */
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { at, build, receiverAt, startReporting, work, type Reporting } from '../service/support/reporting.ts';
import { axeFaults, hasBrowser, startBrowser } from './support/browser.ts';

let on: Reporting;
let browser: Browser;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  if (!hasBrowser) return;
  [on, browser] = await Promise.all([startReporting(), startBrowser()]);
  const context = await browser.newContext({
    baseURL: `http://localhost:${on.service.port}`,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Zurich',
  });
  page = await context.newPage();
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto('/console/');
  const status = await page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' };
      return (await fetch('/api/v1/auth/session', { method: 'POST', headers, body })).status;
    },
    JSON.stringify({ idToken: await on.service.idToken('ada') }),
  );
  expect(status).toBe(200);
  await page.goto('/console/?signed-in');
  await page.locator('.account select').waitFor();
  // reports are of the production project, whose key the test has
  await page.locator('.account select').selectOption({ label: 'Production (production)' });
});
afterAll(async () => {
  await browser?.close();
  await on?.end();
});
beforeEach(async () => {
  const { data } = (await on.tenant.call('GET', '/reporting/schedules')).body;
  for (const { scheduleId } of data) await on.tenant.call('DELETE', `/reporting/schedules/${scheduleId}`);
});

const open = async (address: string): Promise<void> => {
  await page.goto(`/console/?${Math.random()}#${address}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
};
const dialog = () => page.getByRole('dialog');
const rowOf = (text: string) => page.getByRole('row').filter({ hasText: text });
const schedules = async () => (await on.tenant.call('GET', '/reporting/schedules')).body.data;
const later = (time: string) => at(on.service.services, Date.parse(time));

/** Makes the report that is due, and sends it. An attempt that ends in another way fails here, with its reason. */
async function runDue(deliveries: { succeeded?: number; failed?: number }): Promise<string> {
  const [{ scheduleId, nextRunAt }] = await schedules();
  expect(await work(later(nextRunAt), 'schedules')).toMatchObject({ succeeded: 1 });
  await build(later(nextRunAt));
  const sent = await work(later(nextRunAt), 'deliveries');
  const { data } = (await on.tenant.call('GET', '/reporting/deliveries')).body;
  expect(sent, JSON.stringify(data)).toMatchObject({ succeeded: 0, failed: 0, skipped: 0, ...deliveries });
  return (await on.tenant.call('GET', `/reporting/schedules/${scheduleId}`)).body.lastExecutionId;
}

describe.skipIf(!hasBrowser)('schedules and deliveries in the console', () => {
  it('a person makes a weekly schedule by its words, its report reaches the mailbox, and the lists lead to it', async () => {
    await open('/reports/schedules');
    await page.getByText('No schedules yet').waitFor();
    await page.getByRole('button', { name: 'New schedule' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('Weekly decisions');
    await dialog().getByLabel('Template').selectOption('decisions-exceptions');
    await dialog().getByLabel('On', { exact: true }).selectOption('Friday');
    await dialog().getByLabel('At', { exact: true }).fill('07:30');
    await expect.poll(() => dialog().getByLabel('Time zone').inputValue()).toBe('Europe/Zurich');
    await expect
      .poll(() => dialog().getByLabel('Period', { exact: true }).inputValue())
      .toBe('previous_week');
    await dialog().getByLabel('JSON').check();
    await dialog().getByRole('button', { name: 'Add a recipient' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('deliveries/0/channel');
    await dialog().getByLabel('E-mail address').fill('audit@example.com');
    expect(await axeFaults(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Create the schedule' }).click();
    const row = rowOf('Weekly decisions');
    await row.getByText('every Friday at 07:30').waitFor();
    await row.getByText('Europe/Zurich, about the week before').waitFor();
    await row.getByText('a…@example.com').waitFor();
    await page.getByText('The schedule Weekly decisions was created.').waitFor();
    const [made] = await schedules();
    expect(made).toMatchObject({ cron: '30 7 * * FRI', formats: ['pdf', 'json'], enabled: true });
    const executionId = await runDue({ succeeded: 2 });
    expect(on.mailbox.mails).toHaveLength(2);
    await open('/reports/schedules');
    await row.locator(`a[href="#/reports/${executionId}"]`).waitFor();
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await expect.poll(() => rowOf('delivered').count()).toBe(2);
    expect(await axeFaults(page)).toEqual([]);
    await rowOf('pdf').getByRole('link', { name: 'report', exact: true }).click();
    await page.getByRole('heading', { level: 2, name: 'Deliveries' }).waitFor();
    await expect.poll(() => rowOf('1 of 10').count()).toBe(2);
    expect(errors).toEqual([]);
  });

  it('what the service refuses is shown beside its field, which gets the focus, and nothing that was typed is lost', async () => {
    await open('/reports/schedules');
    await page.getByRole('button', { name: 'New schedule' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('Never');
    await dialog().getByLabel('Repeats').selectOption('by a cron expression');
    const cron = dialog().getByLabel('Cron expression');
    await cron.fill('0 6 30 2 *');
    await dialog().getByRole('button', { name: 'Add a recipient' }).click();
    await dialog().getByLabel('By', { exact: true }).selectOption('Webhook');
    await dialog().getByLabel('Address').fill('http://example.com/plain');
    await dialog().getByRole('button', { name: 'Make a secret' }).click();
    await page.keyboard.press('Enter');
    const submit = dialog().getByRole('button', { name: 'Create the schedule' });
    await submit.click();
    await dialog().getByText('one whose day never exists').waitFor();
    await dialog().getByRole('alert').getByText('Nothing was saved').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('cron');
    const described = await cron.getAttribute('aria-describedby');
    await expect.poll(() => page.locator(`[id="${described}"]`).textContent()).toContain('30 February');
    expect(await axeFaults(page)).toEqual([]);
    await cron.fill('0 6 * * MON-FRI');
    await submit.click();
    await dialog().getByText('an https URL').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('deliveries/0/target');
    await expect.poll(() => cron.getAttribute('aria-invalid')).toBeNull();
    await dialog().getByRole('button', { name: 'Remove recipient 1' }).click();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Add a recipient');
    await dialog().getByLabel('PDF').uncheck();
    await submit.click();
    expect(await schedules()).toEqual([]);
    await dialog().getByLabel('CSV').check();
    await submit.click();
    await rowOf('Never').getByText('0 6 * * MON-FRI').waitFor();
    expect((await schedules())[0]).toMatchObject({ formats: ['csv'], window: 'previous_week' });
  });

  it('with the keyboard alone a person makes a schedule, and the focus returns to the button', async () => {
    await open('/reports/schedules');
    await page.getByRole('button', { name: 'New schedule' }).focus();
    await page.keyboard.press('Enter');
    await dialog().getByText('Which AI systems were in use').waitFor();
    await page.keyboard.type('By keys');
    const focused = (): Promise<string> => page.evaluate('document.activeElement.name');
    for (const name of ['reportTemplateId', 'runId', 'every']) {
      await page.keyboard.press('Tab');
      expect(await focused()).toBe(name);
    }
    await page.keyboard.type('monthly');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('day');
    await page.keyboard.press('End');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await rowOf('By keys').getByText('the last day of each month at 06:00').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('New schedule');
    expect((await schedules())[0]).toMatchObject({ cron: '0 6 L * *', window: 'previous_month' });
  });

  it('a schedule is disabled, enabled and deleted, and the list shows each state', async () => {
    const body = {
      name: 'Month',
      reportTemplateId: 'executive-summary',
      window: 'previous_month',
      cron: '0 6 L * *',
    };
    await on.tenant.call('POST', '/reporting/schedules', { body });
    await open('/reports/schedules');
    const row = rowOf('the last day of each month at 06:00');
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled', { exact: true }).waitFor();
    expect((await schedules())[0]).toMatchObject({ enabled: false, nextRunAt: null });
    await row.getByRole('button', { name: 'Enable' }).click();
    await row.getByText('enabled', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No schedules yet').waitFor();
    expect(await schedules()).toEqual([]);
  });

  it('a webhook gets the report signed with the secret that the page made', async () => {
    const receiver = await receiverAt(on);
    await open('/reports/schedules');
    await page.getByRole('button', { name: 'New schedule' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('Hook');
    await dialog().getByLabel('Repeats').selectOption('daily');
    await dialog().getByRole('button', { name: 'Add a recipient' }).click();
    await dialog().getByLabel('By', { exact: true }).selectOption('Webhook');
    await dialog().getByLabel('Address').fill(`https://127.0.0.1:${on.hookPort}/hook`);
    await dialog().getByRole('button', { name: 'Make a secret' }).click();
    const secret = await dialog().getByLabel('Secret', { exact: true }).inputValue();
    await dialog().getByRole('button', { name: 'Create the schedule' }).click();
    await rowOf('Hook').getByText(`https://127.0.0.1:${on.hookPort}/…`).waitFor();
    await runDue({ succeeded: 1 });
    const [request] = receiver.requests;
    const { body = '', headers = {} } = request ?? {};
    const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature } = headers;
    // the clock of the schedule is a day ahead, so that the time alone cannot be verified
    const signedAt = new Date(Number(seconds) * 1000);
    expect(signature).toBe(new Webhook(secret).sign(String(id), signedAt, body));
    await receiver.close();
  });

  it('a failed delivery says why, and is sent again at a click', async () => {
    const body = {
      name: 'Refused',
      reportTemplateId: 'executive-summary',
      window: 'previous_day',
      cron: '0 6 * * *',
      deliveries: [{ channel: 'email', target: 'late@example.com', format: 'pdf' }],
    };
    await on.tenant.call('POST', '/reporting/schedules', { body });
    on.mailbox.refuseNext.push(550);
    await runDue({ failed: 1 });
    await open('/reports/deliveries?status=failed');
    const row = rowOf('l…@example.com');
    await row.getByText('answered 550').waitFor();
    await row.getByText('1 of 10').waitFor();
    await row.getByRole('button', { name: 'Send again' }).click();
    await expect
      .poll(
        async () => (await on.tenant.call('GET', '/reporting/deliveries?status=pending')).body.data.length,
      )
      .toBe(1);
    await work(on.service.services, 'deliveries');
    await page.getByText('No delivery is failed').waitFor();
    await page.getByLabel('Status').selectOption('delivered');
    await row.waitFor();
    expect(errors).toEqual([]);
  });

  it('a hostile name of a schedule is shown as text, also on a narrow screen', async () => {
    const name = `<img src=x onerror="document.title='owned'">${'w'.repeat(50)}`;
    const body = { name, reportTemplateId: 'executive-summary', window: 'previous_day', cron: '0 6 * * *' };
    await on.tenant.call('POST', '/reporting/schedules', { body });
    await page.setViewportSize({ width: 360, height: 800 });
    await open('/reports/schedules');
    await page.getByText('<img src=x').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog().getByText('<img src=x').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New schedule' }).click();
    await dialog().getByRole('button', { name: 'Add a recipient' }).click();
    await dialog().getByLabel('By', { exact: true }).selectOption('Webhook');
    await expect.poll(() => page.title()).toBe('Schedules · gov console');
    await expect.poll(() => page.locator('main img').count()).toBe(0);
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
      .toBeLessThanOrEqual(0);
    expect(
      await page.evaluate(
        `(() => { const d = document.querySelector('dialog'); return d.scrollWidth - d.clientWidth; })()`,
      ),
    ).toBe(0);
    expect(await axeFaults(page)).toEqual([]);
  });
});
