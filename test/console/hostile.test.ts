/** Texts of hostile agents in approvals: they are shown as text, reorder nothing, and do nothing. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actorName, leavesOf } from '../../src/console/approvals/call.ts';
import { limits } from '../../src/contract/limits.ts';
import { event } from '../support/serving.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { callTool, publishPolicy } from './support/calls.ts';

const html = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
const bidi = 'pay \u202e1250\u202c CHF\u200b';
const long = 'x'.repeat(30_000);

describe('the values of a call', () => {
  it('values are listed by their path, in order, and long ones are cut with their length', () => {
    const { leaves, more } = leavesOf({ to: { name: 'A' }, items: [{ price: 1 }], none: {}, long });
    expect(leaves.map(({ path, text, cut }) => [path, text.length, cut])).toEqual([
      ['to.name', 1, 0],
      ['items[0].price', 1, 0],
      ['none', 2, 0],
      ['long', 300, 29_700],
    ]);
    expect(more).toBe(0);
  });

  it('all values are listed in full where a person asks for them', () => {
    const values = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`v${at}`, long]));
    const { leaves, more } = leavesOf(values, { isWhole: true });
    expect([leaves.length, more, leaves[40]?.text.length, leaves[40]?.cut]).toEqual([41, 0, 30_000, 0]);
  });

  it('forty values are listed; one more is counted', () => {
    const values = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`v${at}`, at]));
    const { leaves, more } = leavesOf(values);
    expect([leaves.length, more]).toEqual([40, 1]);
  });

  it('no two calls are listed alike: names and texts that could be read as others are in quotes', () => {
    const listed = (values: Readonly<Record<string, unknown>>): string[] =>
      leavesOf(values).leaves.map(({ path, text }) => `${path}: ${text}`);
    expect(listed({ 'to.name': 1, to: { name: 1 }, '': { to: 1 } })).toEqual([
      '["to.name"]: 1',
      'to.name: 1',
      '[""].to: 1',
    ]);
    const texts = ['', 'true', '5', '{}', 'pay ', ' pay', '"pay"', 'a\\nb', 'a  b'];
    expect(listed({ texts, true: true })).toEqual([
      ...texts.slice(0, 8).map((text, at) => `texts[${at}]: ${JSON.stringify(text)}`),
      'texts[8]: a  b',
      'true: true',
    ]);
  });

  it('characters that reorder or hide text are spelled out', () => {
    expect(leavesOf({ note: bidi }).leaves[0]?.text).toBe('pay \\u202e1250\\u202c CHF\\u200b');
  });

  it.each([
    ['billing', 'billing'],
    [{ name: 'Billing', id: 'a1' }, 'Billing'],
    [{ id: 'a1' }, 'a1'],
    [{ name: 7 }, null],
    [null, null],
  ])('the actor %j is named %j', (actor, name) => {
    expect(actorName(actor)).toBe(name);
  });
});

describe.skipIf(!hasBrowser)('hostile text in the console', () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await startConsole({ extraKeys: { approver: { scopes: ['*'] } } });
    await publishPolicy(world.plane, { policyId: 'pay', tool: 'send_payment', action: 'escalate' });
  });
  afterAll(() => world?.end());

  it('HTML, bidi controls and a text of 30,000 characters are shown and do nothing', async () => {
    const { approvalId } = await callTool(world.plane, {
      actor: html,
      server: bidi,
      arguments: { html, bidi, long, [html]: 1 },
    });
    const key = world.plane.keys['approver'] ?? '';
    const { page, context, errors } = await world.open(`/approvals/${approvalId ?? ''}`, { key, width: 360 });
    await page.getByText('29,700 more characters').waitFor();
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText('Approve opens after you have read the arguments').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Show all arguments' }).click();
    await page.getByText('29,700 more characters').waitFor({ state: 'detached' });
    expect(await approve.isDisabled()).toBe(true);
    await page.evaluate("document.querySelector('.end').scrollIntoView()");
    await expect.poll(() => approve.isDisabled()).toBe(false);
    await page.getByText('Arguments in full').click();
    const all = await page.locator('main').innerText();
    expect(all).toContain('<script>');
    expect(all).toContain('\\u202e');
    expect(all).not.toMatch(/[\u202a-\u202e\u200b]/);
    await expect.poll(() => page.title()).toBe('Approval · gov console');
    await expect.poll(() => page.locator('main img, main script').count()).toBe(0);
    await expect
      .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'))
      .toBeLessThanOrEqual(0);
    expect(errors).toEqual([]);
    await context.close();
  });

  it('what is hidden in a call is said above its arguments, spelled out, and in the list', async () => {
    const spelled = [...'--to attacker'].map((each) =>
      String.fromCodePoint(0xe0100 + each.charCodeAt(0) - 16),
    );
    const hidden = {
      note: `pay bob${spelled.join('')}`,
      to: 'bo\u3164b',
      cc: 'b\u00adob',
      x: 'b\u034fob\u2800',
      account: 'p\u0430ypal',
      path: '/data/a  b',
    };
    const { approvalId } = await callTool(world.plane, { arguments: hidden, runId: 'phish' });
    const key = world.plane.keys['approver'] ?? '';
    const { page, context, errors } = await world.open(`/approvals/${approvalId ?? ''}`, { key });
    const notices = page.getByRole('list', { name: 'Hidden text' }).getByRole('listitem');
    await expect
      .poll(() => notices.allInnerTexts())
      .toEqual([
        '13 hidden characters in `note`, spells: --to attacker',
        '1 hidden character in `cc`',
        '1 hidden character in `to`',
        '2 hidden characters in `x`',
        'letters of several scripts in `account`: p\u0430ypal (p\\u0430ypal)',
      ]);
    // two blanks are not shown as one
    expect(await page.locator('.arguments dd').allInnerTexts()).toContain('/data/a  b');
    await page.getByText('As signed').click();
    const view = await page.getByRole('region', { name: 'As signed' }).innerText();
    expect(view).toMatch(/^[ -~]+$/);
    expect(JSON.parse(view).arguments).toEqual(hidden);
    expect(await axeFaults(page)).toEqual([]);
    await page.evaluate("location.hash = '#/approvals'");
    await page.getByText('17 hidden characters, letters of several scripts').waitFor();
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a call of more than 64 KiB is read in a file, never cut beside the button that approves it', async () => {
    const asked = async (bytes: number) => {
      const note = 'x'.repeat(bytes - '{}{"note":""}'.length);
      const tool = { name: 'send_payment', server: 'bank' };
      const body = { tool, runId: `long-${bytes}`, arguments: {}, context: { note } };
      const answer = await world.plane.call('POST', '/mcp/tools/evaluate', { body });
      expect(answer.status, answer.text).toBe(200);
      return `/approvals/${answer.body.approvalId}`;
    };
    const key = world.plane.keys['approver'] ?? '';
    const { page, context } = await world.open(await asked(limits.approvalShownBytes), { key });
    await page.getByText('What else the policies saw').waitFor();
    await page.evaluate(`location.hash = '#${await asked(limits.approvalShownBytes + 1)}'`);
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.getByText('more than this page shows').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the call' }).click(),
    ]);
    expect(JSON.parse(readFileSync((await file.path()) ?? '', 'utf8')).tool.name).toBe('send_payment');
    await expect.poll(() => approve.isDisabled()).toBe(false);
    await context.close();
  });

  it('names and addresses with invisible or reordering characters show them in headings and dialogs', async () => {
    const name = `Ada\u200b\u00ad ${html}`;
    const made = await world.plane.call('POST', '/api-keys', { body: { name, scopes: ['*'] } });
    expect(made.status, made.text).toBe(201);
    const { key } = made.body as { key: string };
    const { page, context, errors } = await world.open('/keys', { key });
    const row = page.getByRole('row').filter({ hasText: 'Ada' });
    for (const verb of ['Rotate', 'Revoke']) {
      await row.getByRole('button', { name: verb }).click();
      const heading = await page.getByRole('dialog').getByRole('heading').textContent();
      expect(heading).toContain('Ada\\u200b');
      await page.keyboard.press('Escape');
    }
    await expect.poll(() => page.locator('.account-name').textContent()).toContain('Ada\\u200b');
    await page.evaluate(`location.hash = '#/runs/' + encodeURIComponent('pay \u202e0521')`);
    await page.getByRole('alert').waitFor();
    await expect.poll(() => page.locator('body').innerText()).not.toMatch(/[\u202a-\u202e\u200b]/);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe('pay \\u202e0521');
    await expect.poll(() => page.title()).toBe('Run · gov console');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('ids without a place to break stay in the frame of their pages, and in the boxes of the graph', async () => {
    const [runId, policyId] = ['r'.repeat(128), 'p'.repeat(128)];
    const wide = 'W'.repeat(128);
    await publishPolicy(world.plane, { policyId, tool: 'wide', action: 'escalate' });
    const { approvalId } = await callTool(world.plane, { name: 'wide', runId, actor: wide });
    const body = event({ runId, aiSystemId: 'a'.repeat(128), actor: wide, resource: wide });
    expect((await world.plane.call('POST', '/events', { body })).status).toBe(201);
    const { page, context } = await world.open();
    const pages = [
      `/approvals/${approvalId}`,
      `/runs/${runId}`,
      `/runs/${runId}?tab=graph`,
      `/policies/${policyId}`,
    ];
    for (const width of [360, 1024, 1600]) {
      await page.setViewportSize({ width, height: 800 });
      for (const address of pages) {
        await page.evaluate(`location.hash = '#${address}'`);
        await page.waitForLoadState('networkidle');
        await page.locator('main :is(.card, .run-body)').first().waitFor();
        const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([width, address, Math.max(0, Number(beyond))]).toEqual([width, address, 0]);
      }
    }
    await page.evaluate(`location.hash = '#${pages[2]}'`);
    await page.locator('.node-about').last().waitFor();
    const right = await page.evaluate(`(() => {
      const about = [...document.querySelectorAll('.node-about')].at(-1);
      const box = about.closest('.node').querySelector('rect').getBoundingClientRect();
      const { top, height, right } = about.getBoundingClientRect();
      const hit = document.elementFromPoint(box.right + 4, top + height / 2);
      return [right > box.right, hit.closest('.node') === null];
    })()`);
    expect(right).toEqual([true, true]);
    expect(await axeFaults(page)).toEqual([]);
    await context.close();
  });
});
