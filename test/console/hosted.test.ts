/** The pages that only a service has, as a person who signed in. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../support/hosted.ts';
import { axeFaults, hasBrowser, startBrowser } from './support/browser.ts';

let service: TestService;
let browser: Browser;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startService(), startBrowser()]);
  await service.signUp('ada');
  const idToken = await service.idToken('ada');
  const context = await browser.newContext({
    baseURL: `http://localhost:${service.port}`,
    reducedMotion: 'reduce',
  });
  page = await context.newPage();
  await page.goto('/console/');
  // as any page of the service may; how a person gets there: sign-in.test.ts
  const status = await page.evaluate(async (body) => {
    const headers = { 'content-type': 'application/json' };
    return (await fetch('/api/v1/auth/session', { method: 'POST', headers, body })).status;
  }, JSON.stringify({ idToken }));
  expect(status).toBe(200);
  page.on('pageerror', (error) => errors.push(error.message));
});
afterAll(async () => {
  await browser?.close();
  await service?.end();
});

const open = async (address: string): Promise<void> => {
  await page.goto(`/console/?${address}#${address}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
};

describe.skipIf(!hasBrowser)('the console of a service', () => {
  it('a person registers a data plane, whose enrolment token is shown once, and revokes it', async () => {
    await open('/planes');
    await page.getByRole('button', { name: 'Register a data plane' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Zurich');
    await page.getByRole('button', { name: 'Register', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'The enrolment token' });
    expect((await shown.locator('.secret').textContent())?.trim()).toMatch(/^gov_enr_[0-9A-Za-z]{38}$/);
    await shown.getByRole('button', { name: 'Close' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Zurich' });
    await row.getByText('pending').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('revoked').waitFor();
    expect(errors).toEqual([]);
  });

  it('a person requires two people for policies, makes a project, and works on it', async () => {
    await open('/projects');
    const two = page.getByLabel('A policy version needs two credentials');
    await two.click();
    await expect.poll(() => two.isChecked()).toBe(true);
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Second');
    await page.getByLabel('Environment').selectOption('production');
    await page.getByRole('button', { name: 'Create the project' }).click();
    const row = page.getByRole('row').filter({ hasText: 'Second' });
    await row.getByRole('button', { name: 'Work on it' }).click();
    await row.getByText('in use').waitFor();
    await page.getByRole('heading', { name: 'Settings of Second' }).waitFor();
    await expect.poll(() => two.isChecked()).toBe(false);
    expect(await axeFaults(page)).toEqual([]);
    expect(errors).toEqual([]);
  });
});
