import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Origins } from '../../../src/http/admit/origins.ts';
import { startService, type TestService } from '../../support/hosted.ts';

const friend = 'https://app.example.com';
let service: TestService;
let cookie: string;

async function signIn(): Promise<string> {
  const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
  const { headers } = await service.call('POST', '/auth/session', { body: { idToken } });
  return String(headers['set-cookie']).split(';')[0] ?? '';
}

beforeAll(async () => {
  service = await startService({ file: { corsOrigins: [friend] } });
  await service.signUp('ada');
  cookie = await signIn();
});
afterAll(() => service.end());

/** What a browser says of the page that sends a request, and whether its cookie is taken. */
const pages = (): [string, Record<string, string>, boolean][] => [
  ['of the service', { 'sec-fetch-site': 'same-origin', origin: service.origin }, true],
  ['of the service, without Origin', { 'sec-fetch-site': 'same-origin' }, true],
  ['of the service, in an old browser', { origin: service.origin }, true],
  ['of the list, at a sibling', { 'sec-fetch-site': 'same-site', origin: friend }, true],
  ['of the list, elsewhere', { 'sec-fetch-site': 'cross-site', origin: friend }, true],
  ['of a stranger', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, false],
  ['of a sibling', { 'sec-fetch-site': 'same-site', origin: 'https://evil.example.com' }, false],
  ['of a stranger, in an old browser', { origin: 'https://evil.example' }, false],
  ['without an origin', { 'sec-fetch-site': 'cross-site', origin: 'null' }, false],
  ['in an address bar', { 'sec-fetch-site': 'none' }, false],
  ['that says nothing', {}, false],
  ['of the service by another scheme', { origin: service.origin.replace('http:', 'https:') }, false],
  ['of the service at another port', { origin: service.origin.replace(/\d+$/, '1') }, false],
  ['whose origin begins like one of the list', { origin: `${friend}.evil.example` }, false],
  ['whose origin has a path', { origin: `${friend}/` }, false],
  ['whose origin is written otherwise', { origin: friend.toUpperCase() }, false],
];

describe('a session cookie', () => {
  it('a session cookie is accepted only from pages of the service and of the list, for every method', async () => {
    for (const [page, headers, taken] of pages()) {
      const calls = [
        await service.call('GET', '/projects', { headers: { cookie, ...headers } }),
        await service.call('POST', '/projects', { headers: { cookie, ...headers }, body: {} }),
        await service.call('PUT', '/projects/x', { headers: { cookie, ...headers }, body: {} }),
        await service.call('DELETE', '/projects/x', { headers: { cookie, ...headers } }),
      ];
      const expected = taken ? [200, 400, 404, 404] : [403, 403, 403, 403];
      expect(
        calls.map(({ status }) => status),
        `a page ${page}`,
      ).toEqual(expected);
      if (!taken) {
        expect(calls.map(({ body }) => body.code)).toEqual(Array.from({ length: 4 }, () => 'FORBIDDEN'));
      }
    }
  });

  it('a session is neither closed nor replaced by a page that may not send its cookie', async () => {
    const own = await signIn();
    const headers = { cookie: own, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    expect((await service.call('DELETE', '/auth/session', { headers })).status).toBe(403);
    const idToken = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
    expect((await service.call('POST', '/auth/session', { headers, body: { idToken } })).status).toBe(403);
    const still = { cookie: own, 'sec-fetch-site': 'same-origin' };
    expect((await service.call('GET', '/projects', { headers: still })).status).toBe(200);
  });

  it('a session cookie is not accepted with a form or with text', async () => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const { status } = await service.call('POST', '/projects', {
        raw: '{"name":"by form","environment":"sandbox"}',
        headers: { ...headers, 'content-type': type },
      });
      expect(status, type).toBe(415);
    }
  });

  it('a request with two session cookies is rejected because one of them was planted', async () => {
    const { status, body } = await service.call('GET', '/projects', {
      headers: { cookie: `${cookie}; ${cookie}x`, 'sec-fetch-site': 'same-origin' },
    });
    expect([status, body.code]).toEqual([401, 'AMBIGUOUS_CREDENTIAL']);
  });

  it('a session cookie is found among other cookies, and not in a longer name', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' };
    const asked = async (value: string): Promise<number> =>
      (await service.call('GET', '/projects', { headers: { ...headers, cookie: value } })).status;
    expect(await asked(`theme=dark; ${cookie}; x=y`)).toBe(200);
    expect(await asked(`theme=dark;${cookie};x=y`)).toBe(200);
    expect(await asked(`x${cookie}`)).toBe(401);
    expect(await asked(cookie.replace('=', 'x='))).toBe(401);
    expect(await asked('__Host-gov_session=')).toBe(401);
  });

  it('a session cookie from a page of a stranger shows no details of health', async () => {
    const asked = async (headers: Record<string, string>) =>
      (await service.call('GET', '/health', { headers: { cookie, ...headers } })).body;
    expect(await asked({})).toEqual({ status: 'ok', time: expect.any(String) });
    expect(await asked({ 'sec-fetch-site': 'same-origin' })).toHaveProperty('version');
  });
});

describe('the list of origins', () => {
  const own = () => 'https://gov.example.com';
  it.each([
    '*',
    'null',
    'app.example.com',
    `${friend}/`,
    `${friend}/x`,
    'ftp://a.example',
    'https://*.example.com/',
  ])('the list of origins rejects the origin %s', (origin) => {
    expect(() => new Origins({ own, listed: [origin] })).toThrow(/expected origins such as/);
  });
});
