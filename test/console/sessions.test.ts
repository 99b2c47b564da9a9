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

  const linkFor = async (key: string): Promise<string> => {
    const { body } = await world.plane.call('POST', '/console/links', { key });
    return `#code=${(body as { code: string }).code}`;
  };

  it('a link opened while another key is signed in, in the open tab too, signs in with the key of the link', async () => {
    const { page, context } = await world.open('/runs');
    await page.goto(`/console/${await linkFor(world.plane.keys['reader'] ?? '')}`);
    await page.getByText('reader', { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/');
    await page.evaluate(`location.hash = ${JSON.stringify(await linkFor(world.plane.key))}`);
    await page.getByText('local operator', { exact: true }).waitFor();
    await context.close();
  });

  it('a used link says so and leaves the open session as it is', async () => {
    const { page, context } = await world.open();
    const link = await linkFor(world.plane.key);
    const used = page.waitForResponse(/console\/session$/);
    await page.evaluate(`location.hash = ${JSON.stringify(link)}`);
    expect((await used).status()).toBe(200);
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.evaluate(`location.hash = ${JSON.stringify(link)}`);
    await page.getByText('was not used before').waitFor();
    await page.getByRole('button', { name: 'Keep the open session' }).click();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });

  it('the other tab follows when one tab signs in with another key, and when it signs out', async () => {
    const { page, context } = await world.open();
    const other = await context.newPage();
    await other.goto('/console/#/runs');
    await other.getByText('local operator', { exact: true }).waitFor();
    await page.goto(`/console/${await linkFor(world.plane.keys['reader'] ?? '')}`);
    await other.getByText('reader', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await context.close();
  });

  it('the frame names the key whose session it is', async () => {
    const { page, context } = await world.open('/', { key: world.plane.keys['reader'] ?? '' });
    await page.getByText('reader', { exact: true }).waitFor();
    await context.close();
  });
});
