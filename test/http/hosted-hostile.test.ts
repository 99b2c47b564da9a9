/** Hostile requests to the operations that only a hosted service has (contract S15, S17, S35). */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeOperations } from '../../plane/serve/operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { engines, startService, type Tenant, type TestService } from '../support/hosted.ts';
import type { CallOptions } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';

const hosted = Object.entries<Operation>(table).filter(([id]) => !planeOperations.includes(id as never));

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const utf8 = { 'content-type': 'application/json' };

/** Bodies that no operation takes, by what is wrong with them. */
const bodies: Readonly<Record<string, CallOptions>> = {
  nothing: { raw: '', headers: utf8 },
  null: { raw: 'null' },
  'a list': { raw: '[]' },
  'a text': { raw: '"x"' },
  'half an object': { raw: '{"name":' },
  'depth of a hundred thousand': { raw: nested(100_000) },
  'a member twice': { raw: '{"name":"a","name":"b"}' },
  'a prototype': { raw: '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}' },
  'a lone surrogate': { raw: '{"name":"\\ud800"}' },
  'the character NUL': { raw: '{"name":"a\\u0000b","organizationName":"a\\u0000b"}' },
  'a number too large': { raw: '{"retentionDays":1e400,"percents":[1e400]}' },
  'a text of a megabyte': { raw: JSON.stringify({ name: 'a'.repeat(1_000_000) }) },
  'bytes that are no UTF-8': { raw: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), headers: utf8 },
  'a byte order mark': { raw: Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{}')]) },
  'another charset': { raw: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } },
  'a form': { raw: 'name=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  'values of other types': {
    body: { name: 1, environment: [], scopes: 'x', expiresAt: {}, percents: 'x', idToken: {} },
  },
};

/** Ids in a path. */
const ids = [
  'x',
  '%00',
  '%ff',
  '..%2f..%2fetc',
  'a'.repeat(3000),
  "'%20OR%201=1--",
  'prj_01jzzzzzzzzzzzzzzzzzzzzzzz',
];

/** What must stand in no answer: of the machine, the code, the database. */
const inside =
  /node_modules|\.ts\b|\.js:|\/work|\/tmp|\bat [\w.]+ \(|SELECT |INSERT |UPDATE |sqlite|postgres|relation "|gov\.(?:db|cjs)/i;

describe.each(engines)('a hosted service on %s', (engine) => {
  let service: TestService;
  let ada: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    ada = await service.signUp('ada');
  });
  afterAll(() => service.end());

  const expectRefused = ({ status, text }: Answer, what: string): void => {
    expect(status, what).toBeGreaterThanOrEqual(400);
    expect(status, what).toBeLessThan(500);
    expect(inside.exec(text), what).toBeNull();
  };

  it('a hosted service rejects every invalid body, and reveals nothing internal', async () => {
    const idToken = await service.idToken('somebody');
    for (const [id, row] of hosted) {
      if (row.body === undefined) continue;
      const path = row.path.replace(/\{[^}]+\}/g, 'x');
      const key = row.access === 'idToken' ? idToken : ada.keys.production;
      for (const [what, options] of Object.entries(bodies)) {
        expectRefused(await service.call(row.method, path, { key, ...options }), `${id}: ${what}`);
      }
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect((await ada.call('GET', '/projects')).body.data).toHaveLength(1);
  });

  it('a hosted service finds nothing for an id of the wrong form', async () => {
    for (const [id, row] of hosted) {
      // a key is no data plane: `test/http/admit/plane-credentials.test.ts`
      if (!row.path.includes('{') || row.access === 'plane') continue;
      for (const text of ids) {
        const body = row.body === undefined ? {} : { body: { name: 'x' } };
        const answer = await ada.call(row.method, row.path.replace(/\{[^}]+\}/g, text), body);
        expectRefused(answer, `${id} ${text.slice(0, 40)}`);
        expect([400, 404], `${id} ${text.slice(0, 40)}`).toContain(answer.status);
      }
    }
  });

  it('a hosted service reads no more from a header than its value', async () => {
    const odd = [
      '\u00ff\u00fe',
      "' OR 1=1--",
      'a'.repeat(5000),
      'prj_',
      randomBytes(30).toString('base64'),
      '-',
      '{}',
    ];
    for (const text of odd) {
      const project = { headers: { 'gov-project': text } };
      expectRefused(await ada.call('GET', '/runs', project), text);
      expectRefused(
        await service.call('GET', '/runs', { key: await service.idToken('ada'), ...project }),
        text,
      );
      expectRefused(await service.call('GET', '/projects', { key: text }), text);
      expectRefused(await service.call('GET', '/projects', { headers: { 'x-api-key': text } }), text);
      const headers = { cookie: `__Host-gov_session=${text}`, 'sec-fetch-site': 'same-origin' };
      expectRefused(await service.call('GET', '/projects', { headers }), text);
    }
    const override = {
      'x-http-method-override': 'DELETE',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=e',
    };
    const { status, text } = await ada.call('GET', '/projects', { headers: override });
    expect([status, text.includes('evil.example')]).toEqual([200, false]);
  });

  it('a hosted service keeps names of people as they were sent', async () => {
    const names = [
      'אָדָה',
      '👩‍💻',
      "O'Brien; DROP TABLE project--",
      '<script>',
      '%s%n',
      '\\u0000',
      'a'.repeat(100),
    ];
    for (const name of names) {
      const { status, body } = await ada.call('POST', '/projects', {
        body: { name, environment: 'production' },
      });
      expect([status, body.name]).toEqual([201, name]);
    }
    const { data } = (await ada.call('GET', '/projects')).body;
    expect(data.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(names));
  });
});
