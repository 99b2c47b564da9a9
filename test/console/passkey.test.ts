/** Approvals that a person signs with a passkey: Chromium's own WebAuthn with a virtual authenticator. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, govHere } from '../cli/support/tool.ts';
import { governing } from '../service/support/governed.ts';
import { axeFaults, hasBrowser, startConsole, type ConsoleWorld } from './support/browser.ts';
import { callTool, publishPolicy } from './support/calls.ts';

const payment = { amount: 1250, currency: 'CHF' };

/** An authenticator of the machine whose user passes, or refuses, each check of a PIN or fingerprint. */
async function addAuthenticator(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  return {
    verifiesUser: (isUserVerified: boolean) =>
      cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

describe.skipIf(!hasBrowser)('approvals signed by passkeys in the console', () => {
  let world: ConsoleWorld;
  let page: Page;
  let errors: readonly string[];
  let authenticator: Awaited<ReturnType<typeof addAuthenticator>>;
  beforeAll(async () => {
    if (!hasBrowser) return;
    world = await startConsole({
      extraKeys: {
        ada: { scopes: ['approvals:decide', 'governance:read'] },
        grace: { scopes: ['approvals:decide', 'governance:read'] },
      },
    });
    const { plane } = world;
    await publishPolicy(plane, {
      policyId: 'signed',
      tool: 'send_payment',
      action: 'escalate',
      requireSignedApproval: true,
    });
    await publishPolicy(plane, { policyId: 'asked', tool: 'refund', action: 'escalate' });
    ({ page, errors } = await world.open('/approvals', { key: plane.keys['ada'] ?? '' }));
    authenticator = await addAuthenticator(page);
  });
  afterAll(() => world?.end());

  const ask = async (runId: string, name = 'send_payment'): Promise<string> => {
    const { approvalId = '', decision } = await callTool(world.plane, { runId, name, arguments: payment });
    expect(decision).toBe('escalate');
    return approvalId;
  };
  const open = async (on: Page, approvalId: string): Promise<void> => {
    await on.evaluate(`location.hash = '#/approvals/${approvalId}'`);
    await on.getByRole('heading', { name: 'Your decision' }).waitFor();
  };

  it('an approval that a policy wants signed is refused without a passkey, in words', async () => {
    const approvalId = await ask('early');
    await open(page, approvalId);
    await page.getByText('The policy accepts an approval only with a signature.').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    const body = { outcome: 'approved' };
    const key = world.plane.keys['ada'] ?? '';
    const refused = await world.plane.call('POST', `/approvals/${approvalId}/decision`, { key, body });
    expect([refused.status, refused.body.errors[0]]).toMatchObject([
      400,
      { pointer: '/signature', code: 'MISSING_FIELD' },
    ]);
  });

  it('without a passkey the page says that the decision rests on the key alone', async () => {
    await open(page, await ask('unsigned', 'refund'));
    await page.getByText('the decision rests on this key alone: nobody signs it').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('nobody: it rests on the key alone').waitFor();
  });

  it('an approver enrols a passkey, which the list names with its fingerprint', async () => {
    await page.getByRole('link', { name: 'Approvals' }).first().click();
    await page.getByRole('link', { name: 'Approvers' }).click();
    await page.getByText('Nobody is enrolled').waitFor();
    await page.getByRole('button', { name: 'Enrol a passkey' }).click();
    await page.getByLabel('Name of the person and the device').fill('Ada, laptop');
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Ada, laptop' });
    await row.getByText('active').waitFor();
    await expect.poll(() => row.innerText()).toMatch(/SHA256:[\w+/]{43}/);
    expect(await axeFaults(page)).toEqual([]);
  });

  it('a passkey does not sign an approval that was asked for before its enrolment', async () => {
    await open(page, await ask('later'));
    await page.getByLabel('Signed by').waitFor();
    const { body } = await world.plane.call('GET', '/approvals?runId=early&limit=200');
    const early = body.data.find((each: { runId: string }) => each.runId === 'early');
    await open(page, early.approvalId);
    await page.getByText('after its enrolment').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
  });

  it('a signed approval runs the waiting call once, and the verifier names who signed', async () => {
    const { plane } = world;
    const gov = governing(plane);
    const call = { arguments: payment };
    await open(page, String((await gov.tool('paid', 'send_payment', call)).approvalId));
    await page.getByLabel('Comment').fill('called Meyer Druck');
    await page.getByRole('option', { name: 'passkey Ada, laptop' }).waitFor({ state: 'attached' });
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('definition').filter({ hasText: 'Ada, laptop' }).waitFor();
    const { evaluationId, decision } = await gov.tool('paid', 'send_payment', call);
    expect(decision).toBe('allow');
    expect((await gov.tool('paid', 'send_payment', call)).decision).toBe('escalate');
    await gov.ran('paid', { evaluationId });
    const composed = { layers: ['event_integrity', 'policy_compliance'] };
    const { proofId } = await gov.must('POST', '/proofs', { runId: 'paid', composed });
    const bundle = await gov.must('GET', `/proofs/${proofId}/bundle?events=records`);
    const file = join(emptyDirectory(), 'paid.govproof.json');
    writeFileSync(file, JSON.stringify(bundle));
    const trust = join(plane.dataDir, 'trust');
    const { code, stdout } = await govHere(['proofs', 'verify', file, '--trust', trust, '-o', 'json']);
    const verdict = JSON.parse(stdout);
    expect([code, verdict.verified, verdict.approvals]).toEqual([
      0,
      true,
      { used: 1, once: true, signed: 1 },
    ]);
    const checks = verdict.checks as { id: string; result: string; detail: string }[];
    expect(checks.find(({ id }) => id === 'approval_signatures')).toMatchObject({
      result: 'passed',
      detail: expect.stringMatching(/^1 by Ada, laptop \(passkey, SHA256:/),
    });
    expect((await gov.layer('paid', 'policy_compliance')).failed).toEqual([]);
  });

  it('a user who does not pass the check of the passkey decides nothing', async () => {
    const approvalId = await ask('refused');
    await open(page, approvalId);
    await page.getByLabel('Signed by').waitFor();
    await authenticator.verifiesUser(false);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').getByText('Nothing was sent').waitFor();
    await authenticator.verifiesUser(true);
    const { body } = await world.plane.call('GET', `/approvals/${approvalId}`);
    expect(body.status).toBe('pending');
  });

  it('the passkey of one approver is not offered to another', async () => {
    const grace = await world.open('/approvals', { key: world.plane.keys['grace'] ?? '' });
    await open(grace.page, await ask('grace'));
    await grace.page.getByText('The policy accepts an approval only with a signature.').waitFor();
    await expect.poll(() => grace.page.getByLabel('Signed by').count()).toBe(0);
    await grace.context.close();
  });

  it('a revoked passkey signs nothing, not even on a page that was open before', async () => {
    await open(page, await ask('revoked'));
    await page.getByLabel('Signed by').waitFor();
    const other = await world.open('/approvers', { key: world.plane.keys['ada'] ?? '' });
    await other.page.getByRole('button', { name: 'Revoke Ada, laptop' }).click();
    await other.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await other.page.getByText('revoked', { exact: true }).waitFor();
    await other.context.close();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('alert').getByText('FORBIDDEN').waitFor();
    await open(page, await ask('after'));
    await page.getByText('The policy accepts an approval only with a signature.').waitFor();
    expect(errors).toEqual([]);
  });

  it('a passkey signs a change that loosens a plane, and another one is refused without it', async () => {
    const own = await startConsole({ presence: 'signed' });
    await publishPolicy(own.plane, { policyId: 'stop', tool: 'refund', action: 'deny' });
    const opened = await own.open('/approvers');
    const user = await addAuthenticator(opened.page);
    await opened.page.getByRole('button', { name: 'Enrol a passkey' }).click();
    await opened.page.getByLabel('Name of the person and the device').fill('Ada, laptop');
    await opened.page.getByRole('button', { name: 'Create the passkey' }).click();
    await opened.page.getByRole('row').filter({ hasText: 'Ada, laptop' }).waitFor();
    const disable = async () => {
      await opened.page.getByRole('button', { name: 'Disable' }).click();
      await opened.page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    };
    await opened.page.evaluate("location.hash = '#/policies/stop'");
    await user.verifiesUser(false);
    await disable();
    await opened.page.getByRole('alert').getByText('Nothing was sent').waitFor();
    await opened.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await user.verifiesUser(true);
    await disable();
    await opened.page.getByRole('button', { name: 'Enable' }).waitFor();
    const { body } = await own.plane.call('GET', '/events?runId=gov.system&eventType=change.signed');
    expect(body.events).toMatchObject([
      { metadata: { what: 'end policy stop', passkey: { signature: expect.any(String) } } },
    ]);
    const [{ metadata }] = body.events;
    const signedAgain = Buffer.from(
      JSON.stringify({ ...JSON.parse(metadata.statement), passkey: metadata.passkey }),
    ).toString('base64url');
    await own.plane.call('POST', '/governance/policies/stop/transition', {
      body: { targetStatus: 'active' },
    });
    const repeated = await own.plane.call('POST', '/governance/policies/stop/transition', {
      body: { targetStatus: 'disabled' },
      headers: { 'gov-change-signature': signedAgain },
    });
    expect(repeated.status).toBe(403);
    expect(opened.errors).toEqual([]);
    await own.end();
  });

  it('at an IP address the page says that passkeys need a name', async () => {
    const { plane, browser } = world;
    const context = await browser.newContext({ baseURL: plane.origin });
    const { body } = await plane.call('POST', '/console/links', { key: plane.keys['ada'] ?? '' });
    const at = await context.newPage();
    await at.goto(`/console#code=${(body as { code: string }).code}`);
    await at.locator('#navigation').waitFor({ state: 'attached' });
    await at.evaluate("location.hash = '#/approvers'");
    await at.getByText('http://localhost instead of http://127.0.0.1').waitFor();
    await expect.poll(() => at.getByRole('button', { name: 'Enrol a passkey' }).count()).toBe(0);
    await context.close();
  });
});
