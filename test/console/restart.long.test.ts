/** The server is killed and started again while a page of its console is open, as processes of their own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { startService } from '../support/hosted.ts';
import { serveProcess } from '../support/process.ts';
import { event, type TestPlane } from '../support/serving.ts';
import { axeFaults, hasBrowser, startBrowser } from './support/browser.ts';
import { callTool, publishPolicy } from './support/calls.ts';

let browser: Browser;
beforeAll(async () => {
  if (hasBrowser) browser = await startBrowser();
});
afterAll(() => browser?.close());

/** A server whose port stays the same. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function openPage(port: number): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({
    baseURL: `http://localhost:${port}`,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(20_000);
  return { context, page: await context.newPage() };
}

const kill = async (running: Awaited<ReturnType<typeof serveProcess>>): Promise<void> => {
  running.child.kill('SIGKILL');
  await running.ended;
};

/** A client of a server on this machine, with a key. A busy machine may answer 503: the same call succeeds later. */
const caller = (port: number, key: string) => async (method: string, path: string, body?: unknown) => {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (answer.status !== 503) return { status: answer.status, body: JSON.parse(text) as unknown, text };
    await pause(500);
  }
};

const lost = (page: Page) => page.getByText('The connection is lost.');
const runIds = (page: Page): Promise<string[]> =>
  page.getByRole('table').locator('a[href*="#/runs/run-"]').allTextContents();
const runs = (count: number) => Array.from({ length: count }, (_, at) => `run-${at}`);

/** Writes a port into service.json, so that the service listens there again after a restart. */
async function fixedPort(dataDir: string): Promise<number> {
  const [path, port] = [join(dataDir, 'service.json'), await freePort()];
  const file = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...file, listen: `127.0.0.1:${port}` }));
  return port;
}

describe.skipIf(!hasBrowser)('a server that restarts under an open page', () => {
  it('a plane: the idle page says that the connection is lost, comes back by itself, and after a new sign-in shows every run once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-restart-'));
    const [dataDir, port] = [join(folder, 'plane'), await freePort()];
    await planeInit({
      dataDir,
      listen: `127.0.0.1:${port}`,
      metricsListen: '127.0.0.1:0',
      environment: 'production',
    });
    const call = caller(port, readFileSync(join(dataDir, 'local.key'), 'utf8').trim());
    const linkOf = async (): Promise<string> =>
      `/console#code=${((await call('POST', '/console/links')).body as { code: string }).code}`;
    let running = await serveProcess('plane', dataDir);
    await call('POST', '/events/batch', { events: runs(30).map((runId) => event({ runId })) });
    const { page, context } = await openPage(port);
    await page.goto(await linkOf());
    await page.evaluate(`location.hash = '#/runs'`);
    await page.getByText('The first 25 runs; there are more.').waitFor();
    await kill(running);
    // nobody clicks: the page finds out by itself
    await lost(page).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('alert').first().waitFor();
    expect(await runIds(page)).toHaveLength(25);
    running = await serveProcess('plane', dataDir);
    await page.getByText('or the plane restarted').waitFor();
    await expect.poll(() => lost(page).count()).toBe(0);
    await call('POST', '/events', event({ runId: 'run-30' }));
    const other = await context.newPage();
    await other.goto(await linkOf());
    await page.getByText('The first 25 runs; there are more.').waitFor();
    expect(new URL(page.url()).hash).toBe('#/runs');
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(async () => (await runIds(page)).length).toBeGreaterThan(25);
    expect((await runIds(page)).sort()).toEqual(runs(31).sort());
    await context.close();
    await kill(running);
    rmSync(folder, { recursive: true, force: true });
  });

  it('a service: the session, the comment and the rows stay, what waited is loaded, and a decision is made once', async () => {
    const service = await startService();
    const { keys } = await service.signUp('ada');
    const port = await fixedPort(service.dataDir);
    await service.close();
    let running = await serveProcess('service', service.dataDir);
    const call = caller(port, keys.production);
    const world = {
      key: keys.production,
      call: (method: string, where: string, { body }: { body?: unknown } = {}) => call(method, where, body),
    } as unknown as TestPlane;
    await publishPolicy(world, { policyId: 'pay', tool: 'send_payment', action: 'escalate' });
    const { approvalId = '' } = await callTool(world, { runId: 'run-0' });
    await call('POST', '/events/batch', { events: runs(30).map((runId) => event({ runId })) });
    const { page, context } = await openPage(port);
    await page.goto('/console/icon');
    await page.evaluate(
      async (body) => {
        const headers = { 'content-type': 'application/json' };
        await fetch('/api/v1/auth/session', { method: 'POST', headers, body });
        sessionStorage.clear();
      },
      JSON.stringify({ idToken: await service.idToken('ada') }),
    );
    await page.goto('/console/#/');
    await page.locator('.account select').selectOption({ label: 'Production (production)' });
    await page.getByText('ada · production').waitFor();
    const list = await context.newPage();
    await list.goto('/console/#/');
    await list.locator('.account select').selectOption({ label: 'Production (production)' });
    await list.getByText('ada · production').waitFor();
    await list.evaluate(`location.hash = '#/runs'`);
    await list.getByText('The first 25 runs; there are more.').waitFor();
    await page.evaluate(`location.hash = '#/approvals/${approvalId}'`);
    await page.getByLabel('Comment').fill('known supplier');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    // once the page knows the passkeys of the person
    await expect.poll(() => approve.isEnabled()).toBe(true);
    await kill(running);
    await approve.click();
    await lost(page).waitFor();
    await list.bringToFront();
    await list.getByRole('button', { name: 'Show more' }).click();
    await lost(list).waitFor();
    running = await serveProcess('service', service.dataDir);
    // what was asked for in vain is loaded without a click
    await lost(list).waitFor({ state: 'detached' });
    await expect.poll(async () => (await runIds(list)).sort()).toEqual(runs(30).sort());
    await page.bringToFront();
    await lost(page).waitFor({ state: 'detached' });
    // a proxy that answers for a server that is gone, and a server that is busy
    await page.route(/health[/]live$/, (route) => route.fulfill({ status: 502, body: 'Bad Gateway' }));
    await page.evaluate(`dispatchEvent(new Event('online'))`);
    await lost(page).waitFor();
    await page.unroute(/health[/]live$/);
    const busy = JSON.stringify({ code: 'OVERLOADED', title: 'Busy', status: 503 });
    await page.route(/health[/]live$/, (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: busy }),
    );
    await lost(page).waitFor({ state: 'detached' });
    await page.unroute(/health[/]live$/);
    await expect.poll(() => page.getByLabel('Comment').inputValue()).toBe('known supplier');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByRole('heading', { name: 'Decision', exact: true }).waitFor();
    const { body } = await call('GET', `/approvals/${approvalId}`);
    expect(body).toMatchObject({ status: 'approved', comment: 'known supplier' });
    await context.close();
    await kill(running);
    await service.end();
  });
});
