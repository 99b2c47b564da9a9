/** Approvals as an approver works with them in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { callTool, publishPolicy } from './support/calls.ts';

const payment = { amount: 1250, currency: 'CHF', to: { name: 'Meyer Druck AG' } };

describe.skipIf(!hasBrowser)('approvals in the console', () => {
  let world: ConsoleWorld;
  const asApprover = () => ({ key: world.plane.keys['approver'] ?? '' });
  beforeAll(async () => {
    world = await startConsole({
      extraKeys: {
        approver: { scopes: ['approvals:decide', 'governance:read'] },
        reader: { scopes: ['governance:read'] },
      },
    });
    await publishPolicy(world.plane, { policyId: 'pay', tool: 'send_payment', action: 'escalate' });
  });
  afterAll(() => world?.end());

  const ask = async (runId: string): Promise<string> => {
    const { approvalId = '', decision } = await callTool(world.plane, { runId, arguments: payment });
    expect(decision).toBe('escalate');
    return approvalId;
  };

  it('a new approval appears without a reload, and the oldest is first', async () => {
    const { page, context } = await world.open('/approvals', asApprover());
    await page.getByText('Nothing waits for you').waitFor();
    await ask('first');
    await page.getByRole('link', { name: 'send_payment on bank' }).waitFor();
    await ask('second');
    await page.getByRole('link', { name: 'send_payment on bank' }).nth(1).click();
    await page.getByText('In run second').waitFor();
    await context.close();
  });

  it('an approver reads the arguments, approves with a comment, and the call runs once', async () => {
    const approvalId = await ask('approved');
    const { page, context, errors } = await world.open(`/approvals/${approvalId}`, asApprover());
    await page.getByText('to.name').waitFor();
    await expect
      .poll(() => page.getByRole('definition').allInnerTexts())
      .toEqual(['1250', 'CHF', 'Meyer Druck AG']);
    await page.getByText('Arguments in full').click();
    expect(JSON.parse(await page.getByRole('region', { name: 'Arguments in full' }).innerText())).toEqual(
      payment,
    );
    await page.getByText('nobody signs it').waitFor();
    await page.getByLabel('Comment').fill('called Meyer Druck');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('called Meyer Druck').waitFor();
    // a name, and a duration between two recorded times
    await page.getByText(/decided (just now|\d+ s ago) by approver, after \d+ s/).waitFor();
    const again = await callTool(world.plane, { runId: 'approved', arguments: payment });
    expect([again.decision, again.allowed]).toEqual(['allow', true]);
    const third = await callTool(world.plane, { runId: 'approved', arguments: payment });
    expect(third.decision).toBe('escalate');
    expect(errors).toEqual([]);
    await context.close();
  });

  it('a denied call stays denied, and the page of the next one shows it', async () => {
    const approvalId = await ask('denied');
    const { page, context } = await world.open(`/approvals/${approvalId}`, asApprover());
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    const { allowed } = await callTool(world.plane, { runId: 'denied', arguments: payment });
    expect(allowed).toBe(false);
    await page.evaluate(`location.hash = '#/approvals/${await ask('next')}'`);
    await page.getByText('In run next').waitFor();
    await page
      .getByRole('table', { name: 'Earlier calls of this tool' })
      .getByText('denied')
      .first()
      .waitFor();
    await context.close();
  });

  it('the key that asked, and a key without the scope, see why they cannot decide', async () => {
    const approvalId = await ask('asker');
    const own = await world.open(`/approvals/${approvalId}`);
    await own.page.getByText('This key asked').waitFor();
    await expect.poll(() => own.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await own.context.close();
    const reader = await world.open(`/approvals/${approvalId}`, { key: world.plane.keys['reader'] ?? '' });
    await reader.page.getByText('scope approvals:decide').waitFor();
    await reader.context.close();
  });

  it('an approval of nobody says so', async () => {
    const { page, context } = await world.open('/approvals/apr_01jq3v5k8hf7wb3c9x2m4n6p8r');
    await page.getByRole('alert').getByText('NOT_FOUND').waitFor();
    await context.close();
  });
});
