import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createToken } from '../../../src/service/credentials/token-format.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let service: TestService;
let ada: Tenant;
let eve: Tenant;
/** Ada's credentials. */
let cookie: string;
let cliToken: string;
let production: string;

const sameOrigin = { 'sec-fetch-site': 'same-origin' };
const nobodys = 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz';

async function signIn(name: string): Promise<string> {
  const { status, headers } = await service.call('POST', '/auth/session', {
    body: { idToken: await service.idToken(name, { auth_time: Math.floor(Date.now() / 1000) }) },
  });
  expect(status).toBe(200);
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

async function cliTokenOf(name: string): Promise<string> {
  const { body } = await service.call('POST', '/auth/tokens', {
    body: { idToken: await service.idToken(name, { auth_time: Math.floor(Date.now() / 1000) }) },
  });
  return body.token;
}

beforeAll(async () => {
  service = await startService();
  [ada, eve] = [await service.signUp('ada'), await service.signUp('eve')];
  [cookie, cliToken] = [await signIn('ada'), await cliTokenOf('ada')];
  const { body } = await service.call('GET', '/auth/identity', { key: ada.keys.production });
  production = body.projectId;
});
afterAll(() => service.end());

/** The ways in which Ada may say who she is. */
const ways = async (): Promise<Record<string, CallOptions>> => ({
  'a session cookie': { headers: { cookie, ...sameOrigin } },
  'a token of the command line': { key: cliToken },
  'an ID token': { key: await service.idToken('ada') },
});

const withHeaders = (options: CallOptions, headers: Record<string, string>): CallOptions => ({
  ...options,
  headers: { ...options.headers, ...headers },
});

/** The answer without what names the request. */
const comparable = ({ status, text, headers }: Answer): unknown[] => [
  status,
  text.replaceAll(String(headers['x-request-id']), 'ID'),
];

describe('a person', () => {
  it('a person names the project of a call, and acts on it with every scope', async () => {
    for (const [name, way] of Object.entries(await ways())) {
      const named = withHeaders(way, { 'gov-project': production });
      const created = await service.call('POST', '/events', { ...named, body: event({ runId: 'by-ada' }) });
      expect(created.status, name).toBe(201);
      expect((await service.call('GET', '/jobs', named)).status, name).toBe(200);
    }
    expect((await ada.call('GET', '/events/count?runId=by-ada')).body.count).toBe(3);
  });

  it('a person must name the project in a header that the error names', async () => {
    for (const way of Object.values(await ways())) {
      const { status, body } = await service.call('GET', '/runs', way);
      expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
      expect(body.errors).toEqual([
        expect.objectContaining({ in: 'header', pointer: '/Gov-Project', code: 'MISSING_FIELD' }),
      ]);
    }
  });

  it('a person gets the same 404 for a project of others, a missing project and a malformed id', async () => {
    const theirs = (await eve.call('GET', '/auth/identity')).body.projectId as string;
    for (const way of Object.values(await ways())) {
      const asked = async (projectId: string, path = '/runs') =>
        comparable(await service.call('GET', path, withHeaders(way, { 'gov-project': projectId })));
      const none = await asked(nobodys);
      expect(none[0]).toBe(404);
      for (const projectId of [
        theirs,
        'x',
        'prj_',
        production.toUpperCase(),
        `${production},${production}`,
      ]) {
        expect(await asked(projectId), projectId).toEqual(none);
        expect(await asked(projectId, '/projects'), projectId).toEqual(none);
      }
    }
  });

  it('a person reaches a project only under the base path of its environment', async () => {
    for (const way of Object.values(await ways())) {
      const { status, body } = await service.call(
        'GET',
        '/runs',
        withHeaders(way, { 'gov-project': ada.projectId }),
      );
      expect([status, body.code]).toEqual([401, 'ENVIRONMENT_MISMATCH']);
      const sandbox = await service.call(
        'GET',
        `${service.origin}/sandbox/api/v1/runs`,
        withHeaders(way, { 'gov-project': ada.projectId }),
      );
      expect(sandbox.status).toBe(200);
    }
  });

  it('a person acts on the organization without naming a project, in its home of the environment', async () => {
    for (const way of Object.values(await ways())) {
      expect((await service.call('GET', '/projects', way)).body.data).toHaveLength(2);
      const { body } = await service.call('GET', '/auth/identity', way);
      expect(body).toMatchObject({
        type: 'person',
        organizationId: ada.orgId,
        projectId: production,
        scopes: ['*'],
      });
      const sandbox = await service.call('GET', `${service.origin}/sandbox/api/v1/auth/identity`, way);
      expect(sandbox.body.projectId).toBe(ada.projectId);
    }
  });

  it('a person who has not signed up gets an error that says so', async () => {
    const { status, body } = await service.call('GET', '/projects', {
      key: await service.idToken('mallory'),
    });
    expect([status, body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
    expect(body.detail).toContain('/auth/signup');
  });

  it('a person is rejected with one text for tokens and cookies and one for ID tokens, whatever is wrong', async () => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const unknown = { cookie: `__Host-gov_session=${randomBytes(32).toString('base64url')}`, ...sameOrigin };
    const asked = async (options: CallOptions): Promise<string> => {
      const { status, body, headers } = await service.call('GET', '/projects', options);
      expect([status, body.code], options.key?.slice(0, 20)).toEqual([401, 'INVALID_CREDENTIAL']);
      expect(headers['www-authenticate']).toBe('Bearer realm="gov", error="invalid_token"');
      return body.detail;
    };
    const own = [
      { key: createToken('cli', randomBytes) },
      { key: `${cliToken.slice(0, -1)}${cliToken.endsWith('a') ? 'b' : 'a'}` },
      { key: createToken('enr', randomBytes) },
      { key: createToken('shr', randomBytes) },
      { key: 'a..c' },
      { headers: unknown },
    ];
    const issued = [
      { key: await service.idToken('ada', { exp: nowSeconds - 3600, iat: nowSeconds - 7200 }) },
      { key: await service.idToken('ada', { aud: 'others' }) },
      { key: 'a.b.c' },
      { key: `a.${'b'.repeat(15_000)}.c` },
    ];
    for (const kind of [own, issued]) {
      expect(new Set(await Promise.all(kind.map(asked))).size).toBe(1);
    }
  });

  it('a person cannot use a cookie as a token, or a token as a cookie', async () => {
    for (const way of Object.values(await ways())) await service.call('GET', '/projects', way);
    const secret = cookie.slice('__Host-gov_session='.length);
    expect((await service.call('GET', '/projects', { key: secret })).status).toBe(401);
    const headers = { cookie: `__Host-gov_session=${cliToken}`, ...sameOrigin };
    expect((await service.call('GET', '/projects', { headers })).status).toBe(401);
  });

  it('a person with a credential in a header is the one that the header names, whatever the cookie', async () => {
    const headers = { cookie, ...sameOrigin };
    const { body } = await service.call('GET', '/auth/identity', { key: eve.keys.production, headers });
    expect([body.type, body.organizationId]).toEqual(['api_key', eve.orgId]);
    const foreign = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    expect((await eve.call('GET', '/jobs', { headers: foreign })).status).toBe(200);
  });

  it('a person who signs up needs an ID token, and a key does not count as one', async () => {
    const body = { name: 'A', organizationName: 'B' };
    const none = await service.call('POST', '/auth/signup', { body });
    expect([none.status, none.body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(none.headers['www-authenticate']).toBe('Bearer realm="gov"');
    const elsewhere = { 'x-api-key': await service.idToken('mallory') };
    const unread = await service.call('POST', '/auth/signup', { headers: elsewhere, body });
    expect(unread.body.code).toBe('UNAUTHENTICATED');
    for (const key of [ada.keys.production, cliToken]) {
      const { status, body: problem } = await service.call('POST', '/auth/signup', { key, body });
      expect([status, problem.code]).toEqual([401, 'INVALID_CREDENTIAL']);
    }
  });
});

describe('a key', () => {
  it('a key may repeat its project in Gov-Project, and name no other', async () => {
    const named = (projectId: string) => ada.call('GET', '/runs', { headers: { 'gov-project': projectId } });
    expect((await named(production)).status).toBe(200);
    for (const other of [ada.projectId, nobodys, 'x']) {
      const { status, body } = await named(other);
      expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    }
  });

  it('a key shows when it was used, to the minute', async () => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'used' } });
    expect(body.record.lastUsedAt).toBeNull();
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    await ada.call('GET', '/jobs', { key: body.key });
    const { store, credentials } = service.services;
    await store.used(credentials.uses.take());
    const { data } = (await ada.call('GET', '/api-keys')).body;
    const { lastUsedAt } = data.find(({ keyId }: { keyId: string }) => keyId === body.record.keyId);
    expect(lastUsedAt).toMatch(/:00\.000Z$/);
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(minute);
  });

  it('a key of one environment does not open the other', async () => {
    const { status, body } = await ada.call('GET', '/runs', { key: ada.keys.sandbox });
    expect([status, body.code]).toEqual([401, 'ENVIRONMENT_MISMATCH']);
  });
});

