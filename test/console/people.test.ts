/** What a person does in the console of a service: approvals, runs, keys and projects of one organization, and none of another. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type Tenant, type TestService } from '../support/hosted.ts';
import type { TestPlane } from '../support/serving.ts';
import { axeFaults, hasBrowser, startBrowser } from './support/browser.ts';
import { callTool, publishPolicy } from './support/calls.ts';

let service: TestService;
let browser: Browser;
const tenants: Record<'ada' | 'bob', Tenant & { approvalId: string; production: string }> = {} as never;

/** A tenant with a call that waits, and the run of it. */
async function fill(name: string) {
  const tenant = await service.signUp(name);
  const plane = { call: tenant.call, key: tenant.keys.production } as unknown as TestPlane;
  await publishPolicy(plane, { policyId: 'pay', tool: 'send_payment', action: 'escalate' });
  const { approvalId = '' } = await callTool(plane, { runId: `run-of-${name}`, actor: `agent-of-${name}` });
  const { data } = (await tenant.call('GET', '/projects')).body;
  const { id } = data.find(({ environment }: { environment: string }) => environment === 'production');
  return { ...tenant, approvalId, production: String(id) };
}

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startService(), startBrowser()]);
  tenants.ada = await fill('ada');
  tenants.bob = await fill('bob');
});
afterAll(async () => {
  await browser?.close();
  await service?.end();
});

/** A page of this person's session. */
async function openAs(name: string, address = '/'): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({
    baseURL: `http://localhost:${service.port}`,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  await page.goto('/console/icon');
  await page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' };
      await fetch('/api/v1/auth/session', { method: 'POST', headers, body });
    },
    JSON.stringify({ idToken: await service.idToken(name) }),
  );
  await page.goto(`/console/#${address}`);
  return { page, context };
}

describe.skipIf(!hasBrowser)('a person in the console of a service', () => {
  it('a person approves a call, looks at its run, and makes a key, all under their own name', async () => {
    const { approvalId, call } = tenants.ada;
    const { page, context } = await openAs('ada', `/approvals/${approvalId}`);
    await page.getByLabel('Comment').fill('known supplier');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('approved').first().waitFor();
    const { body } = await call('GET', `/approvals/${approvalId}`);
    expect([body.status, body.comment]).toEqual(['approved', 'known supplier']);
    expect(JSON.stringify(body.decidedBy)).toContain('usr_');
    await page.goto('/console/#/runs/run-of-ada');
    await page.getByText('send_payment').first().waitFor();
    await page.goto('/console/#/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Made by Ada');
    await page.getByRole('button', { name: 'Create the key' }).click();
    await page.getByRole('dialog', { name: 'The key' }).waitFor();
    await context.close();
  });

  it('a person chooses a project beside every page, and the page shows that project', async () => {
    const { page, context } = await openAs('ada', '/runs');
    await page.getByText('run-of-ada').first().waitFor();
    const choice = page.locator('.account select');
    await expect
      .poll(() => choice.locator('option').allTextContents())
      .toEqual(expect.arrayContaining(['Production (production)', 'Sandbox (sandbox)']));
    await choice.selectOption({ label: 'Sandbox (sandbox)' });
    await page.getByText('ada · sandbox').waitFor();
    await page.getByText('run-of-ada').first().waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText('ada · sandbox').waitFor();
    await context.close();
  });

  it('a person opens neither a project, an approval nor a run of another organization by its address', async () => {
    const { ada, bob } = tenants;
    const { page, context } = await openAs('ada');
    await page.getByText('ada · production').waitFor();
    await page.evaluate(`sessionStorage.setItem('gov-project', 'production ${bob.production}')`);
    await page.reload();
    await page.getByText('ada · production').waitFor();
    await expect.poll(() => page.locator('.account select').inputValue()).toBe(ada.production);
    await page.goto(`/console/#/approvals/${bob.approvalId}`);
    await page.getByText('NOT_FOUND').waitFor();
    await page.goto('/console/#/runs/run-of-bob');
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.content()).not.toContain('agent-of-bob');
    const status = await page.evaluate(
      async (project) => (await fetch('/api/v1/runs', { headers: { 'gov-project': project } })).status,
      bob.production,
    );
    expect(status).toBe(404);
    await context.close();
  });

  it('a person whose organization has no project left makes one and goes on', async () => {
    const carol = await service.signUp('carol');
    const { page, context } = await openAs('carol');
    await page.getByText('carol · production').waitFor();
    for (const environment of ['production', 'sandbox'] as const) {
      const [project] = (await carol.call('GET', '/projects', { environment })).body.data;
      const deleted = await carol.call('DELETE', `/projects/${project.id}`, { environment });
      expect(deleted.status).toBe(200);
    }
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'No project' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Next');
    await page.getByRole('button', { name: 'Create the project' }).click();
    await page.getByText('carol · sandbox').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });
});
