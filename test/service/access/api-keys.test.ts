import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { createKey } from '../../../src/service/credentials/token-format.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { appendedBy, asPerson, inProject, said, toldOf, until } from '../support/tenants.ts';

const unknown = 'key_00000000000000000000000000';
const dayMs = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();

describe.each(engines)('API keys on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());

  const create = (body: unknown, options: CallOptions = {}): Promise<Answer> =>
    acme.call('POST', '/api-keys', { body, ...options });
  const change = (keyId: string, body: unknown, options: CallOptions = {}): Promise<Answer> =>
    acme.call('PUT', `/api-keys/${keyId}`, { body, ...options });
  const rotate = (keyId: string, query = '', options: CallOptions = {}): Promise<Answer> =>
    acme.call('POST', `/api-keys/${keyId}/rotate${query}`, options);
  const revoke = (keyId: string, options: CallOptions = {}): Promise<Answer> =>
    acme.call('DELETE', `/api-keys/${keyId}`, options);
  const works = async (key: string): Promise<boolean> =>
    (await acme.call('GET', '/auth/identity', { key })).status === 200;
  /** A key with these scopes, and its id. */
  const keyWith = async (...scopes: string[]): Promise<{ key: string; keyId: string }> => {
    const { body } = await create({ name: scopes.join(), scopes });
    return { key: body.key, keyId: body.record.keyId };
  };
  const listed = async (
    query = '',
  ): Promise<{ keyId: string; status: string; lastUsedAt: string | null }[]> =>
    (await acme.call('GET', `/api-keys?limit=200${query}`)).body.data;

  it('API keys are created, shown once, and used', async () => {
    const made = await create({
      name: 'CI',
      scopes: ['events:write', 'events:read'],
      expiresAt: '2030-01-02T03:04:05+01:00',
      description: 'pushes',
    });
    expect([made.status, made.headers['cache-control']]).toEqual([201, 'no-store']);
    const { key, record } = made.body;
    expect(made.headers['location']).toBe(`/api/v1/api-keys/${record.keyId}`);
    expect(key).toMatch(/^gov_live_[0-9A-Za-z]{38}$/);
    expect(record).toMatchObject({
      name: 'CI',
      description: 'pushes',
      prefix: key.slice(0, limits.keyPrefixChars),
      last4: key.slice(-4),
      environment: 'production',
      scopes: ['events:write', 'events:read'],
      status: 'active',
      lastUsedAt: null,
      expiresAt: '2030-01-02T02:04:05.000Z',
      revokedAt: null,
      rotatedFromKeyId: null,
    });
    expect((await acme.call('POST', '/events', { key, body: event() })).status).toBe(201);
    expect(said(await acme.call('GET', '/projects', { key }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
    const [inLog] = await toldOf(acme.call, 'api_key.created', record.keyId);
    expect(inLog?.actor).toEqual({ id: record.createdBy, type: 'api_key' });
    expect(JSON.stringify(await listed())).not.toContain(key);
    const events = await acme.call('GET', '/events?runId=gov.system&limit=1000');
    expect(events.text).not.toContain(key);
  });

  it("API keys have the caller's scopes by default, in its environment", async () => {
    const narrow = await keyWith('keys:write', 'events:read');
    const made = await create({ name: 'same' }, { key: narrow.key });
    expect(made.body.record.scopes).toEqual(['keys:write', 'events:read']);
    const { body } = await acme.call('POST', '/api-keys', { body: { name: 't' }, environment: 'sandbox' });
    expect([body.record.environment, body.record.scopes]).toEqual(['sandbox', ['*']]);
    expect(body.key).toMatch(/^gov_test_/);
  });

  describe('give no more than the caller has', () => {
    let narrow: { key: string; keyId: string };
    beforeAll(async () => {
      narrow = await keyWith('keys:write', 'events:read');
    });

    it.each([
      ['one more', ['events:read', 'events:write'], ['events:write']],
      ['everything', ['*'], ['*']],
      ['others', ['proofs:read', 'risk:read'], ['proofs:read', 'risk:read']],
    ])(
      'a key that would grant more than its caller has is refused: %s, naming the missing scopes',
      async (_, scopes, missing) => {
        const { status, body, headers } = await create({ name: 'x', scopes }, { key: narrow.key });
        expect([status, body.code]).toEqual([403, 'INSUFFICIENT_SCOPE']);
        expect([body.requiredScope, body.missingScopes]).toEqual([missing[0], missing]);
        expect(headers['www-authenticate']).toContain(`scope="${missing[0]}"`);
      },
    );

    it('a caller cannot change a key, its own or a stronger one, to scopes that the caller lacks', async () => {
      const strong = await keyWith('*');
      for (const { keyId } of [narrow, strong]) {
        expect(said(await change(keyId, { scopes: ['events:write'] }, { key: narrow.key }))).toEqual([
          403,
          'INSUFFICIENT_SCOPE',
        ]);
      }
      expect((await change(strong.keyId, { name: 'mine' }, { key: narrow.key })).status).toBe(403);
      expect((await change(strong.keyId, { scopes: ['events:read'] }, { key: narrow.key })).status).toBe(200);
    });

    it('a caller cannot rotate a stronger key, because the rotation would show it', async () => {
      const strong = await keyWith('*');
      expect((await rotate(strong.keyId, '', { key: narrow.key })).status).toBe(403);
      expect(await works(strong.key)).toBe(true);
    });

    it('a caller with a key may revoke any key', async () => {
      const strong = await keyWith('*');
      expect((await revoke(strong.keyId, { key: narrow.key })).status).toBe(204);
      expect(await works(strong.key)).toBe(false);
    });

    it('a person may grant every scope', async () => {
      const ann = asPerson(service, 'Ann', true);
      const made = await ann('POST', '/api-keys', { ...inProject(acme.projectId), body: { name: 'p' } });
      expect(made.body.record.scopes).toEqual(['*']);
      expect(made.body.record.createdBy).toMatch(/^usr_/);
    });
  });

  it('creating API keys needs keys:write, and listing them needs keys:read', async () => {
    const { key } = await keyWith('keys:read');
    expect((await acme.call('GET', '/api-keys', { key })).status).toBe(200);
    expect((await create({ name: 'x', scopes: ['keys:read'] }, { key })).status).toBe(403);
  });

  const tenYears = (): string => {
    const latest = new Date();
    latest.setUTCFullYear(latest.getUTCFullYear() + limits.keyYears);
    return latest.toISOString();
  };
  it.each([
    ['a second ago', () => inDays(-1 / dayMs), 400],
    ['in a minute', () => new Date(Date.now() + 60_000).toISOString(), 201],
    ['in ten years', tenYears, 201],
    ['a day beyond ten years', () => new Date(Date.parse(tenYears()) + dayMs).toISOString(), 400],
    ['never', () => null, 201],
    ['tomorrow', () => 'tomorrow', 400],
  ])('the service accepts or rejects an API key that ends %s', async (_, endOf, status) => {
    const made = await create({ name: 'ending', expiresAt: endOf() });
    expect(made.status).toBe(status);
    if (status === 400) expect(made.body.errors[0].pointer).toBe('/expiresAt');
  });

  const scopes = Array.from({ length: limits.keyScopes + 1 }, (_, n) => `x${n}:read`);
  it.each([
    ['without a name', { scopes: ['*'] }, '/name'],
    ['with a name too long', { name: 'n'.repeat(limits.keyNameChars + 1) }, '/name'],
    ['with a description too long', { name: 'n', description: 'd'.repeat(501) }, '/description'],
    ['without scopes', { name: 'n', scopes: [] }, '/scopes'],
    ['with a scope twice', { name: 'n', scopes: ['log:read', 'log:read'] }, '/scopes'],
    ['with an unknown scope', { name: 'n', scopes: ['root'] }, '/scopes/0'],
    ['with too many scopes', { name: 'n', scopes }, '/scopes'],
    ['with a member of a record', { name: 'n', keyId: unknown }, '/keyId'],
  ])('the service rejects API keys %s', async (_, body, pointer) => {
    const made = await create(body);
    expect([made.status, made.body.errors[0].pointer]).toEqual([400, pointer]);
  });

  it('a change of an API key keeps the members that it does not name', async () => {
    const { keyId } = await keyWith('events:read', 'log:read');
    const end = inDays(30);
    const changed = await change(keyId, { description: 'd', expiresAt: end });
    expect(changed.body).toMatchObject({ name: 'events:read,log:read', description: 'd', expiresAt: end });
    const { body } = await change(keyId, { scopes: ['log:read'], expiresAt: null });
    expect(body).toMatchObject({ description: 'd', scopes: ['log:read'], expiresAt: null });
    expect((await change(keyId, { scopes: ['log:read'] })).body).toEqual(body);
    const changes = await toldOf(acme.call, 'api_key.updated', keyId);
    expect(changes.map(({ metadata }) => metadata['changes'])).toEqual([
      { description: { from: null, to: 'd' }, expiresAt: { from: null, to: end } },
      { scopes: { from: ['events:read', 'log:read'], to: ['log:read'] }, expiresAt: { from: end, to: null } },
    ]);
    expect((await change(keyId, {})).status).toBe(400);
    expect((await change(keyId, { expiresAt: inDays(-1) })).status).toBe(400);
  });

  it('a change of an API key accepts its own record, and no record with another read-only value', async () => {
    const { body } = await create({
      name: 'Own',
      scopes: ['events:read'],
      expiresAt: inDays(1),
      description: 'x',
    });
    const { record } = body;
    const same = await change(record.keyId, record);
    expect([same.status, same.body]).toEqual([200, record]);
    const renamed = await change(record.keyId, {
      ...record,
      name: 'New',
      lastUsedAt: '2026-01-01T00:00:00.000Z',
    });
    expect([renamed.status, renamed.body.name]).toEqual([200, 'New']);
    for (const other of [
      { status: 'revoked' },
      { keyId: unknown },
      { environment: 'sandbox' },
      { last4: 'abcd' },
    ]) {
      expect(said(await change(record.keyId, { ...renamed.body, ...other }))).toEqual([
        400,
        'READ_ONLY_FIELD',
      ]);
    }
    expect(said(await change(record.keyId, { ...renamed.body, more: 1 }))).toEqual([400, 'UNKNOWN_FIELD']);
  });

  it('a removed scope of an API key ends at once', async () => {
    const { key, keyId } = await keyWith('events:read', 'log:read');
    expect((await acme.call('GET', '/log/key', { key })).status).toBe(200);
    await change(keyId, { scopes: ['events:read'] });
    expect(said(await acme.call('GET', '/log/key', { key }))).toEqual([403, 'INSUFFICIENT_SCOPE']);
  });

  it('two concurrent changes of an API key are both kept, so that no scope returns', async () => {
    const { keyId } = await keyWith('*');
    await Promise.all([
      change(keyId, { scopes: ['events:read'] }),
      ...Array.from({ length: 4 }, (_, n) => change(keyId, { name: `n${n}` })),
    ]);
    const { body } = await change(keyId, { description: 'after' });
    expect([body.scopes, body.name]).toEqual([['events:read'], expect.stringMatching(/^n\d$/)]);
  });

  it('a revoked API key is rejected at once and no longer listed, also one that revoked itself', async () => {
    const { key, keyId } = await keyWith('keys:write');
    expect(await works(key)).toBe(true);
    const revoked = await revoke(keyId, { key });
    expect([revoked.status, revoked.text]).toEqual([204, '']);
    expect(await works(key)).toBe(false);
    for (const answer of [await revoke(keyId), await change(keyId, { name: 'x' }), await rotate(keyId)]) {
      expect(said(answer)).toEqual([404, 'NOT_FOUND']);
    }
    expect((await listed()).map((each) => each.keyId)).not.toContain(keyId);
    const all = await listed('&includeRevoked=true');
    expect(all.find((each) => each.keyId === keyId)?.status).toBe('revoked');
    const inLog = await toldOf(acme.call, 'api_key.revoked', keyId);
    expect(inLog.map(({ actor }) => actor.id)).toEqual([keyId]);
  });

  it('an API key that two callers revoke concurrently is revoked once', async () => {
    const { keyId } = await keyWith('log:read');
    const answers = await Promise.all([revoke(keyId), revoke(keyId), revoke(keyId)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404, 404]);
  });

  it('API keys of another tenant and malformed ids get the same 404', async () => {
    const other = await service.signUp(`Other-${engine}`);
    const { keyId } = await keyWith('log:read');
    const alike = { headers: { 'x-request-id': 'one-for-both' } };
    for (const [method, path, body] of [
      ['PUT', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['POST', '/rotate', undefined],
    ] as const) {
      const ask = (id: string) =>
        other.call(method, `/api-keys/${id}${path}`, { ...alike, ...(body === undefined ? {} : { body }) });
      const [foreign, none, malformed] = [await ask(keyId), await ask(unknown), await ask('key_x')];
      expect(foreign.status).toBe(404);
      expect([foreign.text, malformed.text]).toEqual([none.text, none.text]);
    }
    expect((await other.call('GET', '/api-keys')).text).not.toContain(keyId);
  });

  describe('that are rotated', () => {
    it('a rotated API key is replaced at once by one with the same name, scopes and expiry', async () => {
      const end = inDays(30);
      const { body: old } = await create({ name: 'r', scopes: ['log:read'], expiresAt: end });
      const rotated = await rotate(old.record.keyId);
      expect([rotated.status, rotated.headers['cache-control']]).toEqual([201, 'no-store']);
      const { key, record } = rotated.body;
      expect(record).toMatchObject({
        name: 'r',
        scopes: ['log:read'],
        expiresAt: end,
        status: 'active',
        rotatedFromKeyId: old.record.keyId,
      });
      expect(record.keyId).not.toBe(old.record.keyId);
      expect([await works(old.key), await works(key)]).toEqual([false, true]);
      const [inLog] = await toldOf(acme.call, 'api_key.rotated', record.keyId);
      expect(inLog?.metadata).toMatchObject({ rotatedFrom: old.record.keyId, scopes: ['log:read'] });
    });

    it('a rotated API key is accepted during its overlap, and no longer', async () => {
      const { key, keyId } = await keyWith('log:read', 'keys:write');
      const { body } = await rotate(keyId, '?overlapSeconds=2', { key });
      expect([await works(key), await works(body.key)]).toEqual([true, true]);
      const row = (await listed()).find((each) => each.keyId === keyId) as unknown as { revokedAt: string };
      const again = await rotate(keyId, '?overlapSeconds=600');
      expect(again.status).toBe(201);
      const later = (await listed()).find((each) => each.keyId === keyId) as unknown as { revokedAt: string };
      expect(later.revokedAt).toBe(row.revokedAt);
      await until(
        () => works(key),
        (still) => !still,
      );
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(row.revokedAt));
      expect(await works(body.key)).toBe(true);
      expect(said(await rotate(keyId))).toEqual([404, 'NOT_FOUND']);
    });

    it.each([
      ['0', 201],
      [String(limits.keyOverlapSeconds), 201],
      [String(limits.keyOverlapSeconds + 1), 400],
      ['-1', 400],
      ['1.5', 400],
    ])('the service accepts or rejects a rotation with an overlap of %s seconds', async (overlap, status) => {
      const { keyId } = await keyWith('log:read');
      expect((await rotate(keyId, `?overlapSeconds=${overlap}`)).status).toBe(status);
    });

    it('an API key is rotated once under an Idempotency-Key, whose stored response is sealed', async () => {
      const { keyId } = await keyWith('log:read');
      const options = { headers: { 'idempotency-key': `rotate-${keyId}` } };
      let first!: Answer;
      const kept = await appendedBy(service, async () => (first = await rotate(keyId, '', options)));
      expect(kept.map(({ idempotency }) => idempotency?.response.body)).toEqual([
        expect.stringMatching(/^sealed:[\w-]+$/),
      ]);
      expect(JSON.stringify(kept)).not.toContain(first.body.key);
      const again = await rotate(keyId, '', options);
      expect([again.status, again.text, again.headers['cache-control']]).toEqual([
        201,
        first.text,
        'no-store',
      ]);
      expect(again.headers['idempotent-replayed']).toBe('true');
      const rows = (await listed('&includeRevoked=true')) as unknown as { rotatedFromKeyId: string | null }[];
      expect(rows.filter(({ rotatedFromKeyId }) => rotatedFromKeyId === keyId)).toHaveLength(1);
    });

    it('the rotation of an expired API key is rejected', async () => {
      const { store, now } = service.services;
      const { projectId } = (await acme.call('GET', '/auth/identity')).body;
      const project = await store.project(projectId);
      const long = { name: 'old', scopes: ['log:read'], nowMs: now() - 2 * dayMs, randomBytes };
      const { row } = createKey(project!, { ...long, expiresMs: now() - dayMs });
      await store.saveApiKey(row);
      const { status, body } = await rotate(row.keyId);
      expect([status, body.errors[0].pointer]).toEqual([400, '/keyId']);
      expect((await listed()).find(({ keyId }) => keyId === row.keyId)?.status).toBe('expired');
      await change(row.keyId, { expiresAt: inDays(1) });
      expect((await rotate(row.keyId)).status).toBe(201);
    });
  });

  it('an API key is created once for 50 parallel repeats, and each response shows the same key', async () => {
    const before = (await listed('&includeRevoked=true')).length;
    const options = { headers: { 'idempotency-key': 'fifty' } };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => create({ name: 'fifty', scopes: ['log:read'] }, options)),
    );
    expect((await listed('&includeRevoked=true')).length).toBe(before + 1);
    const texts = new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text));
    expect(texts.size).toBe(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  });

  it('API keys are listed page by page, newest first', async () => {
    const all = (await listed('&includeRevoked=true')).map(({ keyId }) => keyId);
    const seen: string[] = [];
    for (let cursor: string | null = null; ;) {
      const after: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await acme.call('GET', `/api-keys?limit=5&includeRevoked=true${after}`);
      seen.push(...body.data.map(({ keyId }: { keyId: string }) => keyId));
      cursor = body.nextCursor;
      if (cursor === null) break;
    }
    expect(seen).toEqual(all);
  });

  it('an API key shows when it was used, to the minute', async () => {
    const { key, keyId } = await keyWith('log:read');
    await works(key);
    const { credentials, store } = service.services;
    await store.used(credentials.uses.take());
    const row = (await listed()).find((each) => each.keyId === keyId);
    expect(row?.lastUsedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
  });
});