describe('a live stream', () => {
  const opens = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve) => {
      const address = `${service.baseUrl.replace('http', 'ws')}/events/stream`;
      const socket = new WebSocket(address, { headers });
      socket.on('open', () => {
        socket.terminate();
        resolve(101);
      });
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
      socket.on('error', () => {});
    });

  it('a live stream is open to people too, and with their cookie only to pages of the service', async () => {
    const project = { 'gov-project': production };
    expect(await opens({ authorization: `Bearer ${cliToken}`, ...project })).toBe(101);
    expect(await opens({ cookie, origin: service.origin, ...project })).toBe(101);
    expect(await opens({ cookie, origin: 'https://evil.example', ...project })).toBe(403);
    expect(await opens({ cookie, origin: service.origin })).toBe(400);
    expect(await opens({ cookie, origin: service.origin, 'gov-project': nobodys })).toBe(404);
  });
});

describe('a session', () => {
  it('a session has a cookie with exactly the attributes of the contract', async () => {
    const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
    const { headers } = await service.call('POST', '/auth/session', { body: { idToken } });
    const [set = '', ...more] = headers['set-cookie'] ?? [];
    expect(more).toEqual([]);
    const [pair = '', ...attributes] = set.split('; ');
    expect(pair).toMatch(/^__Host-gov_session=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
  });

  it('a session ends on the server when its person signs out or signs in again', async () => {
    const old = await signIn('ada');
    const calls = (value: string) =>
      service.call('GET', '/projects', { headers: { cookie: value, ...sameOrigin } });
    expect((await calls(old)).status).toBe(200);
    const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
    const again = await service.call('POST', '/auth/session', {
      body: { idToken },
      headers: { cookie: old, ...sameOrigin },
    });
    const fresh = String(again.headers['set-cookie']).split(';')[0] ?? '';
    expect(fresh).not.toBe(old);
    expect([(await calls(old)).status, (await calls(fresh)).status]).toEqual([401, 200]);
    const out = await service.call('DELETE', '/auth/session', { headers: { cookie: fresh, ...sameOrigin } });
    expect([out.status, out.body]).toEqual([200, { success: true }]);
    expect(String(out.headers['set-cookie'])).toMatch(/^__Host-gov_session=; .*Max-Age=0/);
    expect((await calls(fresh)).status).toBe(401);
    expect((await calls(cookie)).status).toBe(200);
  });

  it('a session of the command line ends at once when it is revoked', async () => {
    const token = await cliTokenOf('ada');
    expect((await service.call('GET', '/projects', { key: token })).status).toBe(200);
    expect((await service.call('DELETE', '/auth/tokens', { key: token })).status).toBe(200);
    expect((await service.call('GET', '/projects', { key: token })).status).toBe(401);
  });
});
