/** Signing in at providers that misbehave, and at a real one (`oidc-provider`) as a confidential client: contract B19. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { startProvider, type TestProvider } from '../../support/oidc.ts';
import { clientId } from '../../host/identity/issuer.ts';
import { begin, codeOf, finish, pageOf } from '../support/signing-in.ts';

afterEach(() => void vi.useRealTimers());
const later = (ms: number): void => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

describe('a provider that misbehaves', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.end());
  const start = () => service.call('POST', '/auth/sign-in', { headers: pageOf(service) });

  it.each([
    ['a script as its page', { authorization_endpoint: 'javascript:alert(1)' }],
    ['a page without encryption', { authorization_endpoint: 'http://id.example/authorize' }],
    ['no page', { authorization_endpoint: undefined }],
    ['tokens without encryption', { token_endpoint: 'http://id.example/token' }],
    ['a page that is no text', { authorization_endpoint: { toString: 'x' } }],
    ['a page with a user', { authorization_endpoint: 'https://a:b@id.example/' }],
    ['the name of another', { issuer: 'https://accounts.example' }],
  ])('a provider with %s gets no browser', async (_, discovery) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * limits.issuerKeysStaleSeconds * 1000 });
    service.issuer.discovery = discovery;
    const answer = await start();
    expect([answer.status, answer.body.detail]).toEqual([503, expect.stringContaining('does not answer')]);
    expect(answer.text).not.toContain('javascript');
  });

  it('a provider that puts parameters into its page replaces none of the sign-in', async () => {
    later(limits.issuerKeysStaleSeconds * 20_000);
    const page = `${service.issuer.url}/authorize?policy=p&state=known&redirect_uri=https%3A%2F%2Fevil.example`;
    service.issuer.discovery = { authorization_endpoint: page };
    const { url, state } = await begin(service);
    expect([url.searchParams.get('policy'), url.searchParams.getAll('state')]).toEqual(['p', [state]]);
    expect(url.searchParams.getAll('redirect_uri')).toEqual([
      `http://localhost:${service.port}/console/callback`,
    ]);
    expect(state).not.toBe('known');
  });

  it.each([
    ['a sign-out page that is a script', { end_session_endpoint: 'javascript:alert(1)' }],
    ['ways to authenticate that are no list', { token_endpoint_auth_methods_supported: 5 }],
  ])('signing out works at a provider with %s, and leads nowhere', async (_, discovery) => {
    later(limits.issuerKeysStaleSeconds * 30_000);
    service.issuer.discovery = discovery;
    const { status, body } = await service.call('POST', '/auth/sign-out', { headers: pageOf(service) });
    expect([status, body]).toEqual([200, { success: true, providerUrl: null }]);
  });

  it('a provider that is down is a page with the next step, and signing out still works', async () => {
    service.issuer.discovery = {};
    later(limits.issuerKeysStaleSeconds * 10_000);
    await service.issuer.pause();
    const answer = await start();
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
    expect((await service.call('POST', '/auth/sign-out', { headers: pageOf(service) })).body).toEqual({
      success: true,
      providerUrl: null,
    });
    await service.issuer.resume();
    expect((await start()).status).toBe(200);
  });
});

describe('a service that has a public address', () => {
  it('a sign-in begins at the configured address alone', async () => {
    const redirectUri = 'https://gov.example.com/base/console/callback';
    const issuer = { url: 'http://127.0.0.1:9', clientId, redirectUri };
    const service = await startService({ file: { publicUrl: 'https://gov.example.com', issuer } });
    const headers = { origin: 'https://other.example.com', 'sec-fetch-site': 'same-origin' };
    const answer = await service.call('POST', '/auth/sign-in', { headers });
    expect([answer.status, answer.body.detail]).toEqual([
      403,
      'expected the console at https://gov.example.com/base/console/, got it at https://other.example.com; open that address and sign in there',
    ]);
    await service.end();
  });
});

it('a service without an identity provider has no sign-in, and can still be signed out of', async () => {
  const service = await startService({ file: { issuer: undefined } as never });
  const headers = pageOf(service);
  expect((await service.call('POST', '/auth/sign-in', { headers })).status).toBe(404);
  expect((await service.call('POST', '/auth/sign-in/finish', { headers, body: { state: 's' } })).status).toBe(
    404,
  );
  expect((await service.call('POST', '/auth/sign-out', { headers: pageOf(service) })).body).toEqual({
    success: true,
    providerUrl: null,
  });
  await service.end();
});

describe('with a real provider', () => {
  let provider: TestProvider;
  let service: TestService;
  const clientSecret = 'a secret: with % and + in it';
  beforeAll(async () => {
    provider = await startProvider({ alg: 'ES256', clientSecret });
    service = await startService({
      env: { GOV_ISSUER_CLIENT_SECRET: clientSecret },
      file: { issuer: { url: provider.issuer, clientId: provider.clientId } },
    });
  });
  afterAll(async () => {
    await service.end();
    await provider.close();
  });

  it('a confidential client exchanges a code once, and only with the verifier of its cookie', async () => {
    const callback = `http://localhost:${service.port}/console/callback`;
    const [first, second] = [await begin(service), await begin(service)];
    const landed = await provider.follow(first.url.href, 'ada', callback);
    const { code = '', iss = '', state } = Object.fromEntries(landed.searchParams);
    expect([state, iss]).toEqual([first.state, provider.issuer]);
    // the code of one sign-in, put into another: the verifier does not match
    const injected = await finish(service, second, { code, iss });
    expect([injected.status, injected.body.detail]).toEqual([401, expect.stringContaining('used before')]);
    const again = await begin(service);
    const { code: own = '' } = Object.fromEntries(
      (await provider.follow(again.url.href, 'ada', callback)).searchParams,
    );
    // the provider knows ada, the service does not
    expect((await finish(service, again, { code: own, iss })).body.reason).toBe('no-account');
    expect(codeOf(await finish(service, again, { code: own, iss }))).toEqual([401, 'INVALID_CREDENTIAL']);
  });
});
