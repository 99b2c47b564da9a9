import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send, startPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';

const friend = 'https://app.example.com';
const stranger = 'https://evil.example';
let open: TestService;
let closed: TestService;
let ada: Tenant;

beforeAll(async () => {
  [open, closed] = await Promise.all([startService({ file: { corsOrigins: [friend] } }), startService()]);
  ada = await open.signUp('ada');
});
afterAll(async () => {
  await open.end();
  await closed.end();
});

const corsOf = ({ headers }: Answer): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:access-control-|vary)/.test(name)));

const preflight = (url: string, headers: Record<string, string>): Promise<Answer> =>
  send('OPTIONS', url, { headers });

describe('a page of the list', () => {
  it('a page on the list may read responses and errors, with credentials', async () => {
    const expected = {
      vary: expect.stringMatching(/^Origin\b/),
      'access-control-allow-origin': friend,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': expect.stringContaining('ratelimit'),
    };
    for (const path of ['/runs', '/nope', '/events/x', `${open.origin}/openapi.json`]) {
      const answer = await ada.call('GET', path, { headers: { origin: friend } });
      expect(corsOf(answer), path).toEqual(expected);
    }
    const refused = await open.call('GET', '/runs', { headers: { origin: friend } });
    expect([refused.status, corsOf(refused)]).toEqual([401, expected]);
  });

  it('a page on the list may send a preflight for an existing operation', async () => {
    const asks = { origin: friend, 'access-control-request-method': 'PUT' };
    const answer = await preflight(`${open.baseUrl}/projects/x`, asks);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers['content-length']).toBeUndefined();
    expect(corsOf(answer)).toMatchObject({
      vary: expect.stringMatching(/^Origin\b/),
      'access-control-allow-origin': friend,
      'access-control-allow-methods': 'GET, HEAD, PUT, DELETE',
      'access-control-allow-headers': expect.stringMatching(/authorization.*gov-project.*idempotency-key/),
      'access-control-max-age': '600',
    });
    expect((await preflight(`${open.baseUrl}/nope`, asks)).status).toBe(404);
    expect((await preflight(`${open.baseUrl}/runs`, { origin: friend })).status).toBe(405);
  });
});

describe('a page that is not of the list', () => {
  it('a page that is not on the list gets no CORS header, and no response repeats its origin', async () => {
    for (const origin of [stranger, 'null', `${friend}.evil.example`, friend.toUpperCase(), open.origin]) {
      const answer = await ada.call('GET', '/runs', { headers: { origin } });
      expect([answer.status, corsOf(answer)], origin).toEqual([200, { vary: 'Origin' }]);
      const asked = await preflight(`${open.baseUrl}/runs`, {
        origin,
        'access-control-request-method': 'GET',
      });
      expect([asked.status, corsOf(asked)], origin).toEqual([405, { vary: 'Origin' }]);
    }
    expect(corsOf(await ada.call('GET', '/runs'))).toEqual({ vary: 'Origin' });
  });
});

describe('without a list', () => {
  it('a service or a plane without a list of origins lets no page read its responses', async () => {
    const plane = await startPlane();
    for (const { baseUrl } of [closed, plane]) {
      const answer = await send('GET', `${baseUrl}/health`, { headers: { origin: friend } });
      expect([answer.status, corsOf(answer)]).toEqual([200, {}]);
      const asks = { origin: friend, 'access-control-request-method': 'GET' };
      const asked = await preflight(`${baseUrl}/runs`, asks);
      expect([asked.status, corsOf(asked)]).toEqual([405, {}]);
    }
    await plane.end();
  });
});
