/** Text of agents that tries to act in the console. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../support/serving.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';

const script = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
const reordered = 'a\u202egnp.exe\u2066\u200b';

let world: ConsoleWorld;
beforeAll(async () => {
  if (!hasBrowser) return;
  world = await startConsole();
  const evil = [
    event({
      runId: 'hostile',
      eventType: 'prompt.submitted',
      actor: { name: script },
      metadata: { content: `${reordered}${script}${'x'.repeat(250_000)}` },
    }),
    event({
      runId: 'hostile',
      actor: { name: 'javascript:document.title=1', id: {} },
      resource: { name: `${script}${reordered}`, type: 'tool' },
      metadata: { toolCallId: 'h', decision: script, arguments: { __proto__: null, href: 'javascript:1' } },
    }),
  ];
  for (const body of evil) await world.plane.call('POST', '/events', { body });
  const policy = { policyId: 'evil', name: script, description: script, condition: {}, action: 'warn' };
  await world.plane.call('POST', '/governance/policies', { body: policy });
});
afterAll(() => world?.end());

describe.skipIf(!hasBrowser)('hostile text in the console', () => {
  it.each(['/runs', '/runs/hostile', '/runs/hostile?tab=graph', '/events', '/policies', '/policies/evil'])(
    'text at %s stays text: no script runs, and no request or error follows',
    async (address) => {
      const { page, errors, context } = await world.open(address);
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      await page.waitForLoadState('networkidle');
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.title()).toMatch(/gov console$/);
      await expect
        .poll(() => page.locator('main img, main script, main iframe, [href^="javascript"]').count())
        .toBe(0);
      expect(requests.filter((url) => url.endsWith('/x'))).toEqual([]);
      expect(await axeFaults(page)).toEqual([]);
      expect(errors).toEqual([]);
      await context.close();
    },
  );

  it('controls that reorder text are shown, and a long text is cut until the reader asks', async () => {
    const { page, context } = await world.open('/runs/hostile');
    await page.getByRole('option').first().click();
    const text = page.getByRole('complementary').locator('pre').first();
    await expect.poll(() => text.textContent()).toContain('a\\u202egnp.exe\\u2066\\u200b');
    expect((await text.textContent())?.length).toBeLessThan(3000);
    await page.getByRole('button', { name: /^Show all 25\d,\d{3} characters$/ }).click();
    expect((await text.textContent())?.length).toBeGreaterThan(250_000);
    expect(await page.locator('main').textContent()).not.toContain('\u202e');
    await context.close();
  });
});
