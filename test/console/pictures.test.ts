/**
 * Pictures of the console for docs/how-to/use-the-console.md, and for people who change its look:
 * `GOV_PICTURES=FOLDER scripts/with-node vitest run test/console/pictures.test.ts`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { fillPlane } from './support/calls.ts';

const folder = process.env['GOV_PICTURES'];
const sizes = folder === undefined ? [1280] : [360, 1024, 1600];

describe.skipIf(!hasBrowser)('pictures of the console', () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await startConsole({ extraKeys: { approver: { scopes: ['*'] } } });
    await fillPlane(world.plane);
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  });
  afterAll(() => world?.end());

  it.each(['light', 'dark'] as const)(
    'every page of the tour can be pictured in the %s theme',
    async (theme) => {
      const { data } = (await world.plane.call('GET', '/approvals?status=pending')).body as {
        data: { approvalId: string }[];
      };
      const approval = `/approvals/${data.at(-1)?.approvalId ?? ''}`;
      for (const width of sizes) {
        const key = world.plane.keys['approver'] ?? '';
        const { page, context, errors } = await world.open('/', { theme, width, height: 900, key });
        for (const [name, address] of [
          ['home', '/'],
          ['approvals', '/approvals'],
          ['approval', approval],
        ] as const) {
          await page.evaluate(`location.hash = '#${address}'`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.waitForLoadState('networkidle');
          const path = folder === undefined ? undefined : join(folder, `${name}-${theme}-${width}.png`);
          const picture = await page.screenshot({ fullPage: true, ...(path === undefined ? {} : { path }) });
          expect(picture.length).toBeGreaterThan(5_000);
        }
        expect(errors).toEqual([]);
        await context.close();
      }
    },
  );
});
