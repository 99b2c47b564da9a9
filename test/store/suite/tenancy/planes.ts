/** Data planes: registered, enrolled, given new secrets, revoked; found by what they have. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/store/port/store.ts';
import { enrolled, keep, plane, save, secrets } from '../../support/data-planes.ts';
import { codeOf, genesis, projectOf, startMs } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { digestOf, tenant } from '../../support/tenants.ts';

describe('data planes', () => {
  it('each registration, enrolment, new secret and revocation of a plane raises its revision', async () => {
    const { store, reopen, drop } = await open();
    const read = async (from: Store) => from.plane('prj_a', 'dpl_1');
    await keep(store, [save(plane('1'))]);
    expect(await read(store)).toEqual(plane('1'));
    const joined = plane('1', { enrolled: enrolled('1'), revision: 2 });
    await keep(store, [save(joined)]);
    expect(await read(store)).toEqual(joined);
    const previous = { ...secrets('1'), untilMs: startMs + 50 };
    const rotated = plane('1', {
      enrolled: enrolled('1', { current: secrets('1b'), previous }),
      revision: 3,
    });
    await keep(store, [save(rotated)]);
    const gone = { ...rotated, revokedMs: startMs + 5, revision: 4 };
    await keep(store, [save(gone)]);
    expect(await read(await reopen())).toEqual(gone);
    await drop();
  });

  it('a data plane is changed only at the revision that was read', async () => {
    const { store, drop } = await open();
    const attempt = async (revision: number, id = '1') =>
      codeOf(keep(store, [save(plane(id, { name: `${revision}`, revision }))]));
    expect(await attempt(2)).toBe('CONFLICT');
    expect(await attempt(1)).toBe('none');
    expect(await attempt(1)).toBe('CONFLICT');
    expect(await attempt(3)).toBe('CONFLICT');
    const two = await Promise.all([attempt(2), attempt(2)]);
    expect(two.toSorted()).toEqual(['CONFLICT', 'none']);
    expect(await store.plane('prj_a', 'dpl_1')).toEqual(plane('1', { name: '2', revision: 2 }));
    await drop();
  });

  it('a revoked data plane stays revoked until it enrols again, with its revocation time', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1', { enrolled: enrolled('1'), revokedMs: startMs }))]);
    const gone = plane('1', { enrolled: enrolled('1'), revokedMs: startMs, revision: 2 });
    expect(await codeOf(keep(store, [save({ ...gone, revokedMs: startMs + 1 })]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [save({ ...gone, enrolled: null, revokedMs: null })]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [save(gone)]))).toBe('none');
    const formerKeys = [{ verifierKey: 'v', auditVerifierKey: 'a', untilMs: startMs }];
    const anew = enrolled('1', { verifierKey: 'v2', formerKeys, current: secrets('1b') });
    const back = plane('1', { enrolled: anew, tokenUsedMs: startMs + 3, revision: 3 });
    expect(await codeOf(keep(store, [save(back)]))).toBe('none');
    expect(await store.plane('prj_a', 'dpl_1')).toEqual(back);
    await drop();
  });

  it.each(['origin', 'auditOrigin', 'verifierKey'] as const)(
    'data planes have an %s of their own in all projects, also after they were revoked',
    async (claim) => {
      const { store, drop } = await open();
      await store.createProject(projectOf('b'), genesis('b'));
      await keep(store, [save(plane('1', { enrolled: enrolled('1'), revokedMs: startMs }))]);
      const taken = enrolled('1')[claim];
      const second = (text: string, id = '2') =>
        save(plane(id, { enrolled: enrolled(id, { [claim]: text }) }));
      const told = async (project: string): Promise<string> =>
        keep(store, [second(taken)], project).then(String, ({ message }: Error) => message);
      expect(await codeOf(keep(store, [second(taken)], 'prj_b'))).toBe('CONFLICT');
      expect(await told('prj_b')).toContain('of a data plane of another project:');
      expect(await told('prj_b')).not.toContain('dpl_1');
      expect(await codeOf(keep(store, [second(taken)]))).toBe('CONFLICT');
      expect(await told('prj_a')).toContain('gov planes token dpl_1');
      expect(await codeOf(keep(store, [second('k'), second('k', '3')]))).toBe('CONFLICT');
      const both = await Promise.all([
        codeOf(keep(store, [second('k')], 'prj_b')),
        codeOf(keep(store, [second('k', '3')])),
      ]);
      expect(both.toSorted()).toEqual(['CONFLICT', 'none']);
      await drop();
    },
  );

  it('data planes are listed newest first, in pages, for each project separately', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await keep(
      store,
      [3, 1, 2, 5, 4].map((n) => save(plane(`${n}`, { createdMs: startMs + (n >> 1) }))),
    );
    await keep(store, [save(plane('6'))], 'prj_b');
    const page = async (projectId: string, after?: { ms: number; id: string }) =>
      (await store.planes(projectId, { ...(after === undefined ? {} : { after }), limit: 2 })).map(
        ({ planeId }) => planeId.slice(4),
      );
    expect(await page('prj_a')).toEqual(['5', '4']);
    expect(await page('prj_a', { ms: startMs + 2, id: 'dpl_4' })).toEqual(['3', '2']);
    expect(await page('prj_a', { ms: startMs + 1, id: 'dpl_2' })).toEqual(['1']);
    expect(await page('prj_b')).toEqual(['6']);
    expect(await store.plane('prj_b', 'dpl_1')).toBeNull();
    await drop();
  });

  it('a data plane is found by its key, its previous key and its token', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const mine = plane('1', {
      projectId: 'prj_x_live',
      enrolled: enrolled('1', { previous: { ...secrets('old'), untilMs: startMs } }),
    });
    await keep(store, [save(mine)], 'prj_x_live');
    const found = {
      plane: mine,
      project: tenant('x').projects[0]!.stored.project,
      stored: await store.storedProject('org_x', 'prj_x_live'),
    };
    expect(await store.planeOfKey(secrets('1').keyDigest)).toEqual(found);
    expect(await store.planeOfKey(secrets('old').keyDigest)).toEqual(found);
    expect(await store.planeOfToken(mine.tokenDigest)).toEqual(found);
    expect(await store.planeOfKey(mine.tokenDigest)).toBeNull();
    expect(await store.planeOfToken(secrets('1').keyDigest)).toBeNull();
    expect(await store.planeOfKey(digestOf('none'))).toBeNull();
    await drop();
  });
});
