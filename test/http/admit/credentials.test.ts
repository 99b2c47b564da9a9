import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { planeOperations } from '../../../plane/serve/operations.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Operation, Scope } from '../../../src/contract/operation.ts';
import { table } from '../../../src/contract/table.ts';
import { Credentials } from '../../../src/service/credentials/callers.ts';
import { createToken, keyDigest } from '../../../src/service/credentials/token-format.ts';
import type { CredentialOptions, RequestCredentials } from '../../../src/service/credentials/shown.ts';
import type { ApiKeyRow } from '../../../src/store/port/store.ts';
import type { Project } from '../../../src/store/port/store.ts';
import { send, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;

beforeAll(async () => {
  plane = await startPlane({
    extraKeys: {
      none: { scopes: [] },
      revoked: { scopes: ['*'], revoked: true },
      expired: { scopes: ['*'], expiresMs: Date.now() - 1 },
    },
  });
});
afterAll(() => plane.end());

const get = (headers: Record<string, string | string[]>) =>
  plane.call('GET', '/runs', { key: null, headers });

describe('credentials', () => {
  it('the server takes credentials from Authorization: Bearer and from X-API-Key', async () => {
    expect((await get({ authorization: `Bearer ${plane.key}` })).status).toBe(200);
    expect((await get({ authorization: `bearer ${plane.key}` })).status).toBe(200);
    expect((await get({ 'x-api-key': plane.key })).status).toBe(200);
    expect((await get({ 'x-api-key': plane.key, authorization: `Bearer ${plane.key}` })).status).toBe(200);
  });

  it('the server asks for missing credentials with a challenge', async () => {
    const { status, body, headers } = await get({});
    expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(headers['www-authenticate']).toBe('Bearer realm="gov"');
    expect((await get({ authorization: 'Basic eDp5' })).body.code).toBe('UNAUTHENTICATED');
  });

  it('the server rejects two different credentials in one request', async () => {
    const other = plane.keys['none'] ?? '';
    const { status, body } = await get({ 'x-api-key': other, authorization: `Bearer ${plane.key}` });
    expect([status, body.code]).toEqual([401, 'AMBIGUOUS_CREDENTIAL']);
    expect((await get({ 'x-api-key': [plane.key, plane.key] })).status).toBe(401);
  });

  it('the server rejects unknown, mistyped, revoked and expired credentials with one text', async () => {
    const unknown = createToken('live', randomBytes);
    const tokens = [unknown, `${plane.key.slice(0, -1)}!`, 'x', plane.keys['revoked'], plane.keys['expired']];
    const details = new Set<string>();
    for (const token of tokens) {
      const { status, body, headers } = await get({ authorization: `Bearer ${token}` });
      expect([status, body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
      expect(headers['www-authenticate']).toBe('Bearer realm="gov", error="invalid_token"');
      details.add(body.detail);
    }
    expect(details.size).toBe(1);
  });

  it('the server reads no credentials from the URL, a cookie or the body', async () => {
    expect((await plane.call('GET', `/runs?api_key=${plane.key}`, { key: null })).status).toBe(401);
    expect((await get({ cookie: `api_key=${plane.key}` })).status).toBe(401);
  });

  it('the server answers 401 for credentials below the base path of the other environment', async () => {
    const sandbox = `${plane.origin}/sandbox/api/v1/runs`;
    const { status, body } = await plane.call('GET', sandbox);
    expect([status, body.code]).toEqual([401, 'ENVIRONMENT_MISMATCH']);
    const test = createToken('test', randomBytes);
    expect((await get({ authorization: `Bearer ${test}` })).body.code).toBe('ENVIRONMENT_MISMATCH');
  });

  it('a sandbox plane accepts gov_test_ keys below /sandbox', async () => {
    const sandbox = await startPlane({ environment: 'sandbox' });
    expect(sandbox.key).toMatch(/^gov_test_/);
    expect(sandbox.baseUrl).toMatch(/\/sandbox\/api\/v1$/);
    expect((await sandbox.call('GET', '/runs')).status).toBe(200);
    const created = await sandbox.call('POST', '/events', {
      body: { runId: 'r', eventType: 't', actor: 'a', action: 'x', timestamp: '2026-01-01T00:00:00Z' },
    });
    expect(created.headers['location']).toBe(`/sandbox/api/v1/events/${created.body.eventId}`);
    const at = async (path: string): Promise<unknown> => {
      const { status, body } = await sandbox.call('GET', sandbox.origin + path);
      return [status, body.code];
    };
    expect(await at('/api/v1/runs')).toEqual([401, 'ENVIRONMENT_MISMATCH']);
    for (const path of ['/%73andbox/api/v1/runs', '/sandbox/%61pi/%76%31/runs', '/sandbox/api/v1/%72uns']) {
      expect(await at(path), path).toEqual([200, undefined]);
    }
    const others = ['/sandbox/sandbox/api/v1/runs', '/Sandbox/api/v1/runs', '/sandbox%2fapi/v1/runs'];
    for (const path of [...others, '/sandbox//api/v1/runs', '/sandbox/api%2Fv1/runs', '/%73andbox/api/v1']) {
      expect(await at(path), path).toEqual([404, 'NOT_FOUND']);
    }
    // the form of request that proxies send
    const whole = (target: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${sandbox.key}` };
        request(sandbox.origin, { path: target, headers, agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    for (const scheme of ['http', 'https', 'HTTP'])
      expect(await whole(`${scheme}://h/sandbox/api/v1/runs`), scheme).toBe(200);
    expect(await whole('http://h/api/v1/runs')).toBe(401);
    expect(await whole('http://h/sandbox/sandbox/api/v1/runs')).toBe(404);
    await sandbox.end();
  });

  it('a plane answers 404 for operations that it does not mount', async () => {
    const hosted = Object.entries<Operation>(table).filter(([id]) => !planeOperations.includes(id as never));
    expect(hosted.length).toBeGreaterThan(15);
    for (const [, row] of hosted) {
      const path = row.path.replace(/\{[^}]+\}/g, 'x');
      const { status } = await plane.call(row.method, path, row.method === 'GET' ? {} : { body: {} });
      expect(status, path).toBe(404);
    }
  });

  it('an error about a missing scope names the scope', async () => {
    const { body } = await plane.call('GET', '/runs', { key: plane.keys['none'] ?? '' });
    expect(body).toMatchObject({ code: 'INSUFFICIENT_SCOPE', requiredScope: 'events:read' });
  });

  it('health shows details only to callers with credentials', async () => {
    const open = await send('GET', `${plane.baseUrl}/health`, {});
    expect(open.body).toEqual({ status: 'ok', time: expect.any(String) });
    const bad = await send('GET', `${plane.baseUrl}/health`, { key: 'gov_live_wrong' });
    expect(bad.body).toEqual({ status: 'ok', time: expect.any(String) });
    expect((await plane.call('GET', '/health')).body).toMatchObject({
      reasons: [],
      version: expect.any(String),
    });
  });
});

describe('key look-ups', () => {
  const project: Project = {
    projectId: 'prj_x',
    organizationId: 'org_x',
    environment: 'production',
    auditOrigin: 'a',
    meteringOrigin: 'm',
  };
  const row = (token: string): ApiKeyRow => ({
    keyId: 'key_x',
    projectId: 'prj_x',
    digest: keyDigest(token),
    prefix: '',
    last4: '',
    name: '',
    description: null,
    scopes: ['*' satisfies Scope],
    createdMs: 0,
    createdBy: 'operator',
    updatedMs: 0,
    lastUsedMs: null,
    expiresMs: null,
    revokedMs: null,
    rotatedFrom: null,
  });
  const place = { environment: 'production', needsProject: true } as const;
  const shown = (token: string): RequestCredentials => ({ token, cookie: null, project: null });
  const nobody = async () => null;

  /** Credentials over one key, which the test may change; counts what the store is asked. */
  const over = (find: () => ApiKeyRow | null, now: () => number) => {
    const asked = { count: 0 };
    const store: CredentialOptions['store'] = {
      apiKey: async () => {
        asked.count += 1;
        const key = find();
        return key === null ? null : { key, project, stored: null };
      },
      apiKeyOf: nobody,
      document: nobody,
      planeOfKey: nobody,
      session: nobody,
      user: nobody,
      organization: nobody,
      storedProject: nobody,
    };
    const credentials = new Credentials({ store, now, seal: { open: () => null }, hosting: null });
    const identify = async (token: string) => {
      const found = credentials.identify(shown(token), place);
      return 'lookUp' in found ? found.lookUp() : found;
    };
    return { asked, credentials, identify };
  };

  it('the server looks up none of 100,000 strings that fail the checksum', () => {
    const { asked, credentials } = over(
      () => null,
      () => 0,
    );
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const [strings, chars] = [100_000, 38];
    let refused = 0;
    for (let at = 0; at < strings; at += 1) {
      const text = Array.from(randomBytes(chars), (byte) => digits[byte % digits.length]).join('');
      try {
        credentials.identify(shown(`gov_live_${text}`), place);
      } catch {
        refused += 1;
      }
    }
    expect([refused, asked.count]).toEqual([strings, 0]);
  });

  it('the server looks up a key once in five seconds, and then rejects it when it is revoked', async () => {
    let nowMs = 1_000_000;
    const token = createToken('live', randomBytes);
    let key = row(token);
    const { asked, credentials, identify } = over(
      () => key,
      () => nowMs,
    );
    await identify(token);
    key = { ...key, revokedMs: nowMs };
    nowMs += limits.credentialCacheSeconds * 1000 - 1;
    expect(credentials.identify(shown(token), place)).not.toHaveProperty('lookUp');
    nowMs += 1;
    await expect(identify(token)).rejects.toThrow(/revoked/);
    expect(asked.count).toBe(2);
    await expect(identify(token)).rejects.toThrow(/revoked/);
    expect(asked.count).toBe(2);
  });

  it('a cached look-up ends with its key', async () => {
    let nowMs = 1_000_000;
    const token = createToken('live', randomBytes);
    const key = { ...row(token), expiresMs: nowMs + 1000 };
    const { credentials, identify } = over(
      () => key,
      () => nowMs,
    );
    await identify(token);
    nowMs += 1000;
    expect(() => credentials.identify(shown(token), place)).toThrow(/expired/);
  });

  it('the server drops cached look-ups by the id of the key or of its project, and no others', async () => {
    const token = createToken('live', randomBytes);
    let key = row(token);
    const { asked, credentials, identify } = over(
      () => key,
      () => 1_000_000,
    );
    await identify(token);
    credentials.forget('key_other');
    await identify(token);
    expect(asked.count).toBe(1);
    for (const id of ['key_x', 'prj_x']) {
      key = row(token);
      credentials.forget(id);
      await identify(token);
      key = { ...key, revokedMs: 1 };
      credentials.forget(id);
      await expect(identify(token)).rejects.toThrow(/revoked/);
    }
  });

  it('the server does not use a look-up that was running when its key was dropped', async () => {
    const token = createToken('live', randomBytes);
    let key = row(token);
    const { credentials, identify } = over(
      () => key,
      () => 1_000_000,
    );
    const first = identify(token);
    key = { ...key, revokedMs: 1 };
    credentials.forget('key_x');
    await first;
    await expect(identify(token)).rejects.toThrow(/revoked/);
  });

  it('the server reports once a minute that a key is used', async () => {
    let nowMs = 600_000;
    const token = createToken('live', randomBytes);
    const { credentials, identify } = over(
      () => ({ ...row(token), lastUsedMs: 540_000 }),
      () => nowMs,
    );
    for (let at = 0; at < 3; at++) await identify(token);
    expect(credentials.uses.take()).toEqual([{ projectId: 'prj_x', keyId: 'key_x', atMs: 600_000 }]);
    await identify(token);
    expect(credentials.uses.take()).toEqual([]);
    nowMs += 60_000;
    await identify(token);
    expect(credentials.uses.take()).toEqual([{ projectId: 'prj_x', keyId: 'key_x', atMs: 660_000 }]);
  });

  it('the server rejects a named project that is not the project of the key', async () => {
    const token = createToken('live', randomBytes);
    const { credentials, identify } = over(
      () => row(token),
      () => 1_000_000,
    );
    await identify(token);
    const named = (projectId: string) => () =>
      credentials.identify({ ...shown(token), project: projectId }, place);
    expect(named('prj_x')).not.toThrow();
    expect(named('prj_y')).toThrow(/Gov-Project/);
  });
});
