/** Lists that are open in a real Chromium: what is new appears by itself, and moves nothing that a person reads. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../support/serving.ts';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (hasBrowser) world = await startConsole();
});
afterAll(() => world?.end());

async function post(path: string, body: object): Promise<void> {
  const answer = await world.plane.call('POST', path, { body });
  expect(answer.status, answer.text).toBeLessThan(300);
}
const now = (runId: string) => event({ runId, timestamp: new Date().toISOString() });
const record = (runId: string): Promise<void> => post('/events', now(runId));

/** The open list, whose time the test moves. */
async function openList(address: string) {
  const opened = await world.open();
  const { page } = opened;
  await page.clock.install();
  await page.evaluate(`location.hash = ${JSON.stringify(`#${address}`)}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.paged-foot, .empty').first().waitFor();
  return opened;
}
const later = (page: Page): Promise<void> => page.clock.fastForward(10_000);
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const schedule = {
  name: 'New schedule of tools',
  reportTemplateId: 'tool-access',
  window: 'previous_month',
  cron: '30 5 L * *',
};
const parameters = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-06-30T00:00:00Z' };
const report = { reportTemplateId: 'tool-access', title: 'New report', formats: ['json'], parameters };

describe.skipIf(!hasBrowser)('a list that is open in the console', () => {
  it.each([
    ['/runs', 'new-run', () => record('new-run')],
    ['/events', 'new-event', () => record('new-event')],
    [
      '/policies',
      'new-policy',
      () =>
        post('/governance/policies', { policyId: 'new-policy', name: 'New', condition: {}, action: 'deny' }),
    ],
    ['/reports', 'New report', () => post('/reporting/executions', report)],
    ['/reports/schedules', schedule.name, () => post('/reporting/schedules', schedule)],
    ['/exports', 'Jobs, csv', () => post('/exports', { resource: 'jobs', format: 'csv', filters: {} })],
    [
      '/webhooks',
      'New hook',
      () => post('/webhooks/endpoints', { url: 'https://hooks.invalid/gov', description: 'New hook' }),
    ],
    [
      '/keys',
      'New key of a pipeline',
      () => post('/api-keys', { name: 'New key of a pipeline', scopes: ['events:read'] }),
    ],
  ])('%s shows a new row without a reload', async (address, text, make) => {
    const { page, errors, context } = await openList(address);
    await expect.poll(() => rowOf(page, text).count()).toBe(0);
    await make();
    await later(page);
    await rowOf(page, text).waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  it('under the pointer new rows wait for a click, and rows that changed change where they are', async () => {
    await record('read-1');
    const { page, context } = await openList('/runs');
    const row = rowOf(page, 'read-1');
    await row.hover();
    const before = await row.boundingBox();
    await record('read-1');
    await record('read-2');
    await later(page);
    await page.getByText('New: 1.').waitFor();
    await row.getByRole('cell', { name: '2', exact: true }).waitFor();
    await expect.poll(() => row.boundingBox()).toEqual(before);
    await expect.poll(() => rowOf(page, 'read-2').count()).toBe(0);
    await page.getByRole('button', { name: 'Show new runs' }).click();
    await rowOf(page, 'read-2').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
    await expect.poll(() => page.getByText('New: 1.').count()).toBe(0);
    await context.close();
  });

  it('pages that were loaded on demand stay when a new row arrives', async () => {
    const events = Array.from({ length: 26 }, (_, at) => now(`page-${at}`));
    await post('/events/batch', { events });
    const { page, context } = await openList('/runs?days=30');
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText(/^All \d+ runs\.$/).waitFor();
    const rows = page.locator('main tbody tr');
    const count = await rows.count();
    await record('after-pages');
    // longer than a minute: a period that moves with the time would load the list again
    await page.clock.fastForward(70_000);
    await page.getByText('New: 1.').waitFor();
    await expect.poll(() => rows.count()).toBe(count);
    await context.close();
  });

  it('asks for nothing while the connection is lost, and shows what is new when it is back', async () => {
    const { page, context } = await openList('/runs');
    const asked: string[] = [];
    await page.route(/api\/v1/, async (route) => {
      asked.push(new URL(route.request().url()).pathname);
      await route.abort();
    });
    await later(page);
    await page.getByText('The connection is lost.').waitFor();
    const lists = (): number => asked.filter((path) => path.endsWith('/runs')).length;
    const before = lists();
    const health = asked.length;
    for (let round = 0; round < 3; round += 1) await later(page);
    await expect.poll(() => asked.length).toBeGreaterThan(health);
    expect(lists()).toBe(before);
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await record('while-lost');
    await page.unroute(/api\/v1/);
    await page.clock.fastForward(2_000);
    await rowOf(page, 'while-lost').waitFor();
    await context.close();
  });

  it('a session that ended while the list was open leads to the sign-in page', async () => {
    const { page, context } = await openList('/keys');
    await context.clearCookies();
    await later(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await context.close();
  });
});
