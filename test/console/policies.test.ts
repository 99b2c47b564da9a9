/** Policies in a real Chromium: what a version would change, and who puts it in force. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults, eventually, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { governedKeys, recordRuns } from './support/governed-runs.ts';

let world: ConsoleWorld;
beforeAll(async () => {
  if (!hasBrowser) return;
  world = await startConsole({ extraKeys: governedKeys });
  await recordRuns(world.plane);
  const condition = { 'tool.name': 'pay' };
  await world.plane.call('POST', '/governance/policies/pay-limit/versions', {
    body: { condition, action: 'deny' },
  });
});
afterAll(() => world?.end());

describe.skipIf(!hasBrowser)('policies in the console', () => {
  it('a reviewer sees the difference and its effect on recorded calls, publishes with a reason, and the changes name both people', async () => {
    const { plane } = world;
    const key = plane.keys['reviewer'] ?? '';
    const { page, context, errors } = await world.open('/policies/pay-limit', { key });
    const main = page.locator('main');
    await eventually(() => main.locator('.diff .removed').allTextContents()).toContainEqual(
      expect.stringContaining('context.arguments.amount > 100'),
    );
    await main.getByText('1 would change: 1 tightened, 0 loosened.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Publish v2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish v2: pay-limit' });
    await dialog.getByText('1 would change: 1 tightened, 0 loosened.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByLabel('Reason').fill('no payments this week');
    await dialog.getByRole('button', { name: 'Publish v2' }).click();
    await main.getByText('v2 put in force').waitFor();
    expect(await main.getByText('no payments this week').count()).toBe(1);
    const { body } = await plane.call('GET', '/governance/policies/pay-limit');
    expect(body).toMatchObject({ activeVersion: 2, status: 'active' });
    const changes = main.getByRole('table', { name: 'Changes' });
    const cells = await changes.locator('tbody tr').allTextContents();
    const [published = '', written = ''] = cells;
    const who = (text: string): string | undefined => /key_[0-9a-z]{26}/.exec(text)?.[0];
    expect(who(published)).not.toBe(who(written));
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a policy that somebody else has changed meanwhile is not published', async () => {
    const { page, context } = await world.open('/policies/ask-push');
    await page.getByRole('button', { name: 'Disable' }).click();
    await world.plane.call('POST', '/governance/policies/ask-push/versions', {
      body: { condition: {}, action: 'warn' },
    });
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByRole('alert').getByText('PRECONDITION_FAILED').waitFor();
    expect((await world.plane.call('GET', '/governance/policies/ask-push')).body).toMatchObject({
      status: 'active',
    });
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await context.close();
  });

  it('a key that only reads sees no button that the service would refuse', async () => {
    const { page, context } = await world.open('/policies/pay-limit', {
      key: world.plane.keys['person'] ?? '',
    });
    await page.locator('.diff').waitFor();
    expect(await page.getByRole('button', { name: /Publish|Disable|Archive/ }).count()).toBe(0);
    await context.close();
  });
});
