/** The development issuer over real HTTP, as the command line and the service meet it. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { startDevIssuer, type DevIssuer } from '../../../src/host/identity/dev-issuer.ts';
import { createIdentity } from '../../../src/host/identity/id-token.ts';
import { serviceServe } from '../../../src/host/service/serve.ts';
import { serviceInit } from '../../../src/host/service/init.ts';
import type { IdentityProvider } from '../../../src/service/hosting/parts.ts';
import { silentLog, type Log } from '../../../src/service/call/log.ts';

let nowMs = Math.floor(Date.now() / 1000) * 1000;
const now = (): number => nowMs;
const listen = { host: '127.0.0.1', port: 0 };
const serviceListen = { host: '127.0.0.1', port: 7470 };
const start = (log: Log = silentLog, more: object = {}): Promise<DevIssuer> =>
  startDevIssuer({ listen, serviceListen, now, randomBytes, log, ...more });

let running: DevIssuer;
let identity: IdentityProvider;
let url: string;
beforeAll(async () => {
  running = await start();
  ({ url } = running.issuer);
  identity = createIdentity(running.issuer, { now, log: silentLog });
});
afterAll(() => running.close());

interface Answered {
  readonly status: number;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects
  readonly body: any;
}

async function post(
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const answered = await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form), headers });
  const text = await answered.text();
  return { status: answered.status, text, body: text.startsWith('{') ? JSON.parse(text) : null };
}

const grant = 'urn:ietf:params:oauth:grant-type:device_code';
const begin = async () => (await post('/device', { client_id: 'gov', scope: 'openid email' })).body;
const poll = (deviceCode: string) =>
  post('/token', { grant_type: grant, client_id: 'gov', device_code: deviceCode });
const signIn = (userCode: string, email = 'Ada@example.com ') =>
  post('/sign-in', { user_code: userCode, email });

describe('the development issuer', () => {
  it('the development issuer signs in any name, with a device and a page', async () => {
    const device = await begin();
    expect(device).toMatchObject({ verification_uri: `${url}/sign-in`, expires_in: 600, interval: 1 });
    expect(device.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    const page = await (await fetch(device.verification_uri_complete)).text();
    expect(page).toContain(`value="${device.user_code}"`);
    expect(page).toContain('Anybody on this machine can sign in as anybody');
    expect((await poll(device.device_code)).body).toEqual({ error: 'authorization_pending' });
    expect((await signIn(device.user_code.toLowerCase())).status).toBe(200);
    const { status, body } = await poll(device.device_code);
    expect([status, body.token_type]).toEqual([200, 'Bearer']);
    expect(await identity.verify(body.id_token, { freshSignIn: true })).toEqual({
      issuer: url,
      subject: 'ada@example.com',
      email: 'ada@example.com',
      expiresMs: nowMs + limits.idTokenAgeSeconds * 1000,
    });
    // a code is used once
    expect((await poll(device.device_code)).body).toEqual({ error: 'invalid_grant' });
  });

  it('the development issuer works with an independent OpenID Connect client', async () => {
    const server = new URL(url);
    const client = { client_id: running.issuer.clientId };
    const plain = { [oauth.allowInsecureRequests]: true };
    const found = await oauth.processDiscoveryResponse(server, await oauth.discoveryRequest(server, plain));
    const asked = await oauth.deviceAuthorizationRequest(
      found,
      client,
      oauth.None(),
      { scope: 'openid' },
      plain,
    );
    const device = await oauth.processDeviceAuthorizationResponse(found, client, asked);
    const grantOf = () =>
      oauth.deviceCodeGrantRequest(found, client, oauth.None(), device.device_code, plain);
    await expect(oauth.processDeviceCodeResponse(found, client, await grantOf())).rejects.toMatchObject({
      error: 'authorization_pending',
    });
    await signIn(device.user_code, 'grace@example.com');
    const answered = await grantOf();
    const claims = oauth.getValidatedIdTokenClaims(
      await oauth.processDeviceCodeResponse(found, client, answered),
    );
    expect(claims).toMatchObject({ iss: url, aud: 'gov', sub: 'grace@example.com', email_verified: true });
    await oauth.validateApplicationLevelSignature(found, answered, plain);
  });

  it('the development issuer states when a person signed in', async () => {
    const device = await begin();
    await signIn(device.user_code);
    nowMs += (limits.signInAgeSeconds + 1) * 1000;
    const { body } = await poll(device.device_code);
    await expect(identity.verify(body.id_token, { freshSignIn: true })).rejects.toMatchObject({
      code: 'INVALID_CREDENTIAL',
    });
    await identity.verify(body.id_token, { freshSignIn: false });
  });

  it('the development issuer knows people again after a restart, but accepts no earlier token', async () => {
    const device = await begin();
    await signIn(device.user_code);
    const { body } = await poll(device.device_code);
    const { port } = new URL(url);
    await running.close();
    running = await start(silentLog, { listen: { host: '127.0.0.1', port: Number(port) } });
    expect(running.issuer.url).toBe(url);
    const fresh = createIdentity(running.issuer, { now, log: silentLog });
    await expect(fresh.verify(body.id_token, { freshSignIn: false })).rejects.toMatchObject({
      code: 'INVALID_CREDENTIAL',
    });
  });

  it('the development issuer keeps a device code for ten minutes', async () => {
    const device = await begin();
    nowMs += 600_000;
    expect((await signIn(device.user_code)).status).toBe(400);
    expect((await poll(device.device_code)).body).toEqual({ error: 'expired_token' });
  });

  it('the development issuer keeps at most a thousand waiting devices', async () => {
    const first = await begin();
    for (let at = 0; at < 999; at += 1) await begin();
    expect((await poll(first.device_code)).body.error).toBe('authorization_pending');
    await begin();
    expect((await poll(first.device_code)).body.error).toBe('invalid_grant');
  });

  it('the development issuer takes only an email address as a name', async () => {
    const { user_code: userCode } = await begin();
    for (const email of ['', 'ada', 'a b@example.com', `${'a'.repeat(limits.subjectChars)}@x`]) {
      const { status, text } = await signIn(userCode, email);
      expect([status, text.includes('role="alert"')]).toEqual([400, true]);
    }
    expect((await signIn('AAAA-AAAA')).status).toBe(400);
    const { text } = await signIn(`"><script>`, 'no address');
    expect(text.toLowerCase()).not.toContain('<script>');
  });

  it.each([
    ['a foreign client', '/device', { client_id: 'other' }, 'invalid_client'],
    ['a foreign client for a token', '/token', { grant_type: grant, client_id: 'other' }, 'invalid_client'],
    ['another grant', '/token', { grant_type: 'password', client_id: 'gov' }, 'unsupported_grant_type'],
    ['an unknown code', '/token', { grant_type: grant, client_id: 'gov', device_code: 'x' }, 'invalid_grant'],
    ['a form that is too large', '/device', { client_id: 'gov', scope: 'a'.repeat(4096) }, 'invalid_request'],
    ['another place', '/', {}, 'not_found'],
  ])('the development issuer refuses %s', async (_, path, form, error) => {
    expect((await post(path, form as never)).body).toEqual({ error });
  });

  it('the development issuer refuses a form from a page of another site', async () => {
    const device = await begin();
    for (const origin of ['https://evil.example', 'null']) {
      const form = { user_code: device.user_code, email: 'eve@example.com' };
      expect((await post('/sign-in', form, { origin })).status).toBe(403);
    }
    expect((await poll(device.device_code)).body.error).toBe('authorization_pending');
    const statusOf = (host: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const asked = httpRequest(`${url}/jwks`, { headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asked.on('error', reject).end();
      });
    expect(await statusOf('rebound.example')).toBe(403);
    expect(await statusOf(new URL(url).host)).toBe(200);
  });

  it('the development issuer warns that anybody on the machine can sign in', async () => {
    const lines: string[] = [];
    const { close } = await start({ ...silentLog, warn: (_, message) => void lines.push(message) });
    await close();
    expect(lines).toEqual([
      expect.stringMatching(/^DEVELOPMENT ISSUER: anybody on this machine can sign in/),
    ]);
  });

  it.each([
    ['a service on every address', { serviceListen: { host: '0.0.0.0', port: 7470 } }],
    ['a service on the network', { serviceListen: { host: '192.0.2.1', port: 7470 } }],
    ['a service on every address of IPv6', { serviceListen: { host: '::', port: 7470 } }],
    ['itself on every address', { listen: { host: '0.0.0.0', port: 0 } }],
  ])('the development issuer does not start together with %s', async (_, more) => {
    await expect(start(silentLog, more)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  it('the development issuer does not start when its port is taken', async () => {
    const taken = { host: '127.0.0.1', port: Number(new URL(url).port) };
    await expect(start(silentLog, { listen: taken })).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});

describe('a service with the development issuer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-devissuer-'));
  const dataDir = join(folder, 'service');
  const serve = (more: object = {}) =>
    serviceServe({ dataDir, env: {}, log: silentLog, devIssuer: '127.0.0.1:0', ...more });
  beforeAll(() => serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} }));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('a person signs up at a service with only what the service says about its development issuer', async () => {
    const service = await serve();
    const json = async (asked: Promise<Response>) => (await (await asked).json()) as Record<string, string>;
    const form = (members: Record<string, string>) => ({
      method: 'POST',
      body: new URLSearchParams(members),
    });
    const { issuer, clientId = '' } = await json(fetch(`${service.baseUrl}/auth/configuration`));
    const places = await json(fetch(`${issuer}/.well-known/openid-configuration`));
    const device = await json(
      fetch(String(places['device_authorization_endpoint']), form({ client_id: clientId })),
    );
    await fetch(
      String(device['verification_uri']),
      form({ user_code: String(device['user_code']), email: 'ada@example.com' }),
    );
    const { id_token: idToken } = await json(
      fetch(
        String(places['token_endpoint']),
        form({ grant_type: grant, client_id: clientId, device_code: String(device['device_code']) }),
      ),
    );
    const signedUp = await fetch(`${service.baseUrl}/auth/signup`, {
      method: 'POST',
      headers: { authorization: `Bearer ${idToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Ada', organizationName: 'Ada' }),
    });
    expect(signedUp.status).toBe(201);
    await service.close();
    await expect(fetch(String(issuer))).rejects.toThrow('fetch failed');
  });

  it('a development issuer is refused on a network address and together with another identity provider', async () => {
    await expect(serve({ listen: '0.0.0.0:0' })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('expected the service on loopback'),
    });
    const path = join(dataDir, 'service.json');
    const file: object = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...file, issuer: { url: 'https://id.example', clientId: 'gov' } }));
    await expect(serve()).rejects.toMatchObject({ code: 'CONFLICT' });
    // nothing was left open
    const service = await serve({ devIssuer: false });
    await service.close();
  });
});
