/** Every page of the navigation, in three widths and both themes: what axe-core finds, and what runs out of the frame. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

/** A theme changes colours alone, so one width of the dark one is enough. */
const widths = { light: [360, 1024, 1600], dark: [1024] };

describe.skipIf(!hasBrowser)('every page of the console', () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await startConsole();
  });
  afterAll(() => world?.end());

  it.each(['light', 'dark'] as const)('every page is accessible in the %s theme', async (theme) => {
    const { page, errors, context } = await world.open('/', { theme });
    const addresses = await page
      .getByRole('navigation')
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => String(Object(link).hash)));
    expect(addresses).toContain('#/');
    for (const address of [...addresses, '#/reports/schedules', '#/reports/deliveries']) {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      for (const width of widths[theme]) {
        await page.setViewportSize({ width, height: 900 });
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.waitForLoadState('networkidle');
        expect([address, width, await axeFaults(page)]).toEqual([address, width, []]);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([address, width, Math.max(0, Number(overflow))]).toEqual([address, width, 0]);
      }
    }
    expect(errors).toEqual([]);
    await context.close();
  });
});
