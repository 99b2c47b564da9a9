/** Signing in with a device (RFC 8628) at a real provider: the tool shows a page, a person opens it. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deviceIdToken, type DevicePage } from '../../../src/cli/auth/device.ts';
import { Web } from '../../../src/cli/context/web.ts';
import { GovNetworkError } from '../../../src/client/errors.ts';
import { json, startServer, type Handler, type TestServer } from '../../client/server.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { startProvider, type TestProvider } from '../../support/oidc.ts';
import { Account } from '../support/account.ts';
import { cleanEnv, ended, runner, type Result } from '../support/tool.ts';

const claimsOf = (idToken: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

describe.concurrent('with a real provider', () => {
  let provider: TestProvider;
  let service: TestService;
  beforeAll(async () => {
    provider = await startProvider();
    const { issuer: url, clientId } = provider;
    service = await startService({ file: { issuer: { url, clientId } } });
  });
  afterAll(async () => {
    await service.end();
    await provider.close();
  });

  /** Starts the tool as a process; the page that it shows, and how it ends. */
  async function shown(account: Account, argv: readonly string[]) {
    const child = spawn(process.execPath, [runner, ...argv], {
      env: cleanEnv({ ...account.env, GOV_BASE_URL: service.origin }),
      cwd: account.folder,
    });
    let text = '';
    const page = new Promise<{ address: string; whole: string; code: string }>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        const [, address, code, whole] = /Open {2}(\S+)\nCode {2}(\S+)\nor {4}(\S+)\n/.exec(text) ?? [];
        if (address && code && whole) resolve({ address, code, whole });
      });
      child.once('close', () => reject(new Error(`it showed no page: ${text}`)));
    });
    const end: Promise<Result> = ended(child);
    return { child, end, page: await page };
  }
  const login = ['auth', 'login', '-C', 'acme', '-o', 'json'];
  const signup = ['auth', 'signup', '--name', 'Ada', '--organization', 'Acme', '-o', 'json'];

  it(
    'a person signs up, signs in and works with a real identity provider',
    { timeout: 120_000 },
    async () => {
      const account = new Account();
      const first = await shown(account, signup);
      await provider.approve(first.page.whole, 'ada');
      const signedUp = await first.end;
      expect([signedUp.code, account.current]).toEqual([0, 'acme-sandbox']);
      const second = await shown(account, ['auth', 'login', '-C', 'me', '-o', 'json']);
      // typed in by hand, on another machine
      await provider.approve(second.page.address, 'ada', second.page.code);
      const { code, stdout } = await second.end;
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        type: 'person',
        name: 'Ada',
        organizationId: JSON.parse(signedUp.stdout).orgId,
      });
      const { data } = await account.json(['projects', 'list', '-C', 'me']);
      expect(data).toHaveLength(2);
    },
  );

  it('a sign-in that the person refuses exits with 4', async () => {
    const account = new Account();
    const { page, end } = await shown(account, login);
    await provider.deny(page.whole);
    expect(await end).toMatchObject({ code: 4, stdout: '' });
    expect((await end).stderr).toContain('"code":"ACCESS_DENIED"');
    expect(account.contexts).toEqual({});
  });

  it('Ctrl-C ends a sign-in at once with 130 and stores nothing', async () => {
    const account = new Account();
    const { child, end } = await shown(account, login);
    const startedAt = performance.now();
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, signal: null, stdout: '' });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect((await end).stderr).not.toMatch(/error/i);
    expect([account.contexts, account.credentials]).toEqual([{}, {}]);
  });

  it('gov auth opens the sign-in page in a browser on request', async () => {
    const account = new Account();
    const bin = join(account.folder, 'xdg-open');
    writeFileSync(bin, `#!/bin/sh\nprintf '%s' "$1" > '${account.folder}/opened'\n`);
    chmodSync(bin, 0o700);
    account.env['PATH'] = `${account.folder}:${process.env['PATH'] ?? ''}`;
    const { child, page, end } = await shown(account, [...login, '--open']);
    const opened = join(account.folder, 'opened');
    await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe(page.whole);
    child.kill('SIGTERM');
    expect((await end).code).toBe(143);
  });

  it('a sign-in whose code expires exits with 8', { timeout: 60_000 }, async () => {
    const hasty = await startProvider({ deviceCodeSeconds: 2 });
    const { issuer: url, clientId } = hasty;
    const impatient = await startService({ file: { issuer: { url, clientId } } });
    const outcome = await new Account().gov(['auth', 'login', '--base-url', impatient.origin]);
    expect(outcome).toMatchObject({ code: 8, stderr: expect.stringContaining('before the code expired') });
    await impatient.end();
    await hasty.close();
  });

  it('a provider without the device grant is refused with a hint to other ways', async () => {
    const plain = await startProvider({ deviceFlow: false });
    const { issuer: url, clientId } = plain;
    const without = await startService({ file: { issuer: { url, clientId } } });
    const outcome = await new Account().gov(['auth', 'login', '--base-url', without.origin]);
    expect(outcome).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/does not support the device grant\n.*--id-token FILE/),
    });
    await without.end();
    await plain.close();
  });
});

