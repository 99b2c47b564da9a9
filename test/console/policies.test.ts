/** Policies in a real Chromium: what a version would change, and who puts it in force. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
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
    await expect
      .poll(() => main.locator('.diff .removed').allTextContents())
      .toContainEqual(expect.stringContaining('context.arguments.amount > 100'));
    await main.getByText('1 would change: 1 tightened, 0 loosened.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Publish v2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish v2: pay-limit' });
    await dialog.getByText('1 would change: 1 tightened, 0 loosened.').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByLabel('Reason').fill('no payments this week');
    await dialog.getByRole('button', { name: 'Publish v2' }).click();
    await main.getByText('v2 put in force').waitFor();
    await expect.poll(() => main.getByText('no payments this week').count()).toBe(1);
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

  it('a reviewer sees what an earlier version would change, rolls back to it with a reason, and a never published one is refused in words', async () => {
    const { plane } = world;
    await plane.call('POST', '/governance/policies/pay-limit/versions', {
      body: { condition: {}, action: 'warn' },
    });
    await plane.call('POST', '/governance/policies/pay-limit/versions', {
      body: { condition: {}, action: 'allow' },
    });
    const key = plane.keys['reviewer'] ?? '';
    const { page, context, errors } = await world.open('/policies/pay-limit', { key });
    const versions = page.getByRole('table', { name: 'Versions' });
    await versions.getByRole('button').nth(1).waitFor();
    await expect
      .poll(() => versions.getByRole('button').allTextContents())
      .toEqual(['Roll back', 'Roll back']);
    await versions.getByRole('link', { name: 'v1' }).click();
    await page.getByRole('heading', { name: 'If version 1 had been in force' }).waitFor();
    await versions.getByRole('button', { name: 'Roll back to v3' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Roll back to v3' }).click();
    await dialog.getByRole('alert').getByText('a version that was published before').first().waitFor();
    await page.keyboard.press('Escape');
    await versions.getByRole('button', { name: 'Roll back to v1' }).click();
    await dialog.getByText('Version 1 decides again, and no longer version 2').waitFor();
    await expect
      .poll(() => dialog.locator('.diff .added').allTextContents())
      .toContainEqual(expect.stringContaining('context.arguments.amount > 100'));
    await dialog.getByText(/1 would change: 0 tightened, 1 loosened\.|none would change/).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByLabel('Reason').fill('v2 denied too much');
    await dialog.getByRole('button', { name: 'Roll back to v1' }).click();
    await page.getByText('v1 put in force again').waitFor();
    await page.getByText('v2 denied too much').waitFor();
    expect((await plane.call('GET', '/governance/policies/pay-limit')).body).toMatchObject({
      activeVersion: 1,
      latestVersion: 4,
      status: 'active',
    });
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
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await context.close();
  });

  it('a key that only reads sees no button that the service would refuse', async () => {
    const { page, context } = await world.open('/policies/pay-limit', {
      key: world.plane.keys['person'] ?? '',
    });
    await page.locator('.diff').waitFor();
    await expect
      .poll(() => page.getByRole('button', { name: /Publish|Disable|Archive|Roll back/ }).count())
      .toBe(0);
    await context.close();
  });
});
