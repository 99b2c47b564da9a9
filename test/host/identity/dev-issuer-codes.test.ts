/** The authorization code flow of the development issuer, with an independent client and with forged requests. */
import { randomBytes } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDevIssuer, type DevIssuer } from '../../../src/host/identity/dev-issuer.ts';
import { silentLog } from '../../../src/service/call/log.ts';

let nowMs = Math.floor(Date.now() / 1000) * 1000;
const redirectUri = 'http://localhost:7470/console/callback';
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
/** RFC 7636, appendix B. */
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

let issuer: DevIssuer;
let url: string;
beforeAll(async () => {
  issuer = await startDevIssuer({
    listen: { host: '127.0.0.1', port: 0 },
    serviceListen: { host: '127.0.0.1', port: 7470 },
    now: () => nowMs,
    randomBytes,
    log: silentLog,
  });
  ({ url } = issuer.issuer);
});
afterAll(() => issuer.close());

const asked = {
  client_id: 'gov',
  redirect_uri: redirectUri,
  response_type: 'code',
  scope: 'openid email',
  state: 's<"',
  nonce: 'n',
  code_challenge: challenge,
  code_challenge_method: 'S256',
};
const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' });
const signIn = async (more: Record<string, string> = {}): Promise<URL> => {
  const answered = await post('/authorize', { ...asked, email: 'Ada@example.com', ...more });
  expect(answered.status).toBe(303);
  return new URL(answered.headers.get('location') ?? '');
};
const redeem = async (more: Record<string, string> = {}): Promise<Record<string, string>> => {
  const form = {
    grant_type: 'authorization_code',
    client_id: 'gov',
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  return (await (await post('/token', { ...form, ...more })).json()) as Record<string, string>;
};

describe('the code flow of the development issuer', () => {
  it('an independent client of OpenID Connect signs a person in', async () => {
    const plain = { [oauth.allowInsecureRequests]: true };
    const place = new URL(url);
    const server = await oauth.processDiscoveryResponse(place, await oauth.discoveryRequest(place, plain));
    const client = { client_id: 'gov' };
    const answer = oauth.validateAuthResponse(server, client, await signIn(), asked.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      answer,
      redirectUri,
      verifier,
      plain,
    );
    const expected = { expectedNonce: 'n', requireIdToken: true, maxAge: 300 };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({
      sub: 'ada@example.com',
      email_verified: true,
    });
    await oauth.validateApplicationLevelSignature(server, response, plain);
  });

  it('the page says what it is, leads to the console, and escapes what the request has', async () => {
    const answered = await fetch(`${url}/authorize?${new URLSearchParams(asked)}`);
    const text = await answered.text();
    expect(text).toContain('Anybody on this machine can sign in as anybody');
    expect(text).toContain('Sign in to localhost:7470');
    expect(text).toContain('value="s&#60;&#34;"');
    expect(answered.headers.get('content-security-policy')).toContain(
      "form-action 'self' http://localhost:7470;",
    );
  });

  it.each([
    ['another client', { client_id: 'other' }],
    ['a redirect to another machine', { redirect_uri: 'https://evil.example/console/callback' }],
    [
      'a redirect to a name that begins like this machine',
      { redirect_uri: 'http://localhost.evil.example/console/callback' },
    ],
    ['a redirect to another page', { redirect_uri: 'http://localhost:7470/other' }],
    ['a redirect with a query', { redirect_uri: `${redirectUri}?next=x` }],
    ['a script as redirect', { redirect_uri: 'javascript:alert(1)//console/callback' }],
    ['no PKCE', { code_challenge: '' }],
    ['plain PKCE', { code_challenge_method: 'plain' }],
    ['the implicit flow', { response_type: 'id_token' }],
    ['no OpenID', { scope: 'email' }],
  ])('a request with %s gets a page and no redirect', async (_, more) => {
    for (const answered of [
      await fetch(`${url}/authorize?${new URLSearchParams({ ...asked, ...more })}`, { redirect: 'manual' }),
      await post('/authorize', { ...asked, email: 'ada@example.com', ...more }),
    ]) {
      expect([answered.status, answered.headers.get('location')]).toEqual([400, null]);
      expect(await answered.text()).toContain('This sign-in cannot work');
    }
  });

  it('a page of another site cannot sign anybody in', async () => {
    const answered = await post(
      '/authorize',
      { ...asked, email: 'eve@example.com' },
      { origin: 'https://evil.example' },
    );
    expect(answered.status).toBe(403);
  });

  it('a text that is no e-mail address is asked for again', async () => {
    const answered = await post('/authorize', { ...asked, email: 'ada' });
    expect([answered.status, (await answered.text()).includes('role="alert"')]).toEqual([400, true]);
  });

  const codeOf = async (): Promise<string> => (await signIn()).searchParams.get('code') ?? '';

  it('a code works once, within a minute, and only with its verifier and redirect', async () => {
    const code = await codeOf();
    expect(await redeem({ code })).toMatchObject({ token_type: 'Bearer', id_token: expect.any(String) });
    expect(await redeem({ code })).toEqual({ error: 'invalid_grant' });
    for (const wrong of [
      { code_verifier: 'x'.repeat(43) },
      { redirect_uri: 'http://127.0.0.1:7470/console/callback' },
    ]) {
      const other = await codeOf();
      expect(await redeem({ code: other, ...wrong })).toEqual({ error: 'invalid_grant' });
      // a code that was tried with a wrong verifier is used up
      expect(await redeem({ code: other })).toEqual({ error: 'invalid_grant' });
    }
    const old = await codeOf();
    nowMs += 60_000;
    expect(await redeem({ code: old })).toEqual({ error: 'invalid_grant' });
    expect(await redeem({ code: await codeOf(), client_id: 'other' })).toEqual({ error: 'invalid_client' });
  });

  it('the issuer keeps at most a thousand codes', async () => {
    const first = await codeOf();
    for (let at = 0; at < 1000; at += 1) await codeOf();
    expect(await redeem({ code: first })).toEqual({ error: 'invalid_grant' });
  });
});
