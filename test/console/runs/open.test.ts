/** The page of a run that goes on, in a real Chromium: what is new appears by itself, and the chosen row stays. */
import type { Locator, Page } from 'playwright-core';
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

const record = (runId: string, count = 1): Promise<void> =>
  send(Array.from({ length: count }, () => event({ runId, timestamp: new Date().toISOString() })));

/** A call, or the result of it. */
const part = (runId: string, eventType: string, call: number): Record<string, unknown> =>
  event({ runId, eventType, metadata: { toolCallId: `call-${call}`, message: `step ${call}` } });

async function send(events: readonly Record<string, unknown>[]): Promise<void> {
  const { status, text } = await world.plane.call('POST', '/events/batch', { body: { events } });
  expect(status, text).toBeLessThan(300);
}

/** The page of a run, whose time the test moves. */
async function openRun(runId: string, prepare?: (page: Page) => Promise<unknown>) {
  const opened = await world.open();
  const { page } = opened;
  await prepare?.(page);
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

  it('shows what policies in review would have decided, with their reason, and that nobody enforced it', async () => {
    const ask = { policyId: 'tried', name: 'tried', condition: { 'tool.name': 'look' }, action: 'deny' };
    const made = await world.plane.call('POST', '/governance/policies', { body: ask });
    expect(made.status, made.text).toBe(201);
    const to = { targetStatus: 'review', reason: 'try it' };
    await world.plane.call('POST', '/governance/policies/tried/transition', { body: to });
    await callTool(world.plane, { runId: 'tries', name: 'look' });
    const { page, context } = await openRun('tries');
    const review = page.getByText('Policies in review, not enforced').locator('..');
    await review.getByText('deny v1: context.tool.name = "look"').waitFor();
    expect(await review.getByRole('link').innerText()).toBe('tried v1');
    await page.getByText('No clause of the 1 evaluated policies matched').waitFor();
    await context.close();
  });

  it('shows a call that waits, then its approval, while the row that was shown stays', async () => {
    await record('asks', 2);
    const { page, context } = await openRun('asks');
    await page.getByText('2 events · recorded').waitFor();
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

  it('keeps the chosen row, or else the first one in view, at its place when a result comes late', async () => {
    const calls = Array.from({ length: 60 }, (_, at) => part('late', 'tool.call', at));
    await send(calls);
    const { page, context } = await openRun('late');
    await page.getByText('60 events · recorded').waitFor();
    const list = page.getByRole('listbox', { name: 'Timeline' });
    await list.press('End');
    const chosen = page.locator('[aria-selected="true"]');
    await expect.poll(() => chosen.getAttribute('aria-posinset')).toBe('60');
    const placeOf = async (row: Locator): Promise<number | undefined> => (await row.boundingBox())?.y;
    const place = await placeOf(chosen);
    await send([part('late', 'tool.result', 3)]);
    await later(page);
    await expect.poll(() => chosen.getAttribute('aria-posinset')).toBe('61');
    await expect.poll(() => placeOf(chosen)).toBe(place);
    await list.evaluate((element) => (element.scrollTop = 30 * 34));
    const read = options(page).filter({ hasText: 'step 30' });
    await read.waitFor();
    const readPlace = await placeOf(read);
    await send(Array.from({ length: 25 }, () => part('late', 'tool.result', 4)));
    await later(page);
    await page.getByText('86 events · recorded').waitFor();
    await expect.poll(() => placeOf(read)).toBe(readPlace);
    await context.close();
  });

  it('asks one look at a time, so that no older answer replaces a newer one', async () => {
    await record('twice', 2);
    const { page, context } = await openRun('twice');
    await page.getByText('2 events · recorded').waitFor();
    let looks = 0;
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/events\?.*order=desc/, async (route) => {
      const response = await route.fetch();
      looks += 1;
      if (looks === 1) await released;
      return route.fulfill({ response });
    });
    await later(page);
    await expect.poll(() => looks).toBe(1);
    await record('twice');
    await page.evaluate(`dispatchEvent(new Event('gov-back'))`);
    // answered after a request of the event above
    await page.evaluate(`fetch('/console/').then(() => null)`);
    expect(looks).toBe(1);
    release();
    await expect
      .poll(async () => {
        await later(page);
        return page.getByText('3 events · recorded').count();
      })
      .toBe(1);
    await page.unrouteAll({ behavior: 'wait' });
    await context.close();
  });

  it('that could not be read whole is read again when the connection is back', async () => {
    await record('broken', 3);
    const { page, context } = await openRun('broken', (opened) =>
      opened.route(/\/evaluations\?/, (route) => route.abort()),
    );
    await page.getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.unroute(/\/evaluations\?/);
    await page.evaluate(`dispatchEvent(new Event('gov-back'))`);
    await page.getByText('3 events · recorded').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await context.close();
  });
});
