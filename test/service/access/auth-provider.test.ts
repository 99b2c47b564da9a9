/**
 * Accounts with a real OpenID provider (`oidc-provider`) on loopback: a person signs in by the authorization code flow
 * with PKCE or with a device, signs up, and has a session and a token. The rules themselves: `auth.test.ts`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../support/hosted.ts';
import { otherClientId, startProvider, type TestProvider } from '../../support/oidc.ts';

const sameOrigin = { 'sec-fetch-site': 'same-origin' };

/** RFC 8628, as a command line does it; the person approves at the address that the device shows. */
async function deviceIdToken({ issuer, clientId, scopes, approve }: TestProvider, person: string) {
  const json = async (answered: Response) => (await answered.json()) as Record<string, string>;
  const discovered = await json(await fetch(`${issuer}/.well-known/openid-configuration`));
  const post = (url: string | undefined, form: Record<string, string>) =>
    fetch(String(url), { method: 'POST', body: new URLSearchParams(form) }).then(json);
  const device = await post(discovered['device_authorization_endpoint'], {
    client_id: clientId,
    scope: scopes.join(' '),
    max_age: '300',
  });
  await approve(String(device['verification_uri_complete']), person);
  const { id_token: idToken } = await post(discovered['token_endpoint'], {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: String(device['device_code']),
    client_id: clientId,
  });
  if (idToken === undefined) throw new Error('no ID token was issued');
  return idToken;
}

describe.each(['RS256', 'ES256', 'EdDSA'] as const)('a provider that signs with %s', (alg) => {
  let provider: TestProvider;
  let service: TestService;
  beforeAll(async () => {
    provider = await startProvider({ alg });
    const { issuer: url, clientId } = provider;
    service = await startService({ file: { issuer: { url, clientId } } });
  });
  afterAll(async () => {
    await service.end();
    await provider.close();
  });

  const signUp = (idToken: string) =>
    service.call('POST', '/auth/signup', {
      key: idToken,
      body: { name: 'Ada Lovelace', organizationName: 'Analytical Engines' },
    });

  it('a person signs up, in and out in a browser', async () => {
    const { body: told } = await service.call('GET', '/auth/configuration');
    expect(told).toEqual({
      issuer: provider.issuer,
      clientId: provider.clientId,
      scopes: [...provider.scopes],
    });
    const signedUp = await signUp(await provider.idToken('ada', { nonce: 'n-1' }));
    expect(signedUp.status).toBe(201);
    expect((await signUp(await provider.idToken('ada'))).status).toBe(409);

    const idToken = await provider.idToken('ada');
    const opened = await service.call('POST', '/auth/session', { body: { idToken } });
    expect(opened.status).toBe(200);
    const [cookie = ''] = String(opened.headers['set-cookie']).split(';');
    const headers = { cookie, ...sameOrigin };
    const who = await service.call('GET', '/auth/identity', { headers });
    expect(who.body).toMatchObject({
      type: 'person',
      name: 'Ada Lovelace',
      organizationId: signedUp.body.orgId,
      organizationName: 'Analytical Engines',
    });
    const projects = await service.call('GET', '/projects', { headers });
    expect(projects.body.data).toHaveLength(2);
    expect((await service.call('DELETE', '/auth/session', { headers })).body).toEqual({ success: true });
    expect((await service.call('GET', '/auth/identity', { headers })).status).toBe(401);
  });

  it('a person signs up and in with a device', async () => {
    const signedUp = await signUp(await deviceIdToken(provider, 'grace'));
    expect(signedUp.status).toBe(201);
    const idToken = await deviceIdToken(provider, 'grace');
    const made = await service.call('POST', '/auth/tokens', { body: { idToken } });
    expect(made.status).toBe(201);
    const key: string = made.body.token;
    const events = await service.call('GET', '/events?runId=gov.system', {
      key,
      headers: { 'gov-project': (await service.call('GET', '/auth/identity', { key })).body.projectId },
    });
    expect(events.body.events.map(({ eventType }: { eventType: string }) => eventType)).toEqual([
      'organization.created',
      'project.created',
      'api_key.created',
      'session.opened',
    ]);
    expect((await service.call('DELETE', '/auth/tokens', { key })).status).toBe(200);
    expect((await service.call('GET', '/auth/identity', { key })).status).toBe(401);
  });

  it('an ID token is accepted as a credential for an hour', async () => {
    await signUp(await provider.idToken('mary'));
    const key = await provider.idToken('mary');
    const { status, body } = await service.call('GET', '/auth/identity', { key });
    expect([status, body.type]).toEqual([200, 'person']);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThanOrEqual(3_600_000);
  });

  it('an ID token for another application is rejected', async () => {
    const answer = await signUp(await provider.idToken('eve', { clientId: otherClientId }));
    expect([answer.status, answer.body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
  });
});

it('a person whose address is not verified signs up without an address', async () => {
  const provider = await startProvider({ unverified: ['mallory'] });
  const { issuer: url, clientId } = provider;
  const service = await startService({ file: { issuer: { url, clientId } } });
  for (const [subject, email] of [
    ['mallory', null],
    ['alice', 'alice@example.test'],
  ] as const) {
    const body = { name: subject, organizationName: subject };
    await service.call('POST', '/auth/signup', { key: await provider.idToken(subject), body });
    expect((await service.services.store.user(url, subject))?.email).toBe(email);
  }
  await service.end();
  await provider.close();
});
