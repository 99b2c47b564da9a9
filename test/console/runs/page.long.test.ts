/** Runs in a real Chromium, as a security lead and as an auditor. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportEnd } from '../../service/support/filled.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from '../support/browser.ts';
import { governedKeys, recordRuns } from '../support/governed-runs.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (!hasBrowser) return;
  world = await startConsole({ extraKeys: governedKeys });
  await recordRuns(world.plane);
});
afterAll(() => world?.end());

const main = (page: Page) => page.locator('main');
const row = (page: Page, text: string | RegExp) => page.getByRole('option').filter({ hasText: text });
const savedBy = async (page: Page, click: () => Promise<void>): Promise<Buffer> => {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return readFileSync(await download.path());
};

describe.skipIf(!hasBrowser)('runs in the console', () => {
  it('a security lead finds the runs with denied calls, and the clause that denied each', async () => {
    const { page, errors, context } = await world.open('/runs');
    await page.getByLabel('Show').selectOption('denied');
    await expect.poll(() => main(page).locator('tbody tr').count()).toBe(1);
    await page.getByRole('link', { name: 'checkout' }).click();
    await page.getByRole('button', { name: 'Denied or escalated' }).click();
    await row(page, 'deny').click();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('101 > 100').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await details.getByRole('link', { name: 'pay-limit v1' }).click();
    await page.getByRole('heading', { name: 'pay-limit', level: 1 }).waitFor();
    await expect
      .poll(() => main(page).locator('.diff').textContent())
      .toContain('context.arguments.amount > 100');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a security lead finds the runs with gaps, and what ran without a decision', async () => {
    const { page, context } = await world.open('/runs?show=gaps');
    await page.getByRole('link', { name: 'wild' }).click();
    await main(page).getByText('1 call: 1 ran without a decision; 0 confirmed').waitFor();
    expect(page.url()).toContain('#/runs/wild');
    await context.close();
  });

  it('a call shows its decisions, the approval between them, and who approved', async () => {
    const { page, context } = await world.open('/runs/checkout');
    await row(page, 'approved').click();
    const rows = await page.getByRole('option').allTextContents();
    const start = rows.findIndex((text) => text.startsWith('Tool callpush'));
    expect(rows.slice(start, start + 4)).toEqual([
      expect.stringMatching(/^Tool callpush/),
      expect.stringMatching(/^Decisionescalateask-push: /),
      expect.stringMatching(/^Approvalapprovedby person/),
      expect.stringMatching(/^Decisionallow/),
    ]);
    await page.getByRole('complementary').getByText('Open the approval').waitFor();
    await context.close();
  });

  it('the keyboard alone moves through a timeline, and the address names the selected row', async () => {
    const { page, context } = await world.open('/runs/checkout');
    const list = page.getByRole('listbox', { name: 'Timeline' });
    await list.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.locator('[aria-selected="true"]').getAttribute('aria-posinset')).toBe('2');
    await page.keyboard.press('End');
    const last = page.locator('[aria-selected="true"]');
    await expect.poll(() => last.getAttribute('aria-posinset')).toBe(await last.getAttribute('aria-setsize'));
    await expect.poll(() => list.getAttribute('aria-activedescendant')).toBe(await last.getAttribute('id'));
    expect(page.url()).toMatch(/event=(evt|apr)_/);
    await context.close();
  });

  it('the causal graph shows what led to an event, and what followed', async () => {
    const { page, context, errors } = await world.open('/runs/checkout?tab=graph');
    await page.getByRole('button', { name: /^prompt\.submitted/ }).press('Enter');
    await page
      .getByRole('complementary')
      .getByText(/0 led to it, [1-9]\d* followed from it/)
      .waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('an auditor goes from a row of a report to its event, the proof of its run, and a bundle to verify', async () => {
    const { plane } = world;
    const asked = await plane.call('POST', '/reporting/executions', {
      body: {
        reportTemplateId: 'run-evidence',
        formats: ['json'],
        parameters: { startTime: '2026-01-01T00:00:00Z', endTime: '2026-12-31T00:00:00Z', runId: 'checkout' },
      },
    });
    const { executionId } = asked.body as { executionId: string };
    await reportEnd(plane.call, executionId);
    const { page, context, errors } = await world.open(`/reports/${executionId}`);
    await main(page).getByRole('link', { name: /^evt_/ }).first().click();
    await page.getByRole('link', { name: 'Proof of the run' }).click();
    await page.getByRole('button', { name: 'Prove this run' }).click();
    await page.getByRole('button', { name: 'Prove', exact: true }).click();
    await page.getByRole('heading', { name: 'Authentic? yes' }).waitFor({ timeout: 20_000 });
    await page.getByRole('heading', { name: 'Compliant? yes' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    const bundle = await savedBy(page, () =>
      page.getByRole('button', { name: 'Download the bundle' }).click(),
    );
    const { proof } = JSON.parse(bundle.toString()) as { proof: { proofId: string; runId: string } };
    expect(proof.runId).toBe('checkout');
    expect(
      (await plane.call('POST', '/proofs/verify', { body: { proofId: proof.proofId } })).body,
    ).toMatchObject({
      authentic: true,
    });
    const verify = page.getByRole('link', { name: 'Open the verify page' });
    await expect.poll(() => verify.getAttribute('href')).toBe('verify.html');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a replay of the decisions finds no drift, and an export of the run has its events', async () => {
    const { page, context, errors } = await world.open('/runs/checkout?tab=replay');
    await page.getByRole('button', { name: 'Replay the decisions' }).click();
    await main(page).getByText('no drift').waitFor({ timeout: 20_000 });
    const file = await savedBy(page, () => page.getByRole('button', { name: 'Export' }).click());
    const { data } = JSON.parse(file.toString()) as { data: readonly { runId: string }[] };
    expect(new Set(data.map(({ runId }) => runId))).toEqual(new Set(['checkout']));
    const report = await savedBy(page, () => page.getByRole('button', { name: 'Report' }).click());
    expect(report.subarray(0, 5).toString()).toBe('%PDF-');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a run of two thousand events has few rows in the document, and every event in the list', async () => {
    const events = Array.from({ length: 500 }, (_, at) => ({
      runId: 'long',
      eventType: 'agent.step',
      actor: 'agent',
      action: `step ${at}`,
      timestamp: '2026-03-01T09:30:00Z',
    }));
    for (let batch = 0; batch < 4; batch += 1)
      await world.plane.call('POST', '/events/batch', { body: { events } });
    const { page, context } = await world.open('/runs/long');
    await expect.poll(() => page.getByRole('option').first().getAttribute('aria-setsize')).toBe('2000');
    await page.getByRole('listbox').press('End');
    await row(page, 'step 499').waitFor();
    await expect.poll(() => page.getByRole('option').count()).toBeLessThan(60);
    await context.close();
  });

  it('an unknown run says that it does not exist', async () => {
    const { page, context } = await world.open('/runs/nobody');
    await page.getByText('This project has no events of this run').waitFor();
    await expect.poll(() => main(page).innerText()).not.toMatch(/Loading|Export/);
    await context.close();
  });

  it('a run that could not be read is read again on demand', async () => {
    const { page, context } = await world.open();
    const body = JSON.stringify({ code: 'OVERLOADED', title: 'Busy', detail: 'later', status: 503 });
    const contentType = 'application/problem+json';
    await page.route(/\/events\?/, (route) => route.fulfill({ status: 503, contentType, body }));
    await page.evaluate(`location.hash = '#/runs/checkout'`);
    await page.getByRole('alert').waitFor();
    await page.unroute(/\/events\?/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('option').first().waitFor();
    await context.close();
  });
});