describe('what answers as a provider', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close());

  const device = {
    device_code: 'd',
    user_code: 'ABCD',
    verification_uri: 'https://idp.example.test/device',
    expires_in: 60,
    interval: 1,
  };
  const idToken = (claims: object): string => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'RS256' })}.${part(claims)}.${Buffer.from('signature').toString('base64url')}`;
  };
  /** RFC 6749 §5.2. */
  const refusal = (response: ServerResponse, error: object): void =>
    json(response, 400, error, { 'content-type': 'application/json' });
  /** What a provider answers. */
  const usual: Readonly<Record<'discovery' | 'device' | 'token', Handler>> = {
    discovery: (_seen, response) =>
      json(response, 200, {
        issuer: server.origin,
        authorization_endpoint: `${server.origin}/auth`,
        token_endpoint: `${server.origin}/token`,
        device_authorization_endpoint: `${server.origin}/device`,
        jwks_uri: `${server.origin}/jwks`,
      }),
    device: (_seen, response) => json(response, 200, device),
    token: (_seen, response) => refusal(response, { error: 'authorization_pending' }),
  };
  /** One of which single answers are replaced. */
  const provider =
    (answers: Partial<typeof usual>): Handler =>
    (seen, response) => {
      const name = seen.url.startsWith('/.well-known/')
        ? 'discovery'
        : seen.url === '/device'
          ? 'device'
          : 'token';
      (answers[name] ?? usual[name])(seen, response);
    };
  const ask = async (answers: Parameters<typeof provider>[0] = {}) => {
    server.handle = provider(answers);
    server.seen.length = 0;
    const pages: DevicePage[] = [];
    const { signal } = new AbortController();
    const web = new Web({ env: {}, ca: [], timeoutMs: 2000, signal });
    const configuration = { issuer: server.origin, clientId: 'cli', scopes: ['openid', 'email'] };
    try {
      const show = async (page: DevicePage) => void pages.push(page);
      return { token: await deviceIdToken({ configuration, web, signal, show }), pages };
    } catch (cause) {
      return { cause, pages };
    } finally {
      web.close();
    }
  };
  const now = Math.floor(Date.now() / 1000);
  const good = () => ({ iss: server.origin, aud: 'cli', sub: 's', iat: now, exp: now + 600 });
  const tokens =
    (claims: object): Handler =>
    (_seen, response) =>
      json(response, 200, { access_token: 'a', token_type: 'Bearer', id_token: idToken(claims) });

  it('a sign-in asks the provider for a recent sign-in with the scopes of the service, without a secret', async () => {
    const { token, pages } = await ask({ token: (seen, response) => tokens(good())(seen, response) });
    expect(claimsOf(token ?? '')).toEqual(good());
    expect(pages).toEqual([
      { address: device.verification_uri, wholeAddress: undefined, userCode: 'ABCD', expiresInSeconds: 60 },
    ]);
    const [, asked, polled] = server.seen.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    expect(asked).toEqual({ client_id: 'cli', scope: 'openid email', max_age: '300' });
    expect(polled).toEqual({
      client_id: 'cli',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'd',
    });
  });

  it(
    'a sign-in polls again while the provider says pending, and more slowly on request',
    { timeout: 30_000 },
    async () => {
      const times: number[] = [];
      const { token } = await ask({
        token: (seen, response) => {
          times.push(performance.now());
          if (times.length === 1) return refusal(response, { error: 'authorization_pending' });
          if (times.length === 2) return refusal(response, { error: 'slow_down' });
          return tokens(good())(seen, response);
        },
      });
      expect(token).toBeDefined();
      const [first = 0, second = 0, third = 0] = times;
      expect(second - first).toBeGreaterThanOrEqual(990);
      expect(third - second).toBeGreaterThanOrEqual(5990);
    },
  );

  it.each([
    ['a token of another issuer', /"iss"/, () => tokens({ ...good(), iss: 'https://evil.example.test' })],
    ['a token for another client', /"aud"/, () => tokens({ ...good(), aud: 'other' })],
    ['a token that has ended', /"exp"/, () => tokens({ ...good(), exp: now - 600 })],
    [
      'text in place of a token',
      /JSON|content-type/,
      (): Handler => (_seen, response) => response.end('hello'),
    ],
  ])('a sign-in with %s exits with 10', async (_, reason, token) => {
    const { cause } = await ask({ token: token() });
    expect(cause).toMatchObject({
      exit: 10,
      message: expect.stringMatching(reason),
    });
  });

  it('a sign-in without an ID token exits with 10 and names the missing scope', async () => {
    const token: Handler = (_seen, response) =>
      json(response, 200, { access_token: 'a', token_type: 'Bearer' });
    expect((await ask({ token })).cause).toMatchObject({
      exit: 10,
      hint: expect.stringContaining('scope openid'),
    });
  });

  it('a sign-in shows an error of the provider in the words of the provider', async () => {
    const error = { error: 'invalid_client', error_description: 'no such client' };
    const { cause } = await ask({ device: (_seen, response) => refusal(response, error) });
    expect(cause).toMatchObject({
      exit: 4,
      message: expect.stringContaining('invalid_client: no such client'),
    });
  });

  it.each([
    [
      'another issuer',
      (): Handler => (_seen, response) => json(response, 200, { issuer: 'https://evil.example.test' }),
    ],
    [
      'a redirect',
      (): Handler => (_seen, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    ],
    ['too much', (): Handler => (_seen, response) => response.end('x'.repeat(2 ** 20 + 1))],
  ])('a provider with %s in its description makes the sign-in exit with 10', async (_, discovery) => {
    const { cause } = await ask({ discovery: discovery() });
    const isNetwork = cause instanceof GovNetworkError;
    expect(isNetwork ? 10 : (cause as { exit: number }).exit).toBe(10);
    expect(server.seen).toHaveLength(1);
  });

  it('a sign-in contacts no remote provider without TLS', async () => {
    const { signal } = new AbortController();
    const web = new Web({ env: {}, ca: [], timeoutMs: 2000, signal });
    const configuration = { issuer: 'http://idp.example.test', clientId: 'cli', scopes: ['openid'] };
    const show = async (): Promise<void> => {};
    await expect(deviceIdToken({ configuration, web, signal, show })).rejects.toThrow(/HTTPS/i);
  });
});
