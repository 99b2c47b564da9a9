/** Signing in from a browser, over real sockets, whatever a hostile client sends: contract B14, B15, B19. */
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { clientId, newKey } from '../../host/identity/issuer.ts';
import { eventsOf, sessionOf, withCookie } from '../support/accounts.ts';
import {
  begin,
  codeOf,
  finish,
  idTokenOf,
  pageOf,
  tokensOf,
  type TokenAnswer,
} from '../support/signing-in.ts';

afterEach(() => void vi.useRealTimers());
const later = (ms: number): void => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });

describe.each(engines)('a sign-in on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
    await service.signUp('ada');
  });
  afterAll(() => service.end());
  const idTokenIs = (idToken: string): void => idTokenOf(service, idToken);
  const good = () => ({ code: 'c', iss: service.issuer.url });

  it('a finished sign-in opens a session, records it, and ends the session that the browser had', async () => {
    const tenant = await service.signUp('grace');
    const idToken = await service.idToken('grace');
    const before = sessionOf(await service.call('POST', '/auth/session', { body: { idToken } }));
    const begun = await begin(service);
    idTokenIs(await service.idToken('grace', { nonce: begun.nonce }));
    const finished = await finish(service, begun, good(), [`__Host-gov_session=${before}`]);
    expect([finished.status, finished.body]).toEqual([200, { success: true }]);
    const session = sessionOf(finished);
    expect(session).not.toBe(before);
    const who = (token: string) => service.call('GET', '/auth/identity', withCookie(token));
    expect((await who(session)).body).toMatchObject({ type: 'person', organizationId: tenant.orgId });
    expect((await who(before)).status).toBe(401);
    const told = (await eventsOf(tenant)).map(({ eventType, metadata }) => [eventType, metadata['reason']]);
    expect(told.slice(-2)).toEqual([
      ['session.opened', undefined],
      ['session.closed', 'replaced'],
    ]);
  });

  it('a sign-in opens one session: a second use of cookie, state and code is refused', async () => {
    const begun = await begin(service);
    idTokenIs(await service.idToken('ada', { nonce: begun.nonce }));
    const both = await Promise.all([finish(service, begun, good()), finish(service, begun, good())]);
    expect(both.map(codeOf).sort()).toEqual([
      [200, undefined],
      [401, 'INVALID_CREDENTIAL'],
    ]);
    expect((await finish(service, begun, good())).body.detail).toContain('did not finish; sign in again');
  });

  it('an answer that comes twice does not end the session that it opened', async () => {
    const begun = await begin(service);
    idTokenIs(await service.idToken('ada', { nonce: begun.nonce }));
    const session = sessionOf(await finish(service, begun, good()));
    const again = await finish(service, begun, good(), [`__Host-gov_session=${session}`]);
    expect(again.status).toBe(401);
    expect((await service.call('GET', '/auth/identity', withCookie(session))).status).toBe(200);
  });

  it.runIf(engine === 'postgres')('a sign-in may end at another process of the service, once', async () => {
    const other = await service.again();
    const begun = await begin(service);
    idTokenIs(await service.idToken('ada', { nonce: begun.nonce }));
    const session = sessionOf(await finish(other, begun, good()));
    expect((await service.call('GET', '/auth/identity', withCookie(session))).status).toBe(200);
    expect((await finish(service, begun, good())).status).toBe(401);
    await other.call('POST', '/auth/sign-out', {
      headers: pageOf(other, [`__Host-gov_session=${session}`]),
    });
    later(limits.credentialCacheSeconds * 1000);
    expect((await service.call('GET', '/auth/identity', withCookie(session))).status).toBe(401);
  });
});

