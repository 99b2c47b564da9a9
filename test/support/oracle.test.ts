/** The oracle of all tests over sockets sees what is wrong with an answer. */
import { describe, expect, it } from 'vitest';
import { checkAnswer } from './oracle.ts';
import type { Answer } from './answer.ts';

const always = {
  'x-request-id': 'req-12345678',
  'gov-api-version': '1.0.0',
  'x-content-type-options': 'nosniff',
};
const json = { ...always, 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
const problemHeaders = { ...json, 'content-type': 'application/problem+json' };

const answer = (status: number, body: unknown, headers: Answer['headers'] = json): Answer => {
  const text = body === null ? '' : JSON.stringify(body);
  return { status, headers, text, bytes: Buffer.from(text), body };
};
const problem = (
  status: number,
  code: string,
  title: string,
  members: object = {},
): Record<string, unknown> => ({
  type: 'https://gov.example/problems/x',
  title,
  status,
  detail: 'expected something else',
  instance: 'urn:gov:req:req-12345678',
  code,
  requestId: 'req-12345678',
  retryable: false,
  ...members,
});
const notFound = problem(404, 'NOT_FOUND', 'Not found');
const unauthenticated = problem(401, 'UNAUTHENTICATED', 'A credential is required');
const count = (body: unknown, headers?: Answer['headers'], status = 200): string | null =>
  checkAnswer('GET', '/api/v1/events/count', answer(status, body, headers));
const missing = (body: unknown, headers: Answer['headers'] = problemHeaders): string | null =>
  checkAnswer('GET', '/api/v1/events/evt_x', answer(404, body, headers));

describe('the oracle', () => {
  it('the oracle accepts published answers and names the operation that answered', () => {
    expect(count({ count: 1 })).toBe('countEvents');
    expect(missing(notFound)).toBe('getEvent');
    expect(missing({ ...notFound, allowed: ['a problem may say more'] })).toBe('getEvent');
    expect(checkAnswer('DELETE', '/api/v1/api-keys/key_x', answer(204, null, always))).toBe('revokeApiKey');
    const challenge = { ...problemHeaders, 'www-authenticate': 'Bearer realm="gov"' };
    expect(count(unauthenticated, challenge, 401)).toBe('countEvents');
    expect(checkAnswer('GET', '/nowhere', answer(404, notFound, problemHeaders))).toBeNull();
  });

  it.each([
    ['another type', () => count({ count: '1' }), /must be integer/],
    ['a missing member', () => count({}), /required property/],
    ['a member that is not published', () => count({ count: 1, total: 1 }), /additional properties: total/],
    ['a status that is not published', () => count({ count: 1 }, json, 202), /undocumented status/],
    [
      'a 201 without Location',
      () => checkAnswer('POST', '/api/v1/events', answer(201, { eventId: 'evt_x', runId: 'r' }, json)),
      /no Location/,
    ],
    ['another media type', () => count({ count: 1 }, { ...json, 'content-type': 'text/html' }), /media type/],
    [
      'an answer that may be stored',
      () => count({ count: 1 }, { ...json, 'cache-control': 'public' }),
      /stored/,
    ],
    ['no request id', () => count({ count: 1 }, { ...json, 'x-request-id': undefined }), /request id/],
    ['a server that says its name', () => count({ count: 1 }, { ...json, server: 'x' }), /software/],
    [
      'a stable answer that says beta',
      () => count({ count: 1 }, { ...json, 'gov-stability': 'beta' }),
      /stability/,
    ],
    ['a header of another type', () => count({ count: 1 }, { ...json, ratelimit: '5' }), /RateLimit/],
    ['a problem of another title', () => missing({ ...notFound, title: 'Gone' }), /register/],
    ['a problem of another request', () => missing({ ...notFound, requestId: 'req-87654321' }), /register/],
    [
      'a field that names no place',
      () => missing({ ...notFound, errors: [{ pointer: '' }] }),
      /required property/,
    ],
    [
      'a body beside no content',
      () => checkAnswer('DELETE', '/api/v1/api-keys/k', answer(204, {})),
      /no body/,
    ],
    ['401 without a challenge', () => count(unauthenticated, problemHeaders, 401), /www-authenticate/],
  ])('the oracle reports %s', (_name, check, reason) => {
    expect(check).toThrow(reason);
  });

  it.each([
    'TypeError: x\n    at handler (/srv/app.js:3:4)',
    'cannot open /var/lib/gov/gov.db',
    'ENOENT: /tmp/gov-plane-x/heads.db',
    'in node_modules/pg/lib/client.js',
    'src/http/call/execute.ts:12',
    'SELECT record FROM leaf',
    'SQLITE_BUSY: database is locked',
    'duplicate key value violates unique constraint "leaf_pkey"',
    'PostgreSQL 18.4 on x86_64',
    'Node v24.21.0',
  ])('the oracle reports an error that reveals internals: %s', (detail) => {
    expect(() => missing({ ...notFound, detail })).toThrow(/tells what runs here/);
  });

  it.each([
    'expected at most 500 events, got 731; split them',
    'node plan is unknown (of this run)',
    '/metadata/var/x must be a string',
    'expected one of active, archived from disabled, got draft',
  ])('the oracle accepts the error text: %s', (detail) => {
    expect(missing({ ...notFound, detail })).toBe('getEvent');
  });
});
