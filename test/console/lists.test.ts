/** Keys, webhooks and exports in a real Chromium: a secret is shown once, and a list says when it is cut. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { parseTrust } from '../../src/core/note/trust.ts';
import { signatureNameOf } from '../../src/core/reports/artifacts.ts';
import { verifyReport } from '../../src/core/reports/verify.ts';
import { reportEnd } from '../service/support/filled.ts';
import { event } from '../support/serving.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (hasBrowser) world = await startConsole();
});
afterAll(() => world?.end());

describe.skipIf(!hasBrowser)('lists in the console', () => {
  it('a new key is shown once, works, and is refused after it was revoked', async () => {
    const { page, context, errors } = await world.open('/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Release pipeline');
    await page.getByLabel('events:read').check();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create the key' }).click();
    const shown = page.getByRole('dialog', { name: 'The key' });
    const key = (await shown.locator('.secret').textContent())?.trim() ?? '';
    expect(key).toMatch(/^gov_live_[0-9A-Za-z]{38}$/);
    await shown.getByRole('button', { name: 'Close' }).click();
    expect(await page.locator('body').textContent()).not.toContain(key);
    expect((await world.plane.call('GET', '/runs', { key })).status).toBe(200);
    const row = page.getByRole('row').filter({ hasText: 'Release pipeline' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await row.waitFor({ state: 'detached' });
    expect((await world.plane.call('GET', '/runs', { key })).status).toBe(401);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a new endpoint of webhooks shows its secret once', async () => {
    const { page, context } = await world.open('/webhooks');
    await page.getByRole('button', { name: 'New endpoint' }).click();
    await page.getByLabel('Address').fill('https://hooks.invalid/gov');
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    const shown = page.getByRole('dialog', { name: 'The key of the signatures' });
    expect((await shown.locator('.secret').textContent())?.trim()).toMatch(/^whsec_/);
    await page.keyboard.press('Escape');
    await page.getByRole('cell', { name: 'https://hooks.invalid/…' }).waitFor();
    await expect.poll(() => page.locator('.secret').count()).toBe(0);
    await context.close();
  });

  it('a schedule names the recipient that the plane cannot reach, and is made without it', async () => {
    const { page, context, errors } = await world.open('/reports/schedules');
    await page.getByRole('button', { name: 'New schedule' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Daily');
    await dialog.getByLabel('Repeats').selectOption('daily');
    await dialog.getByRole('button', { name: 'Add a recipient' }).click();
    await dialog.getByLabel('By', { exact: true }).selectOption('File of the plane');
    await dialog.getByLabel('File name').fill('{date}.pdf');
    await dialog.getByRole('button', { name: 'Create the schedule' }).click();
    await dialog.locator('.field-error').getByText('the operator sets deliveryDir').waitFor();
    await dialog.getByRole('button', { name: 'Remove recipient 1' }).click();
    await dialog.getByRole('button', { name: 'Create the schedule' }).click();
    await page.getByRole('cell', { name: 'every day at 06:00' }).waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a list of more runs than one page says that it is cut, and shows the rest on demand', async () => {
    const events = Array.from({ length: 26 }, (_, at) => event({ runId: `run-${at}` }));
    await world.plane.call('POST', '/events/batch', { body: { events } });
    const { page, context } = await world.open('/runs');
    await page.getByText('The first 25 runs; there are more.').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText(/^All \d+ runs\.$/).waitFor();
    const rows = await page.locator('main tbody tr').count();
    await expect.poll(() => page.getByText(/^All \d+ runs\.$/).textContent()).toBe(`All ${rows} runs.`);
    await page.getByLabel('Run', { exact: true }).fill('run-25');
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1);
    await expect.poll(() => page.url()).toContain('q=run-25');
    await context.close();
  });

  it('a list that cannot be read under a new filter shows no rows of the former one', async () => {
    await world.plane.call('POST', '/events', { body: event({ runId: 'filtered' }) });
    const { page, context } = await world.open('/runs');
    await page.locator('tbody tr').first().waitFor();
    const body = JSON.stringify({ code: 'OVERLOADED', title: 'Busy', detail: 'later', status: 503 });
    const contentType = 'application/problem+json';
    await page.route(/api\/v1/, (route) => route.fulfill({ status: 503, contentType, body }));
    await page.evaluate(`location.hash = '#/runs?system=other'`);
    await page.getByRole('alert').first().waitFor();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(0);
    await context.close();
  });

  it('an export made in the console can be downloaded and deleted', async () => {
    const { page, context, errors } = await world.open('/exports');
    await page.getByRole('button', { name: 'New export' }).click();
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByRole('cell', { name: 'completed' }).waitFor({ timeout: 20_000 });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^audit_events-exp_.*\.json$/);
    await page.getByRole('row').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('cell', { name: 'expired' }).waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a report in JSON can be downloaded with its signature, and both verify', async () => {
    const { call } = world.plane;
    const parameters = { startTime: '2020-01-01T00:00:00Z', endTime: '2020-12-01T00:00:00Z' };
    const asked = { reportTemplateId: 'policy-changes', formats: ['json'], parameters };
    const { executionId } = (await call('POST', '/reporting/executions', { body: asked })).body;
    await reportEnd(call, executionId);
    const { page, context, errors } = await world.open(`/reports/${executionId}`);
    const saved = async (name: RegExp) => {
      const click = () => page.getByRole('button', { name }).click();
      const [file] = await Promise.all([page.waitForEvent('download'), click()]);
      return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
    };
    const [report, signature] = [await saved(/^JSON, /), await saved(/^Signature of the JSON$/)];
    expect(signature.name).toBe(signatureNameOf(report.name));
    const keys = (await call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
    const verdict = await verifyReport(report.bytes, { trust, signature: signature.bytes, pages: '' });
    expect(verdict).toMatchObject({ verified: true, executionId });
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a plane shows no pages for data planes and projects, which it does not have', async () => {
    const { page, context } = await world.open('/');
    const names = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(names).toContain('API keys');
    expect(names).not.toContain('Projects');
    expect(names).not.toContain('Data planes');
    await context.close();
  });
});
