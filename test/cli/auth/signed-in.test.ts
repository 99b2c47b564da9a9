import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from '../../client/server.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { Account, signInAt, signUpAt } from '../support/account.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

let people = 0;
const someone = (): string => `person-${(people += 1)}`;
const signUp = (account: Account, name: string, words: readonly string[] = []) =>
  signUpAt(service, { account, name, words });
const signIn = (account: Account, name: string, words: readonly string[] = []) =>
  signInAt(service, { account, name, words });

describe('gov auth status and token', () => {
  it('gov auth status and token exit with 4 when nobody is signed in or the sign-in has ended', async () => {
    const account = new Account();
    const name = someone();
    await service.signUp(name);
    for (const verb of ['status', 'token'])
      expect((await account.gov(['auth', verb, '--base-url', service.origin])).code).toBe(4);
    await signIn(account, name, ['-C', 'acme']);
    expect((await account.gov(['auth', 'status', '-C', 'acme'])).code).toBe(0);
    const key = (await account.gov(['auth', 'token'])).stdout.trim();
    await service.call('DELETE', '/auth/tokens', { key });
    const gone = await account.gov(['auth', 'status', '-C', 'acme']);
    expect(gone).toMatchObject({ code: 4, stderr: expect.stringContaining('gov auth login -C acme') });
    expect(gone.stderr).not.toContain(key);
  });

  it('gov auth status and token name the credential in use, also one from the environment', async () => {
    const { keys } = await service.signUp(someone());
    const account = new Account({ GOV_BASE_URL: service.origin, GOV_API_KEY: keys.production });
    expect(await account.json(['auth', 'status'])).toMatchObject({
      context: null,
      from: 'GOV_API_KEY',
      credential: `gov_live_…${keys.production.slice(-4)}`,
      environment: 'production',
    });
    expect(await account.json(['auth', 'token'])).toEqual({ token: keys.production, from: 'GOV_API_KEY' });
  });

  it('gov auth status shows a person all facts about the sign-in', async () => {
    const account = new Account();
    const name = someone();
    const { orgId } = await service.signUp(name, { name: 'Ada Lovelace' });
    const login = await account.gov(
      ['auth', 'login', '--base-url', service.origin, '-C', 'acme', '--id-token', '-'],
      { input: await service.idToken(name), columns: 120, env: { NO_COLOR: '1' } },
    );
    expect(login.stdout).toMatch(/^signed in at 127\.0\.0\.1:\d+ as Ada Lovelace/m);
    const { stdout } = await account.gov(['auth', 'status'], { columns: 120, env: { NO_COLOR: '1' } });
    expect(stdout).toMatch(/^person {8}Ada Lovelace \(usr_/);
    for (const text of [orgId, 'Sandbox', 'gov_cli_', 'until']) expect(stdout).toContain(text);
  });
});

describe('gov auth logout', () => {
  it('gov auth logout ends the sign-in at the service and locally, for both contexts', async () => {
    const account = new Account();
    const name = someone();
    await service.signUp(name);
    await signIn(account, name, ['-C', 'acme']);
    const key = (await account.gov(['auth', 'token'])).stdout.trim();
    expect((await account.gov(['auth', 'logout'])).code).toBe(0);
    expect((await service.call('GET', '/auth/identity', { key })).status).toBe(401);
    expect(account.credentials).toEqual({});
    for (const context of ['acme', 'acme-sandbox'])
      expect((await account.gov(['auth', 'status', '-C', context])).code).toBe(4);
    const again = await account.gov(['auth', 'logout']);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('nobody is signed in') });
    expect((await signIn(account, name, ['-C', 'acme'])).code).toBe(0);
  });

  it('gov auth logout succeeds when the sign-in has already ended', async () => {
    const account = new Account();
    const name = someone();
    await service.signUp(name);
    await signIn(account, name);
    const key = (await account.gov(['auth', 'token'])).stdout.trim();
    await service.call('DELETE', '/auth/tokens', { key });
    expect((await account.gov(['auth', 'logout'])).code).toBe(0);
    expect(account.credentials).toEqual({});
  });

  it('gov auth logout keeps the credential when the service is unreachable, unless it is forced', async () => {
    const account = new Account({ GOV_RETRIES: '0' });
    const passing = await startServer();
    const { origin } = passing;
    await passing.close();
    mkdirSync(join(account.folder, 'config'));
    const baseUrl = `${origin}/api/v1`;
    const state = {
      contexts: { acme: { kind: 'service', baseUrl, credential: 'p' } },
      currentContext: 'acme',
    };
    writeFileSync(join(account.folder, 'config/config.json'), JSON.stringify(state));
    const p = { kind: 'person', token: 'gov_cli_x', origin, expiresAt: '2026-01-01T00:00:00.000Z' };
    const file = join(account.folder, 'config/credentials.json');
    writeFileSync(file, JSON.stringify({ credentials: { p } }), { mode: 0o600 });
    chmodSync(file, 0o600);
    expect((await account.gov(['auth', 'logout'])).code).toBe(10);
    expect(account.credentials).toHaveProperty('p');
    const forced = await account.gov(['auth', 'logout', '--force']);
    expect(forced).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('stays valid until 2026-01-01'),
    });
    expect(account.credentials).toEqual({});
  });

  it('gov auth logout asks before it deletes an API key', async () => {
    const account = new Account();
    await signUp(account, someone(), ['-C', 'acme']);
    expect((await account.gov(['auth', 'logout'])).code).toBe(2);
    expect((await account.gov(['auth', 'logout', '--yes'])).code).toBe(0);
    expect(Object.keys(account.credentials)).toEqual(['acme']);
  });
});
