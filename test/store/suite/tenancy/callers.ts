/** Who asks: credentials are judged as they stand in the transaction of the change. */
import { describe, expect, it } from 'vitest';
import type { RequiredCaller, Store } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { codeOf, request, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import {
  apiKey,
  apply,
  change,
  moreProjects,
  session,
  storedProject,
  tenant,
} from '../../support/tenants.ts';

const at = startMs + 10;

const byKey = (id: string, scopes: readonly string[] = ['log:read'], atMs = at): RequiredCaller => ({
  kind: 'requireCaller',
  credential: { kind: 'key', digest: apiKey(id).digest },
  scopes,
  atMs,
});
const bySession = (name: string, atMs = at): RequiredCaller => ({
  kind: 'requireCaller',
  credential: { kind: 'session', digest: session(name).digest },
  scopes: ['keys:write', 'anything'],
  atMs,
});
const save = (id: string, more: Parameters<typeof apiKey>[1] = {}): Effect => ({
  kind: 'saveApiKey',
  key: apiKey(id, { projectId: 'prj_x_live', ...more }),
});
const revoke = (id: string, revokedMs = at, atMs = at): Effect => ({
  kind: 'revokeApiKey',
  keyId: `key_${id}`,
  revokedMs,
  atMs,
});
const narrow = (id: string, scopes: readonly string[]): Effect => ({
  kind: 'changeApiKey',
  keyId: `key_${id}`,
  name: 'narrowed',
  description: null,
  scopes,
  expiresMs: null,
  atMs: at,
});
const rename = (name: string): Effect => ({ kind: 'changeProject', name, atMs: at });
const remove: Effect = { kind: 'changeProject', deletedMs: at, atMs: at };

/** Organization x with project `other` beside its two, and keys in `prj_x_live`. */
async function opened(...keys: readonly (readonly [string, Parameters<typeof apiKey>[1]])[]) {
  const made = await open();
  await made.store.createTenant(tenant('x'));
  await made.store.createTenant(moreProjects(storedProject('x', 'other')));
  for (const [id, more] of keys) await stored(made.store, change('prj_x_live', save(id, more)));
  return made;
}

let count = 0;
/** The code with which a change of the key's own project is refused, of another one, and a new project. */
async function refused(store: Store, by: RequiredCaller): Promise<string[]> {
  const name = `n${count++}`;
  return [
    await codeOf(apply(store, 'prj_x_live', by, save(name))),
    await codeOf(apply(store, 'prj_x_other', by, rename(name))),
    await codeOf(store.createTenant({ ...moreProjects(storedProject('x', `made ${name}`)), by })),
  ];
}
const all = (code: string): string[] => [code, code, code];

describe('a request by key', () => {
  it('a request is accepted while its key is valid and has every required scope', async () => {
    const { store, drop } = await opened(['k', {}], ['all', { scopes: ['*'] }]);
    expect(await refused(store, byKey('k', ['log:read', 'events:write']))).toEqual(all('none'));
    expect(await refused(store, byKey('all', ['keys:write', '*']))).toEqual(all('none'));
    expect(await refused(store, byKey('k', ['log:read', 'keys:write']))).toEqual(all('INSUFFICIENT_SCOPE'));
    expect(await refused(store, byKey('k', ['*']))).toEqual(all('INSUFFICIENT_SCOPE'));
    expect(await refused(store, byKey('nobody'))).toEqual(all('INVALID_CREDENTIAL'));
    await drop();
  });

  it('a request is refused once its key is revoked or narrowed, also within one commit', async () => {
    const { store, reopen, drop } = await opened(['k', {}], ['l', {}], ['m', { scopes: ['*'] }]);
    const codes = await Promise.all([
      codeOf(apply(store, 'prj_x_live', byKey('k'), save('before'))),
      codeOf(apply(store, 'prj_x_live', revoke('k'))),
      codeOf(apply(store, 'prj_x_live', byKey('k'), save('after'))),
      codeOf(apply(store, 'prj_x_live', narrow('m', ['log:read']))),
      codeOf(apply(store, 'prj_x_live', byKey('m', ['keys:write']), save('wider'))),
      codeOf(apply(store, 'prj_x_live', byKey('l'), save('by another'))),
    ]);
    expect(codes).toEqual(['none', 'none', 'INVALID_CREDENTIAL', 'none', 'INSUFFICIENT_SCOPE', 'none']);
    const again = await reopen();
    expect(await refused(again, byKey('k'))).toEqual(all('INVALID_CREDENTIAL'));
    expect(await refused(again, byKey('m', ['keys:write']))).toEqual(all('INSUFFICIENT_SCOPE'));
    expect(await again.apiKeyOf('prj_x_live', 'key_after')).toBeNull();
    await drop();
  });

  it('a key stays valid within a commit when its revocation there is refused', async () => {
    const { store, drop } = await opened(['k', {}]);
    const codes = await Promise.all([
      codeOf(apply(store, 'prj_x_live', revoke('k'), revoke('none'))),
      codeOf(apply(store, 'prj_x_live', byKey('k'), save('after'))),
    ]);
    expect(codes).toEqual(['NOT_FOUND', 'none']);
    await drop();
  });

  it('a rotated key stays valid until its end time', async () => {
    const { store, drop } = await opened(['k', {}]);
    await stored(store, change('prj_x_live', revoke('k', at + 5)));
    expect(await refused(store, byKey('k', ['log:read'], at + 4))).toEqual(all('none'));
    expect(await refused(store, byKey('k', ['log:read'], at + 5))).toEqual(all('INVALID_CREDENTIAL'));
    await drop();
  });

  it('a key that was revoked at once is invalid, whatever the clock says', async () => {
    const { store, drop } = await opened(['k', {}]);
    await stored(store, change('prj_x_live', revoke('k', at + 90_000, at + 90_000)));
    expect(await refused(store, byKey('k'))).toEqual(all('INVALID_CREDENTIAL'));
    expect(await codeOf(apply(store, 'prj_x_live', narrow('k', ['*'])))).toBe('NOT_FOUND');
    const listed = await store.apiKeys('prj_x_live', { liveAtMs: at }, { limit: 10 });
    expect(listed.map(({ keyId }) => keyId)).not.toContain('key_k');
    await drop();
  });

  it('a key expires by the clock', async () => {
    const { store, drop } = await opened(['k', { expiresMs: at + 5 }]);
    expect(await refused(store, byKey('k', ['log:read'], at + 4))).toEqual(all('none'));
    expect(await refused(store, byKey('k', ['log:read'], at + 5))).toEqual(all('INVALID_CREDENTIAL'));
    await drop();
  });

  it('a key ends with its project and is valid again when the project is restored', async () => {
    const { store, drop } = await opened(['k', {}]);
    const codes = await Promise.all([
      codeOf(apply(store, 'prj_x_live', remove)),
      codeOf(apply(store, 'prj_x_live', byKey('k'), save('after'))),
    ]);
    expect(codes).toEqual(['none', 'INVALID_CREDENTIAL']);
    expect(await refused(store, byKey('k'))).toEqual(all('INVALID_CREDENTIAL'));
    await stored(store, change('prj_x_live', { kind: 'changeProject', deletedMs: null, atMs: at }));
    expect(await refused(store, byKey('k'))).toEqual(all('none'));
    await drop();
  });

  it('a key of a plane works without a project profile until it is revoked', async () => {
    const { store, drop } = await open();
    await store.saveApiKey(apiKey('k'));
    expect(await codeOf(apply(store, 'prj_a', byKey('k')))).toBe('none');
    await stored(store, change('prj_a', revoke('k')));
    expect(await codeOf(apply(store, 'prj_a', byKey('k')))).toBe('INVALID_CREDENTIAL');
    await drop();
  });

  it('a request with a key of one project cannot change the keys of another in the same commit', async () => {
    const { store, drop } = await opened(['k', {}]);
    const codes = await Promise.all([
      codeOf(apply(store, 'prj_x_other', byKey('k'), rename('renamed'))),
      codeOf(apply(store, 'prj_x_other', revoke('k'))),
    ]);
    expect(codes).toEqual(['none', 'NOT_FOUND']);
    expect((await store.apiKeyOf('prj_x_live', 'key_k'))?.revokedMs).toBeNull();
    await drop();
  });

  it('a repeat after the revocation of its key gets the stored answer', async () => {
    const { store, drop } = await opened(['k', {}]);
    const idempotency = { key: 'i', fingerprint: 'f', response: { status: 201, body: '{}', headers: {} } };
    const made = { ...request([]), ...change('prj_x_live', byKey('k'), save('once')), idempotency };
    await stored(store, made);
    await stored(store, change('prj_x_live', revoke('k')));
    expect((await store.append(made)).outcome).toBe('replayed');
    await drop();
  });
});

describe('a request by a person', () => {
  const signIn: Effect = { kind: 'openSession', session: session('x') };
  const signOut: Effect = { kind: 'endSession', digest: session('x').digest, atMs: at };

  it('a person can act until the session ends', async () => {
    const { store, drop } = await opened();
    await stored(store, change('prj_x_live', signIn));
    expect(await refused(store, bySession('x'))).toEqual(all('none'));
    const codes = await Promise.all([
      codeOf(apply(store, 'prj_x_live', bySession('x'), save('before'))),
      codeOf(apply(store, 'prj_x_live', signOut)),
      codeOf(apply(store, 'prj_x_live', bySession('x'), save('after'))),
    ]);
    expect(codes).toEqual(['none', 'none', 'INVALID_CREDENTIAL']);
    expect(await refused(store, bySession('x'))).toEqual(all('INVALID_CREDENTIAL'));
    expect(await refused(store, bySession('nobody'))).toEqual(all('INVALID_CREDENTIAL'));
    await drop();
  });

  it('a person can act until the session expires', async () => {
    const { store, drop } = await opened();
    await stored(store, change('prj_x_live', signIn));
    const { expiresMs } = session('x');
    expect(await refused(store, bySession('x', expiresMs - 1))).toEqual(all('none'));
    expect(await refused(store, bySession('x', expiresMs))).toEqual(all('INVALID_CREDENTIAL'));
    await drop();
  });
});
