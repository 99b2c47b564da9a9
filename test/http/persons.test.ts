import { Agent, request as httpRequest } from 'node:http';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../src/service/keys.ts';
import { startService, type Tenant, type TestService } from '../hosted.ts';
import { event, type Answer, type CallOptions } from '../serving.ts';

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
  it('names the project of a call, and acts on it with every scope', async () => {
    for (const [name, way] of Object.entries(await ways())) {
      const named = withHeaders(way, { 'gov-project': production });
      const created = await service.call('POST', '/events', { ...named, body: event({ runId: 'by-ada' }) });
      expect(created.status, name).toBe(201);
      expect((await service.call('GET', '/jobs', named)).status, name).toBe(200);
    }
    expect((await ada.call('GET', '/events/count?runId=by-ada')).body.count).toBe(3);
  });

  it('has to name it, by a header that an answer tells of', async () => {
    for (const way of Object.values(await ways())) {
      const { status, body } = await service.call('GET', '/runs', way);
      expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
      expect(body.errors).toEqual([
        expect.objectContaining({ in: 'header', pointer: '/Gov-Project', code: 'MISSING_FIELD' }),
      ]);
    }
  });

  it('gets the same 404 for a project of others, for none, and for what is no id', async () => {
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

  it('reaches a project under the base path of its environment alone', async () => {
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

  it('acts on the organization without naming a project, in its home of the environment', async () => {
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

  it('who has not signed up is told to', async () => {
    const { status, body } = await service.call('GET', '/projects', {
      key: await service.idToken('mallory'),
    });
    expect([status, body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
    expect(body.detail).toContain('/auth/signup');
  });

  it('is refused with one text for tokens and cookies and one for ID tokens, whatever is wrong', async () => {
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
      { key: createToken('hyb', randomBytes) },
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

  it('does not get in with a cookie as a token, or a token as a cookie', async () => {
    for (const way of Object.values(await ways())) await service.call('GET', '/projects', way);
    const secret = cookie.slice('__Host-gov_session='.length);
    expect((await service.call('GET', '/projects', { key: secret })).status).toBe(401);
    const headers = { cookie: `__Host-gov_session=${cliToken}`, ...sameOrigin };
    expect((await service.call('GET', '/projects', { headers })).status).toBe(401);
  });

  it('with a credential in a header is who the header says, whatever the cookie', async () => {
    const headers = { cookie, ...sameOrigin };
    const { body } = await service.call('GET', '/auth/identity', { key: eve.keys.production, headers });
    expect([body.type, body.organizationId]).toEqual(['api_key', eve.orgId]);
  });
});

describe('a key', () => {
  it('may repeat its project in Gov-Project, and name no other', async () => {
    const named = (projectId: string) => ada.call('GET', '/runs', { headers: { 'gov-project': projectId } });
    expect((await named(production)).status).toBe(200);
    for (const other of [ada.projectId, nobodys, 'x']) {
      const { status, body } = await named(other);
      expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    }
  });

  it('of one environment does not open the other', async () => {
    const { status, body } = await ada.call('GET', '/runs', { key: ada.keys.sandbox });
    expect([status, body.code]).toEqual([401, 'ENVIRONMENT_MISMATCH']);
  });
});

describe('a session', () => {
  it('has a cookie with exactly the attributes of the contract', async () => {
    const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
    const { headers } = await service.call('POST', '/auth/session', { body: { idToken } });
    const [set = '', ...more] = headers['set-cookie'] ?? [];
    expect(more).toEqual([]);
    const [pair = '', ...attributes] = set.split('; ');
    expect(pair).toMatch(/^__Host-gov_session=[\w-]{43}$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
  });

  it('ends on the server when its person signs out, and when they sign in anew', async () => {
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

  it('of the command line ends at once when it is revoked', async () => {
    const token = await cliTokenOf('ada');
    expect((await service.call('GET', '/projects', { key: token })).status).toBe(200);
    expect((await service.call('DELETE', '/auth/tokens', { key: token })).status).toBe(200);
    expect((await service.call('GET', '/projects', { key: token })).status).toBe(401);
  });
});

/** Calls over one socket that stays open. */
function connected(): { get(path: string, key: string): Promise<number>; sockets(): number; end(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  return {
    get: (path, key) =>
      new Promise((resolve, reject) => {
        const request = httpRequest(
          `${service.baseUrl}${path}`,
          { agent, headers: { authorization: `Bearer ${key}` } },
          (response) => {
            ports.add(request.socket?.localPort);
            response.resume();
            response.on('end', () => resolve(response.statusCode ?? 0));
          },
        );
        request.on('error', reject);
        request.end();
      }),
    sockets: () => ports.size,
    end: () => agent.destroy(),
  };
}

describe('a key that was revoked', () => {
  it('is refused at once on a socket that it was accepted on', async () => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'to be revoked' } });
    const socket = connected();
    expect(await socket.get('/runs', body.key)).toBe(200);
    const revoked = await ada.call('DELETE', `/api-keys/${body.record.keyId}`);
    expect([revoked.status, revoked.text]).toEqual([204, '']);
    expect(revoked.headers['content-length']).toBeUndefined();
    expect(revoked.headers['content-type']).toBeUndefined();
    expect(revoked.headers['cache-control']).toBe('no-store');
    expect(await socket.get('/runs', body.key)).toBe(401);
    expect(socket.sockets()).toBe(1);
    socket.end();
  });

  it('is as good as its rotation says', async () => {
    const { body: first } = await ada.call('POST', '/api-keys', { body: { name: 'to be rotated' } });
    const socket = connected();
    expect(await socket.get('/runs', first.key)).toBe(200);
    const { body: second } = await ada.call('POST', `/api-keys/${first.record.keyId}/rotate`);
    expect([await socket.get('/runs', first.key), await socket.get('/runs', second.key)]).toEqual([401, 200]);
    const { body: third } = await ada.call(
      'POST',
      `/api-keys/${second.record.keyId}/rotate?overlapSeconds=1`,
    );
    expect([await socket.get('/runs', second.key), await socket.get('/runs', third.key)]).toEqual([200, 200]);
    await expect.poll(() => socket.get('/runs', second.key), { timeout: 4000 }).toBe(401);
    expect(socket.sockets()).toBe(1);
    socket.end();
  });

  it('loses a scope at once', async () => {
    const { body } = await ada.call('POST', '/api-keys', {
      body: { name: 'narrowed', scopes: ['events:read', 'jobs:read'] },
    });
    expect((await ada.call('GET', '/jobs', { key: body.key })).status).toBe(200);
    await ada.call('PUT', `/api-keys/${body.record.keyId}`, { body: { scopes: ['events:read'] } });
    expect((await ada.call('GET', '/jobs', { key: body.key })).status).toBe(403);
  });

  it('ends with its project, and what people see of that is 404', async () => {
    const { body: project } = await ada.call('POST', '/projects', {
      body: { name: 'short-lived', environment: 'production' },
    });
    const headers = { 'gov-project': project.id };
    const { body } = await service.call('POST', '/api-keys', {
      key: cliToken,
      headers,
      body: { name: 'its key' },
    });
    expect((await ada.call('GET', '/runs', { key: body.key })).status).toBe(200);
    const deleted = await ada.call('DELETE', `/projects/${project.id}`);
    expect(deleted.body).toEqual({ deleted: true });
    const refused = await ada.call('GET', '/runs', { key: body.key });
    expect([refused.status, refused.body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
    const gone = await service.call('GET', '/runs', { key: cliToken, headers });
    const none = await service.call('GET', '/runs', { key: cliToken, headers: { 'gov-project': nobodys } });
    expect(comparable(gone)).toEqual(comparable(none));
  });
});
