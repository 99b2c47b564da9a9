/**
 * Pictures of the console for docs/how-to/use-the-console.md, and for people who change its look:
 * `GOV_PICTURES=FOLDER scripts/with-node vitest run test/console/pictures.test.ts`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshSigner } from '../support/signers.ts';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { fillPlane } from './support/calls.ts';
import { governedKeys, recordRuns } from './support/governed-runs.ts';

const folder = process.env['GOV_PICTURES'];
const sizes = folder === undefined ? [1280] : [360, 1024, 1600];

describe.skipIf(!hasBrowser)('pictures of the console', () => {
  let world: ConsoleWorld;
  /** Addresses by the name of the picture. */
  let tour: Readonly<Record<string, string>>;
  beforeAll(async () => {
    world = await startConsole({ extraKeys: { ...governedKeys, approver: { scopes: ['*'] } } });
    const { plane } = world;
    await fillPlane(plane);
    await recordRuns(plane);
    const ssh = new SshSigner();
    const approver = { name: 'Grace, desk', ssh: { publicKey: ssh.publicKey } };
    await plane.call('POST', '/approvers', { body: approver, key: plane.keys['approver'] ?? '' });
    ssh.end();
    await plane.call('POST', '/proofs', { body: { runId: 'checkout' } });
    const { data } = (await plane.call('GET', '/approvals?status=pending')).body as {
      data: { approvalId: string }[];
    };
    const shown = { home: '/', approval: `/approvals/${data.at(-1)?.approvalId ?? ''}` };
    const documented = { ...shown, run: '/runs/checkout', approvers: '/approvers' };
    tour = folder === undefined ? documented : { ...documented, ...others };
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  });
  afterAll(() => world?.end());

  it.each(['light', 'dark'] as const)(
    'every page of the tour can be pictured in the %s theme',
    async (theme) => {
      for (const width of sizes) {
        const key = world.plane.keys['approver'] ?? '';
        const { page, context, errors } = await world.open('/', { theme, width, height: 900, key });
        for (const [name, address] of Object.entries(tour)) {
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

/** Pages without a picture in the documentation. */
const others = {
  approvals: '/approvals',
  runs: '/runs',
  causes: '/runs/checkout?tab=graph',
  proof: '/runs/checkout?tab=proof',
  replay: '/runs/checkout?tab=replay',
  events: '/events',
  policies: '/policies',
  policy: '/policies/no-shell',
  reports: '/reports',
  exports: '/exports',
  webhooks: '/webhooks',
  keys: '/keys',
  verify: '/verify',
  unknown: '/nothing',
};
