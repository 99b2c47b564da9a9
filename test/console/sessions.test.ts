/** Signing in to the console of a plane and out of it, in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

describe.skipIf(!hasBrowser)('a session of the console', () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await startConsole({ extraKeys: { reader: { scopes: ['events:read'] } } });
  });
  afterAll(() => world?.end());

  it('a link signs in once, and its code stays neither in the address nor in the history', async () => {
    const { page, context } = await world.open();
    expect(page.url()).toBe(`http://localhost:${world.plane.port}/console/#/`);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });

  it('signing out shows the sign-in page, and so does a session that ended elsewhere', async () => {
    const { page, context } = await world.open();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByText('gov console open').first().waitFor();
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });

  it('a further link in the tab of a signed-in page opens the session of its key', async () => {
    const { page, context } = await world.open('/approvals');
    const { body } = await world.plane.call('POST', '/console/links', {
      key: world.plane.keys['reader'] ?? '',
    });
    const { code } = body as { code: string };
    await page.goto(`/console/#code=${code}`);
    await page.getByText('reader', { exact: true }).waitFor();
    expect(page.url()).not.toContain('code');
    await page.goto(`/console/#code=${code}`);
    await page.getByRole('alert').getByText('INVALID_CREDENTIAL').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('reader', { exact: true }).waitFor();
    await context.close();
  });

  it('the frame names the key whose session it is', async () => {
    const { page, context } = await world.open('/', { key: world.plane.keys['reader'] ?? '' });
    await page.getByText('reader', { exact: true }).waitFor();
    await context.close();
  });
});
