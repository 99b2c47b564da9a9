/** Sessions of keys in the console of a plane: from the one-time code to the end of the session. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/answer.ts';
import { startPlane, type TestPlane } from '../support/serving.ts';

/** What a browser sends of a page of the plane itself. */
const fromPage = (origin: string) => ({ origin, 'sec-fetch-site': 'same-origin' });
const pair = ({ headers }: Answer): string => /^[^;]+/.exec(headers['set-cookie']?.[0] ?? '')?.[0] ?? '';

describe('the console of a plane', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane({ extraKeys: { reader: { scopes: ['events:read', 'governance:read'] } } });
  });
  afterAll(() => plane.end());

  const codeOf = async (key = plane.key): Promise<string> => {
    const { status, body } = await plane.call('POST', '/console/links', { key });
    expect(status).toBe(201);
    return body.code as string;
  };
  const open = (code: string, headers: Record<string, string> = fromPage(plane.origin)): Promise<Answer> =>
    plane.call('POST', '/console/session', { key: null, body: { code }, headers });
  const cookieOf = async (key = plane.key): Promise<string> => pair(await open(await codeOf(key)));
  const asPage = (cookie: string) => ({ key: null, headers: { cookie, ...fromPage(plane.origin) } });

  it('a code opens one session, which has the identity and the scopes of the key', async () => {
    const code = await codeOf(plane.keys['reader']);
    const opened = await open(code);
    expect(opened.status).toBe(200);
    expect(opened.headers['set-cookie']).toEqual([
      expect.stringMatching(/^gov_session_[0-9a-f]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    const { body } = await plane.call('GET', '/auth/identity', asPage(pair(opened)));
    expect([body.type, body.name, body.scopes]).toEqual([
      'api_key',
      'reader',
      ['events:read', 'governance:read'],
    ]);
    expect((await plane.call('GET', '/approvals', asPage(pair(opened)))).status).toBe(200);
    const refused = await plane.call('GET', '/webhooks/endpoints', asPage(pair(opened)));
    expect([refused.status, refused.body.code]).toEqual([403, 'INSUFFICIENT_SCOPE']);
    expect([(await open(code)).status, (await open(code)).body.code]).toEqual([401, 'INVALID_CREDENTIAL']);
  });

  it('the cookie is Secure and has the prefix where the page came over HTTPS, as behind a proxy', async () => {
    const opened = await open(await codeOf(), fromPage('https://gov.example'));
    expect(opened.headers['set-cookie']).toEqual([
      expect.stringMatching(/^__Host-gov_session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/),
    ]);
    expect((await plane.call('GET', '/auth/identity', asPage(pair(opened)))).status).toBe(200);
  });

  it.each([
    ['no page', {}],
    ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['plain HTTP from another machine', fromPage('http://gov.example')],
  ])('refuses to open a session for %s, and the code is used up', async (_, headers) => {
    const code = await codeOf();
    const refused = await open(code, headers);
    expect([refused.status, refused.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await open(code)).status).toBe(401);
  });

  it('refuses the cookie from a page of another site, and from a program', async () => {
    const cookie = await cookieOf();
    for (const headers of [
      { cookie },
      { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    ]) {
      const refused = await plane.call('GET', '/approvals', { key: null, headers });
      expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN']);
    }
  });

  it('a new session ends the one before: a fixed cookie is worth nothing', async () => {
    const before = await cookieOf();
    const opened = await open(await codeOf(), { ...fromPage(plane.origin), cookie: before });
    expect(pair(opened)).not.toBe(before);
    expect((await plane.call('GET', '/auth/identity', asPage(before))).status).toBe(401);
    const fixed = `${before.split('=')[0]}=planted`;
    const planted = await open(await codeOf(), { ...fromPage(plane.origin), cookie: fixed });
    expect(pair(planted)).not.toContain('planted');
  });

  it('signing out ends the session on the server and clears the cookie', async () => {
    const cookie = await cookieOf();
    const closed = await plane.call('DELETE', '/console/session', asPage(cookie));
    expect(closed.headers['set-cookie']).toEqual([
      expect.stringMatching(/^gov_session_[0-9a-f]{8}=; .*Max-Age=0$/),
    ]);
    expect((await plane.call('GET', '/auth/identity', asPage(cookie))).status).toBe(401);
  });

  it('a session ends with its key', async () => {
    const made = await plane.call('POST', '/api-keys', { body: { name: 'short', scopes: ['events:read'] } });
    const { key, record } = made.body as { key: string; record: { keyId: string } };
    const cookie = await cookieOf(key);
    const code = await codeOf(key);
    expect((await plane.call('GET', '/auth/identity', asPage(cookie))).status).toBe(200);
    expect((await plane.call('DELETE', `/api-keys/${record.keyId}`)).status).toBe(204);
    expect((await plane.call('GET', '/auth/identity', asPage(cookie))).status).toBe(401);
    expect((await open(code)).status).toBe(401);
  });

  it('the log of the plane records who opened and closed a session', async () => {
    const cookie = await cookieOf(plane.keys['reader']);
    const { id } = (await plane.call('GET', '/auth/identity', asPage(cookie))).body;
    await plane.call('DELETE', '/console/session', asPage(cookie));
    const { events } = (await plane.call('GET', '/events?runId=gov.system&limit=1000')).body;
    const own = (events as { eventType: string; actor: { id: string }; metadata: object }[])
      .filter(({ actor, eventType }) => actor.id === id && eventType.startsWith('session.'))
      .slice(-2);
    expect(own.map(({ eventType, metadata }) => [eventType, metadata])).toEqual([
      ['session.opened', expect.objectContaining({ kind: 'console' })],
      ['session.closed', { kind: 'console', reason: 'signed_out' }],
    ]);
  });

  it('the session of one plane stays when another plane on the same host opens one', async () => {
    const other = await startPlane({ environment: 'production' });
    const { body } = await other.call('POST', '/console/links');
    const headers = { ...fromPage(other.origin), cookie: await cookieOf() };
    const session = { key: null, body: { code: body.code as string }, headers };
    const opened = await other.call('POST', '/console/session', session);
    const both = `${headers.cookie}; ${pair(opened)}`;
    expect(pair(opened).split('=')[0]).not.toBe(headers.cookie.split('=')[0]);
    expect((await plane.call('GET', '/auth/identity', asPage(both))).status).toBe(200);
    const there = { key: null, headers: { cookie: both, ...fromPage(other.origin) } };
    expect((await other.call('GET', '/auth/identity', there)).status).toBe(200);
    await other.end();
  });

  it('answers in a sandbox plane below its own base path', async () => {
    const sandbox = await startPlane({ environment: 'sandbox' });
    const { body } = await sandbox.call('POST', '/console/links');
    const opened = await sandbox.call('POST', '/console/session', {
      key: null,
      body: { code: body.code as string },
      headers: fromPage(sandbox.origin),
    });
    const headers = { cookie: pair(opened), ...fromPage(sandbox.origin) };
    const call = (base: string) =>
      sandbox.call('GET', `${sandbox.origin}${base}/auth/identity`, { key: null, headers });
    expect((await call('/sandbox/api/v1')).status).toBe(200);
    expect((await call('/api/v1')).body.code).toBe('ENVIRONMENT_MISMATCH');
    await sandbox.end();
  });
});
