/** The page of a run that goes on, in a real Chromium: what is new appears by itself, and the chosen row stays. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../../support/serving.ts';
import { hasBrowser, startConsole, type ConsoleWorld } from '../support/browser.ts';
import { callTool, publishPolicy } from '../support/calls.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (!hasBrowser) return;
  world = await startConsole({
    extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } },
  });
  await publishPolicy(world.plane, { policyId: 'pay', tool: 'send_payment', action: 'escalate' });
});
afterAll(() => world?.end());

async function record(runId: string, count = 1): Promise<void> {
  const events = Array.from({ length: count }, () => event({ runId, timestamp: new Date().toISOString() }));
  const { status, text } = await world.plane.call('POST', '/events/batch', { body: { events } });
  expect(status, text).toBeLessThan(300);
}

/** The page of a run, whose time the test moves. */
async function openRun(runId: string) {
  const opened = await world.open();
  const { page } = opened;
  await page.clock.install();
  await page.evaluate(`location.hash = ${JSON.stringify(`#/runs/${runId}`)}`);
  await page.getByRole('heading', { level: 1, name: runId }).waitFor();
  return opened;
}
const later = (page: Page): Promise<void> => page.clock.fastForward(10_000);
const coverage = (page: Page) => page.locator('.coverage-line');
const options = (page: Page) => page.getByRole('option');

describe.skipIf(!hasBrowser)('the open page of a run', () => {
  it('shows new events in the order of recording, many at once, and nothing twice', async () => {
    await record('grows', 3);
    const { page, errors, context } = await openRun('grows');
    await page.getByText('3 events · recorded').waitFor();
    await expect.poll(() => options(page).count()).toBe(3);
    await coverage(page).filter({ hasText: '3 calls' }).waitFor();
    await record('grows', 25);
    await later(page);
    await page.getByText('28 events · recorded').waitFor();
    await coverage(page).filter({ hasText: '28 calls' }).waitFor();
    await page.getByRole('listbox', { name: 'Timeline' }).focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.locator('[aria-selected="true"]').getAttribute('aria-posinset')).toBe('28');
    const { body } = await world.plane.call('GET', '/events?runId=grows&order=desc&limit=1');
    const newest = (body as { events: { eventId: string }[] }).events[0]?.eventId;
    await expect.poll(() => page.url()).toContain(`event=${newest}`);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('shows a call that waits, then its approval, while the row that was shown stays', async () => {
    await record('asks', 2);
    const { page, context } = await openRun('asks');
    const chosen = page.locator('[aria-selected="true"]');
    await expect.poll(() => chosen.getAttribute('aria-posinset')).toBe('1');
    const { approvalId } = await callTool(world.plane, { runId: 'asks', arguments: { amount: 5 } });
    await later(page);
    await options(page).filter({ hasText: 'Approvalpending' }).waitFor();
    const body = { outcome: 'approved' };
    const key = world.plane.keys['approver'] ?? '';
    const decided = await world.plane.call('POST', `/approvals/${approvalId}/decision`, { body, key });
    expect(decided.status, decided.text).toBe(200);
    await later(page);
    await options(page).filter({ hasText: 'Approvalapproved' }).waitFor();
    await expect.poll(() => chosen.getAttribute('aria-posinset')).toBe('1');
    await context.close();
  });

  it('of a run without an event fills when the first one is recorded', async () => {
    const { page, context } = await openRun('not-yet');
    await page.getByText('This project has no events of this run').waitFor();
    await record('not-yet');
    await later(page);
    await expect.poll(() => options(page).count()).toBe(1);
    await context.close();
  });
});