describe('signing in from a browser', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ file: { corsOrigins: ['https://app.example.com'] } });
    await service.signUp('ada');
  });
  afterAll(() => service.end());
  afterEach(() => {
    service.issuer.answers.clear();
    service.issuer.discovery = {};
  });

  const tokens = (...answer: TokenAnswer): void => tokensOf(service, ...answer);
  const idTokenIs = (idToken: string): void => idTokenOf(service, idToken);
  const good = () => ({ code: 'c', iss: service.issuer.url });

  it('a sign-in sends the browser to the provider with PKCE, state and nonce, and leaves a sealed cookie', async () => {
    const answer = await service.call('POST', '/auth/sign-in', { headers: pageOf(service) });
    const url = new URL(answer.body.authorizationUrl);
    expect(url.origin + url.pathname).toBe(`${service.issuer.url}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: clientId,
      response_type: 'code',
      scope: 'openid email',
      redirect_uri: `http://localhost:${service.port}/console/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      max_age: '300',
    });
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-gov_sign_in=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=600$/,
      ),
    ]);
    for (const secret of ['state', 'nonce']) {
      expect(answer.headers['set-cookie']?.[0]).not.toContain(url.searchParams.get(secret));
    }
  });

  it.each([
    ['another state', { state: 'x'.repeat(43) }, {}],
    ['the state of nobody', { state: '-' }, {}],
    ['no cookie', {}, { cookie: 'a=b' }],
    ['an invented cookie', {}, { cookie: `__Host-gov_sign_in=${'A'.repeat(300)}` }],
  ])('an answer with %s is refused, and the provider is not asked', async (_, state, cookie) => {
    const begun = await begin(service);
    const asked = service.issuer.asked.length;
    const answer = await finish(service, { ...begun, ...state, ...cookie }, good());
    expect(codeOf(answer)).toEqual([401, 'INVALID_CREDENTIAL']);
    expect(service.issuer.asked.length).toBe(asked);
  });

  it.each(['{"state":"s","untilMs":9e15}', 'null', 'whsec_c2VjcmV0', 'gov.sign-in/2 {}'])(
    'the sealed text %s of another purpose is no cookie of a sign-in',
    async (text) => {
      const cookie = `__Host-gov_sign_in=${service.services.seal.seal(text)}`;
      expect((await finish(service, { state: 's', cookie }, good())).status).toBe(401);
    },
  );

  it('a person who takes longer than ten minutes signs in again', async () => {
    const begun = await begin(service);
    later(limits.signInSeconds * 1000);
    expect((await finish(service, begun, good())).body.detail).toContain('at most 10 minutes ago');
  });

  it.each<[string, (nonce: string) => Promise<string>]>([
    ['another nonce', () => service.idToken('ada', { nonce: 'n' })],
    ['no nonce', () => service.idToken('ada')],
    ['another audience', (nonce) => service.idToken('ada', { nonce, aud: 'somebody-else' })],
    ['another issuer', (nonce) => service.idToken('ada', { nonce, iss: 'https://accounts.example' })],
    ['the key of a stranger', async (nonce) => service.issuer.token({ nonce }, { key: await newKey() })],
    ['an old sign-in', (nonce) => service.idToken('ada', { nonce, auth_time: Date.now() / 1000 - 600 })],
    ['an empty text', async () => ''],
    ['a text that is no token', async () => 'a.b.c'],
  ])('an ID token with %s opens no session', async (_, token) => {
    const begun = await begin(service);
    idTokenIs(await token(begun.nonce));
    const answer = await finish(service, begun, good());
    expect(codeOf(answer)).toEqual([401, 'INVALID_CREDENTIAL']);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('an ID token with the nonce of the sign-in is accepted, so the ones above have one fault each', async () => {
    const begun = await begin(service);
    idTokenIs(await service.idToken('ada', { nonce: begun.nonce }));
    expect((await finish(service, begun, good())).status).toBe(200);
  });

  it.each<[string, () => Record<string, string>]>([
    ['the answer of another provider', () => ({ code: 'c', iss: 'https://evil.example' })],
    ['an answer without the issuer that the provider promises', () => ({ code: 'c' })],
    ['an answer with neither code nor error', () => ({ iss: service.issuer.url })],
  ])('%s is refused before the code is sent anywhere', async (_, members) => {
    const begun = await begin(service);
    const asked = service.issuer.asked.length;
    expect(codeOf(await finish(service, begun, members()))[1]).toBe('INVALID_CREDENTIAL');
    expect(service.issuer.asked.length).toBe(asked);
  });

  it.each([
    ['access_denied', 403, 'sign in with another account'],
    ['server_error', 503, 'try again in a minute'],
    ['<script>alert(1)</script>', 403, '(an unknown error)'],
  ])(
    'a provider that answers %s is named with the next step, without its own words',
    async (error, status, words) => {
      const begun = await begin(service);
      const said = { error, error_description: 'call +41 900 000 000', iss: service.issuer.url };
      const answer = await finish(service, begun, said);
      expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(words)]);
      expect(answer.text).not.toContain('900');
      expect(answer.text).not.toContain('script');
    },
  );

  it.each([
    [
      'an expired or used code',
      400,
      { error: 'invalid_grant' },
      401,
      'has expired or was used before; sign in again',
    ],
    ['a wrong client secret', 401, { error: 'invalid_client' }, 403, 'the operator checks issuer.clientId'],
    ['a broken token endpoint', 500, {}, 503, 'does not answer; try again in a minute'],
  ])('%s is a page with the next step', async (_, status, body, expected, words) => {
    const begun = await begin(service);
    tokens(body, status);
    const answer = await finish(service, begun, good());
    expect([answer.status, answer.body.detail]).toEqual([expected, expect.stringContaining(words)]);
  });

  it('a client that the provider challenges is one that the operator set up wrongly', async () => {
    const begun = await begin(service);
    tokens({ error: 'invalid_client' }, 401, { 'www-authenticate': 'Basic realm="x"' });
    expect((await finish(service, begun, good())).body.detail).toContain('(invalid_client)');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['redirects', (response) => response.writeHead(307, { location: service.issuer.url }).end()],
    ['sends too much', (response) => response.writeHead(200).end('x'.repeat(limits.issuerAnswerBytes + 1))],
  ])('a token endpoint that %s counts as one that does not answer', async (_, answer) => {
    const begun = await begin(service);
    service.issuer.answers.set('/token', answer);
    expect((await finish(service, begun, good())).status).toBe(503);
  });

  it('a person without an account reads how to make one, and gets no session', async () => {
    const begun = await begin(service);
    idTokenIs(
      await service.idToken('stranger', { nonce: begun.nonce, email: 's@example.org', email_verified: true }),
    );
    const answer = await finish(service, begun, good());
    expect([answer.status, answer.body.reason]).toEqual([403, 'no-account']);
    expect(answer.body.detail).toMatch(/knows s@example\.org, .* gov auth signup --base-url http/);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('a person whose organization has no project left signs in, and may make one', async () => {
    const tenant = await service.signUp('carol');
    for (const environment of ['production', 'sandbox'] as const) {
      const [project] = (await tenant.call('GET', '/projects', { environment })).body.data;
      await tenant.call('DELETE', `/projects/${project.id}`, { environment });
    }
    const begun = await begin(service);
    idTokenIs(await service.idToken('carol', { nonce: begun.nonce }));
    const cookie = withCookie(sessionOf(await finish(service, begun, good())));
    expect((await service.call('GET', '/projects', cookie)).body).toEqual({ data: [], nextCursor: null });
    const body = { name: 'Next', environment: 'production' };
    expect((await service.call('POST', '/projects', { ...cookie, body })).status).toBe(201);
  });

  it('an answer that is longer than any provider sends is refused as a whole', async () => {
    const begun = await begin(service);
    const answer = await finish(service, begun, {
      ...good(),
      code: 'c'.repeat(limits.signInAnswerChars + 1),
    });
    expect(codeOf(answer)).toEqual([400, 'VALIDATION_ERROR']);
    expect((await finish(service, begun, { ...good(), scope: 'openid' })).body.code).toBe('UNKNOWN_FIELD');
  });

  it.each<[string, Record<string, string>]>([
    ['a program', {}],
    ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    [
      'a page over plain HTTP on the network',
      { origin: 'http://gov.example', 'sec-fetch-site': 'same-origin' },
    ],
  ])('%s neither begins nor finishes a sign-in, and signs nobody out', async (_, headers) => {
    for (const path of ['/auth/sign-in', '/auth/sign-out']) {
      const answer = await service.call('POST', path, { headers });
      expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
    }
    const { cookie, state } = await begin(service);
    const options = { headers: { ...headers, cookie }, body: { state, ...good() } };
    const asked = service.issuer.asked.length;
    expect((await service.call('POST', '/auth/sign-in/finish', options)).status).toBeOneOf([401, 403]);
    expect(service.issuer.asked.length).toBe(asked);
  });

  it('signing out ends the session, clears the cookie, and names the page of the provider', async () => {
    const open = async (): Promise<string> =>
      sessionOf(
        await service.call('POST', '/auth/session', { body: { idToken: await service.idToken('ada') } }),
      );
    const [first, second] = [await open(), await open()];
    const signOut = (session: string) =>
      service.call('POST', '/auth/sign-out', {
        headers: pageOf(service, [`__Host-gov_session=${session}`]),
      });
    expect((await signOut(first)).body).toEqual({ success: true, providerUrl: null });
    expect((await service.call('GET', '/auth/identity', withCookie(first))).status).toBe(401);
    later(limits.issuerKeysSeconds * 1000);
    const { url } = service.issuer;
    service.issuer.discovery = { end_session_endpoint: `${url}/out?x=1` };
    const answer = await signOut(second);
    expect(answer.body.providerUrl).toBe(`${url}/out?x=1&client_id=${clientId}`);
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^__Host-gov_session=; .*Max-Age=0$/);
  });
});
