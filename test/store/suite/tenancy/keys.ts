/** API keys: found by their digest, listed in pages, changed and revoked by effects; uses of credentials. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { codeOf, genesis, projectOf, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { apiKey, apply, change, session, tenant } from '../../support/tenants.ts';

const save = (id: string, more: Parameters<typeof apiKey>[1] = {}): Effect => ({
  kind: 'saveApiKey',
  key: apiKey(id, more),
});
const revoke = (id: string, revokedMs: number, atMs = revokedMs): Effect => ({
  kind: 'revokeApiKey',
  keyId: `key_${id}`,
  revokedMs,
  atMs,
});
const rename = (id: string, atMs: number, name = 'renamed'): Effect => ({
  kind: 'changeApiKey',
  keyId: `key_${id}`,
  name,
  description: 'why',
  scopes: ['*'],
  expiresMs: startMs + 1000,
  atMs,
});

const namesOf = async (store: Store, liveAtMs?: number): Promise<string[]> => {
  const filter = liveAtMs === undefined ? {} : { liveAtMs };
  return (await store.apiKeys('prj_a', filter, { limit: 100 })).map(({ keyId }) => keyId);
};

describe('keys', () => {
  it('keys are found by digest across projects and changed only in their own project', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const key = apiKey('1', { projectId: 'prj_b', expiresMs: startMs + 5, rotatedFrom: 'key_0' });
    await store.saveApiKey(key);
    expect(await store.apiKey(key.digest)).toEqual({ key, project: projectOf('b'), stored: null });
    expect(await store.apiKey(Buffer.alloc(32, 2))).toBeNull();
    await store.saveApiKey({ ...key, revokedMs: startMs + 1 });
    const again = await reopen();
    expect((await again.apiKey(key.digest))?.key.revokedMs).toBe(startMs + 1);
    expect(await again.apiKeys('prj_b', {}, { limit: 10 })).toEqual([{ ...key, revokedMs: startMs + 1 }]);
    expect(await again.apiKeys('prj_a', {}, { limit: 10 })).toEqual([]);
    expect(await again.apiKeyOf('prj_b', 'key_1')).toEqual({ ...key, revokedMs: startMs + 1 });
    expect(await again.apiKeyOf('prj_a', 'key_1')).toBeNull();
    await drop();
  });

  it('keys are listed newest first, in pages, and revoked ones only on request', async () => {
    const { store, drop } = await open();
    for (const n of [3, 1, 2, 5, 4])
      await store.saveApiKey(apiKey(`${n}`, { createdMs: startMs + (n >> 1) }));
    await stored(store, change('prj_a', revoke('4', startMs + 10), revoke('2', startMs + 20, startMs + 10)));
    const page = async (filter: { liveAtMs?: number }, after?: { ms: number; id: string }) =>
      (await store.apiKeys('prj_a', filter, { ...(after === undefined ? {} : { after }), limit: 2 })).map(
        ({ keyId }) => keyId.slice(4),
      );
    expect(await page({})).toEqual(['5', '4']);
    expect(await page({}, { ms: startMs + 2, id: 'key_4' })).toEqual(['3', '2']);
    expect(await page({}, { ms: startMs + 1, id: 'key_2' })).toEqual(['1']);
    expect(await page({ liveAtMs: startMs + 10 })).toEqual(['5', '3']);
    expect(await page({ liveAtMs: startMs + 10 }, { ms: startMs + 1, id: 'key_3' })).toEqual(['2', '1']);
    expect(await page({ liveAtMs: startMs + 20 }, { ms: startMs + 1, id: 'key_3' })).toEqual(['1']);
    await drop();
  });

  it('keys are created together with their leaf or not at all', async () => {
    const { store, reopen, drop } = await open();
    await stored(store, change('prj_a', save('1')));
    const refused = apply(store, 'prj_a', save('2'), revoke('none', startMs));
    expect(await codeOf(refused)).toBe('NOT_FOUND');
    const again = await reopen();
    expect(await namesOf(again)).toEqual(['key_1']);
    expect(await again.apiKey(apiKey('2').digest)).toBeNull();
    expect((await again.head('prj_a', 'audit')).size).toBe(2);
    await drop();
  });

  it('keys of a project are limited in number, without those that are or will be revoked', async () => {
    const { store, drop } = await open();
    const all = Array.from({ length: limits.keysPerProject }, (_, at) => save(`${at}`));
    await stored(store, change('prj_a', ...all));
    expect(await codeOf(apply(store, 'prj_a', save('more')))).toBe('CONFLICT');
    await stored(store, change('prj_a', revoke('1', startMs + 60_000, startMs), save('more')));
    expect(await codeOf(apply(store, 'prj_a', save('one more')))).toBe('CONFLICT');
    await store.createProject(projectOf('b'), genesis('b'));
    await stored(store, change('prj_b', save('b', { projectId: 'prj_b' })));
    await drop();
  });

  it('a key can be changed until it is revoked', async () => {
    const { store, drop } = await open();
    await stored(store, change('prj_a', save('1')));
    await stored(store, change('prj_a', rename('1', startMs + 5)));
    const changed = apiKey('1', {
      name: 'renamed',
      description: 'why',
      scopes: ['*'],
      expiresMs: startMs + 1000,
      updatedMs: startMs + 5,
    });
    expect(await store.apiKeyOf('prj_a', 'key_1')).toEqual(changed);
    await stored(store, change('prj_a', revoke('1', startMs + 100, startMs + 6)));
    await stored(store, change('prj_a', rename('1', startMs + 99, 'still')));
    expect(await codeOf(apply(store, 'prj_a', rename('1', startMs + 100)))).toBe('NOT_FOUND');
    expect(await codeOf(apply(store, 'prj_a', rename('none', startMs)))).toBe('NOT_FOUND');
    expect(await store.apiKeyOf('prj_a', 'key_1')).toMatchObject({
      name: 'still',
      revokedMs: startMs + 100,
      updatedMs: startMs + 99,
    });
    await drop();
  });

  it('a key is revoked once, and its end is never moved to a later time', async () => {
    const { store, drop } = await open();
    await stored(store, change('prj_a', save('1'), save('2')));
    const endOf = async (id: string) => (await store.apiKeyOf('prj_a', `key_${id}`))?.revokedMs;
    await stored(store, change('prj_a', revoke('1', startMs + 100, startMs)));
    await stored(store, change('prj_a', revoke('1', startMs + 500, startMs)));
    expect(await endOf('1')).toBe(startMs + 100);
    await stored(store, change('prj_a', revoke('1', startMs + 50)));
    expect(await endOf('1')).toBe(startMs + 50);
    expect(await codeOf(apply(store, 'prj_a', revoke('1', startMs + 50)))).toBe('NOT_FOUND');
    expect(await codeOf(apply(store, 'prj_a', revoke('none', startMs)))).toBe('NOT_FOUND');
    expect(await endOf('2')).toBeNull();
    await drop();
  });

  it('a key of another project is not found', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await stored(store, change('prj_a', save('1')));
    expect(await codeOf(apply(store, 'prj_b', revoke('1', startMs)))).toBe('NOT_FOUND');
    expect(await codeOf(apply(store, 'prj_b', rename('1', startMs)))).toBe('NOT_FOUND');
    expect(await store.apiKeyOf('prj_a', 'key_1')).toEqual(apiKey('1'));
    await drop();
  });

  it('key changes see the earlier requests of the same commit', async () => {
    const { store, drop } = await open();
    const results = await Promise.allSettled([
      apply(store, 'prj_a', save('1')),
      apply(store, 'prj_a', revoke('1', startMs)),
      apply(store, 'prj_a', rename('1', startMs)),
      apply(store, 'prj_a', save('2')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await namesOf(store, startMs)).toEqual(['key_2']);
    await drop();
  });
});

describe('the last use of credentials', () => {
  const minute = 60_000;

  it('the last use of a credential is stored to the minute and never runs backwards', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const id = { projectId: 'prj_x_live', keyId: 'key_prj_x_live' };
    await stored(store, change('prj_x_live', { kind: 'openSession', session: session('x') }));
    const { digest } = session('x');
    const read = async () => [
      (await store.apiKeyOf(id.projectId, id.keyId))?.lastUsedMs,
      (await store.session(digest))?.session.lastUsedMs,
    ];
    const use = async (atMs: number) =>
      store.used([
        { ...id, atMs },
        { digest, atMs },
      ]);
    await use(startMs + 3 * minute + 59_999);
    expect(await read()).toEqual([startMs + 3 * minute, startMs + 3 * minute]);
    await use(startMs + 2 * minute);
    expect(await read()).toEqual([startMs + 3 * minute, startMs + 3 * minute]);
    await use(startMs + 4 * minute);
    expect(await read()).toEqual([startMs + 4 * minute, startMs + 4 * minute]);
    await drop();
  });

  it('the use of a session that has ended is ignored', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const { digest } = session('x');
    const end: Effect = { kind: 'endSession', digest, atMs: startMs + 5 };
    await stored(store, change('prj_x_live', { kind: 'openSession', session: session('x') }, end));
    await store.used([{ digest, atMs: startMs + 5 * minute }]);
    const ended = session('x', { endedMs: startMs + 5 });
    expect((await store.session(digest))?.session).toEqual(ended);
    await drop();
  });

  it('the use of an unknown credential is ignored', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.used([
      { projectId: 'prj_none', keyId: 'key_prj_x_live', atMs: startMs },
      { projectId: 'prj_x_test', keyId: 'key_prj_x_live', atMs: startMs },
      { digest: Buffer.alloc(32, 9), atMs: startMs },
      { projectId: 'prj_x_live', keyId: 'key_prj_x_live', atMs: startMs },
    ]);
    await store.used([]);
    expect((await store.apiKeyOf('prj_x_live', 'key_prj_x_live'))?.lastUsedMs).toBe(startMs);
    expect((await store.apiKeyOf('prj_x_test', 'key_prj_x_test'))?.lastUsedMs).toBeNull();
    await drop();
  });
});
