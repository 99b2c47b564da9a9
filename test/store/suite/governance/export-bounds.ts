/** How many exports a project may have, and which of them end first. */
import { describe, expect, it } from 'vitest';
import type { ExportDone, ExportHoldings, Store } from '../../../../src/store/port/store.ts';
import { create, createWithin, done, finish, idsOf, lease } from '../../support/exporting.ts';
import { codeOf, genesis, projectOf, startMs } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

describe('the limits of exports', () => {
  const bound = { open: 2, kept: 3, keptBytes: 1000 };
  const held = (store: Store) => store.heldExports('prj_a');
  const make = async (store: Store, id: string, more: Partial<ExportDone> = {}) => {
    await createWithin(store, id, { createdMs: startMs + Number(id), most: bound });
    const claim = await store.claimJob(startMs + 50, lease);
    await finish(store, id, claim!.lease, done({ sizeBytes: 10, ...more }));
  };
  const another = (store: Store, id: string, more: Partial<ExportHoldings> = {}) =>
    codeOf(createWithin(store, id, { most: { ...bound, ...more } }));

  it('unfinished exports of a project are limited, also within one commit', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const codes = await Promise.all(['1', '2', '3'].map((id) => another(store, id)));
    expect(codes.toSorted()).toEqual(['RATE_LIMITED', 'none', 'none']);
    expect(await held(store)).toEqual({ open: 2, kept: 0, keptBytes: 0 });
    expect(await another(store, '4')).toBe('RATE_LIMITED');
    await createWithin(store, '5', { projectId: 'prj_b', most: bound });
    // one that failed for good, and one that is finished, make room
    const claim = await store.claimJob(startMs + 5, lease);
    const failure = { lease: claim!.lease, errorSummary: 'no', atMs: startMs + 6, retryAtMs: null };
    await store.failJob('prj_a', claim!.jobId, failure);
    expect(await held(store)).toEqual({ open: 1, kept: 0, keptBytes: 0 });
    expect(await another(store, '6')).toBe('none');
    await drop();
  });

  it('kept exports of a project are limited in number and bytes until they are removed', async () => {
    const { store, drop } = await open();
    await make(store, '1');
    await make(store, '2', { sizeBytes: 989, completedMs: startMs + 10 });
    expect(await held(store)).toEqual({ open: 0, kept: 2, keptBytes: 999 });
    expect(await another(store, '3')).toBe('none');
    expect(await another(store, '4')).toBe('EXPORT_LIMIT');
    expect(await another(store, '4', { kept: 4, keptBytes: 999 })).toBe('EXPORT_LIMIT');
    expect(await another(store, '4', { kept: 4 })).toBe('none');
    // past its time it still lies there
    await store.expireExport('prj_a', 'exp_2', startMs + 100);
    expect(await held(store)).toEqual({ open: 2, kept: 2, keptBytes: 999 });
    await store.markExportRemoved('prj_a', 'exp_2');
    expect(await held(store)).toEqual({ open: 2, kept: 1, keptBytes: 10 });
    await drop();
  });

  it('the byte limit of exports applies when they finish, also to two in one commit', async () => {
    const { store, drop } = await open();
    for (const id of ['1', '2', '3', '4']) await create(store, id, { createdMs: startMs + Number(id) });
    const ends = async (id: string, sizeBytes: number) => {
      const claim = await store.claimJob(startMs + 50, lease);
      return () => codeOf(finish(store, id, claim!.lease, done({ sizeBytes }), bound));
    };
    const [one, two, three] = [await ends('1', 600), await ends('2', 600), await ends('3', 401)];
    const codes = await Promise.all([one!(), two!()]);
    expect(codes).toEqual(['none', 'EXPORT_LIMIT']);
    expect(await three!()).toBe('EXPORT_LIMIT');
    expect(await (await ends('4', 400))()).toBe('none');
    expect(await held(store)).toEqual({ open: 2, kept: 2, keptBytes: 1000 });
    await drop();
  });

  it('the exports that finished first expire first to make room', async () => {
    const { store, drop } = await open();
    await make(store, '1', { completedMs: startMs + 90 });
    await make(store, '2', { completedMs: startMs + 80 });
    const oldest = async (atMs: number, limit = 10) =>
      idsOf(await store.oldestExports(atMs, { leastBytes: 10, limit }));
    expect(await oldest(startMs + 100)).toEqual(['exp_2', 'exp_1']);
    expect(await oldest(startMs + 100, 1)).toEqual(['exp_2']);
    const larger = await store.oldestExports(startMs + 100, { leastBytes: 11, limit: 10 });
    expect(larger).toEqual([]);
    const [first] = await store.oldestExports(startMs + 100, { leastBytes: 10, limit: 1 });
    expect(first).toEqual({ projectId: 'prj_a', exportId: 'exp_2', sizeBytes: 10 });
    await store.expireExport('prj_a', 'exp_2', startMs + 100);
    await store.expireExport('prj_a', 'exp_2', startMs + 200);
    expect(await oldest(startMs + 100)).toEqual(['exp_1']);
    expect(await store.exported('prj_a', 'exp_2', startMs + 100)).toMatchObject({
      status: 'expired',
      done: { expiresMs: startMs + 100 },
    });
    expect(idsOf(await store.removableExports(startMs + 100, 10))).toEqual(['exp_2']);
    expect(await oldest(startMs + 1000)).toEqual([]);
    await drop();
  });
});
