/** Signing in to the console of a service at a real OpenID provider, in a real browser: contract B14, B19. */
import { createHash } from 'node:crypto';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../support/hosted.ts';
import { startProvider, type TestProvider } from '../support/oidc.ts';
import { axeFaults, hasBrowser, startBrowser } from './support/browser.ts';

let provider: TestProvider;
let service: TestService;
let browser: Browser;

beforeAll(async () => {
  if (!hasBrowser) return;
  provider = await startProvider({ alg: 'ES256' });
  const issuer = { url: provider.issuer, clientId: provider.clientId };
  [service, browser] = await Promise.all([startService({ file: { issuer } }), startBrowser()]);
  for (const name of ['ada', 'bob']) {
    const body = { name, organizationName: `${name} & co` };
    await service.call('POST', '/auth/signup', { key: await provider.idToken(name), body });
  }
});
afterAll(async () => {
  await browser?.close();
  await service?.end();
  await provider?.close();
});

/** A browser at whose keyboard this person sits: the provider signs in without a question. */
async function openAs(person: string): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({
    baseURL: `http://localhost:${service.port}`,
    extraHTTPHeaders: { 'x-test-person': person },
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(10_000);
  return { context, page: await context.newPage() };
}

const signIn = (page: Page) => page.getByRole('button', { name: 'Sign in', exact: true }).click();

describe.skipIf(!hasBrowser)('signing in to the console of a service', () => {
  it('a person signs in at the provider, lands on the page that was asked for, and no token reaches the browser', async () => {
    const { page, context } = await openAs('ada');
    const seen: string[] = [];
    page.on('response', (response) => {
      if (response.url().startsWith(`http://localhost:${service.port}`)) {
        void response.text().then(
          (text) => seen.push(text),
          () => {},
        );
      }
    });
    await page.goto('/console/#/runs');
    await page.getByText(provider.issuer).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    expect(page.url()).toBe(`http://localhost:${service.port}/console/#/runs`);
    await page.getByText('ada & co').waitFor();
    const cookies = (await context.cookies()).filter(({ name }) => name.startsWith('__Host-gov'));
    expect(
      cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]).sort(),
    ).toEqual([
      ['__Host-gov_session', true, true, 'Strict'],
      ['__Host-gov_sign_in', true, true, 'Strict'],
    ]);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.filter((text) => text.includes('eyJ'))).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await context.close();
  });

  it('signing out ends the session, offers the page of the provider, and the next person may sign in', async () => {
    const { page, context } = await openAs('ada');
    await page.goto('/console/');
    await signIn(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out of the console').waitFor();
    const link = page.getByRole('link', { name: 'sign out at the identity provider' });
    await expect
      .poll(() => link.getAttribute('href'))
      .toBe(`${provider.issuer}/session/end?client_id=${provider.clientId}`);
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });

  it('a person without an account learns how to make one', async () => {
    const { page, context } = await openAs('carol');
    await page.goto('/console/');
    await signIn(page);
    await page.getByText(`gov auth signup --base-url ${service.origin}`).waitFor();
    await page.getByRole('button', { name: 'Sign in again' }).waitFor();
    expect(await context.cookies()).not.toContainEqual(
      expect.objectContaining({ name: '__Host-gov_session' }),
    );
    expect(await axeFaults(page)).toEqual([]);
    await context.close();
  });

  it('a forged answer of the provider opens nothing, leads nowhere else, and keeps the open session', async () => {
    const { page, context } = await openAs('ada');
    await page.goto('/console/callback?code=x&state=y&iss=https%3A%2F%2Fevil.example');
    await page.getByText('that this browser began at most 10 minutes ago').waitFor();
    expect(page.url()).toBe(`http://localhost:${service.port}/console/#/`);
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.goto('/console/callback?error=access_denied&error_description=%3Cimg%20src=x%3E&state=y');
    await page.getByRole('button', { name: 'Keep the open session' }).click();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await context.close();
  });

  it('a link that names another site signs in and stays on the console', async () => {
    const target = '//evil.example';
    const { page, context } = await openAs('ada');
    await page.goto(`/console/#${target}`);
    await signIn(page);
    await page.locator('#navigation').waitFor({ state: 'attached' });
    const url = new URL(page.url());
    expect([url.origin, url.pathname, url.search]).toEqual([
      `http://localhost:${service.port}`,
      '/console/',
      '',
    ]);
    await context.close();
  });
});

describe.skipIf(!hasBrowser)('signing in with the development issuer', () => {
  it('a person types an address into its page and works in the console', async () => {
    const local = await startService({ file: { issuer: undefined } as never, devIssuer: '127.0.0.1:0' });
    const { issuer } = (await local.call('GET', '/auth/configuration')).body as { issuer: string };
    const body = { name: 'Ada', organizationName: 'Ada' };
    await local.call('POST', '/auth/signup', { key: await devIdToken(issuer), body });
    const page = await browser.newPage({
      baseURL: `http://localhost:${local.port}`,
      reducedMotion: 'reduce',
    });
    page.setDefaultTimeout(10_000);
    await page.goto('/console/#/runs');
    await signIn(page);
    await page.getByText('believes whatever you say').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByLabel('Your e-mail address').fill('ada@example.com');
    await page.getByRole('button', { name: `Sign in to localhost:${local.port}` }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    expect(page.url()).toBe(`http://localhost:${local.port}/console/#/runs`);
    await page.close();
    await local.end();
  });
});

/** An ID token of ada@example.com at the development issuer. */
async function devIdToken(issuer: string): Promise<string> {
  const verifier = 'v'.repeat(43);
  const redirect_uri = 'http://localhost:1/console/callback';
  const post = (path: string, form: Record<string, string>) =>
    fetch(`${issuer}${path}`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' });
  const code_challenge = createHash('sha256').update(verifier).digest('base64url');
  const asked = { client_id: 'gov', redirect_uri, response_type: 'code', scope: 'openid', code_challenge };
  const answered = await post('/authorize', {
    ...asked,
    code_challenge_method: 'S256',
    email: 'ada@example.com',
  });
  const code = new URL(answered.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const form = {
    grant_type: 'authorization_code',
    client_id: 'gov',
    redirect_uri,
    code,
    code_verifier: verifier,
  };
  return ((await (await post('/token', form)).json()) as { id_token: string }).id_token;
}
