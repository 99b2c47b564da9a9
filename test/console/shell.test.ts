/** The frame of the console in a real browser: navigation, keyboard, theme, weight, security headers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

describe.skipIf(!hasBrowser)('the console', () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await startConsole();
  });
  afterAll(() => world?.end());

  it('shows its start page to a signed-in key, without an error of a script or of the policy', async () => {
    const { page, errors, context } = await world.open();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.title()).toBe('Home · gov console');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('an unknown address leads back to the start', async () => {
    const { page, context } = await world.open('/nowhere/at/all');
    await page.getByRole('link', { name: 'Go to the start page' }).click();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });

  it('the keyboard reaches the content by the skip link first', async () => {
    const { page, context } = await world.open();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await context.close();
  });

  it('a script in the page can make no HTML from text', async () => {
    const { page, context } = await world.open();
    const outcome = page.evaluate(`document.body.innerHTML = '<b>x</b>'`);
    await expect(outcome).rejects.toThrow('TrustedHTML');
    await context.close();
  });
});
