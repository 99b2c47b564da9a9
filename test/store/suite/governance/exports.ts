/** Exports: asked for with their job, completed once, expired, removed; all times are given. */
import { describe, expect, it } from 'vitest';
import { draftLeaf } from '../../../../src/core/events/record.ts';
import type { ExportDone, Store, StoredExport } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { digestsOf, erasing } from '../../support/erasing.ts';
import {
  appended,
  codeOf,
  event,
  genesis,
  projectOf,
  request,
  startMs,
  retryJob,
  stored,
} from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { create, done, finish, idsOf, lease, unmetered, waiting } from '../../support/exporting.ts';

describe('exports', () => {
  it('a new export is pending with its job, and no list of jobs contains that job', async () => {
    const { store, reopen, drop } = await open();
    const exported = await create(store, '1', { includeProof: true, resource: 'jobs', format: 'csv' });
    const again = await reopen();
    expect(await again.exported('prj_a', 'exp_1', startMs)).toEqual({ ...exported, ...waiting });
    expect(await again.exported('prj_a', 'exp_2', startMs)).toBeNull();
    expect(await again.job('prj_a', 'job_1')).toBeNull();
    expect(await again.jobWithResult('prj_a', 'exp_1')).toBeNull();
    expect(await again.jobs('prj_a', {}, { limit: 10 })).toEqual([]);
    expect(await retryJob(again, 'job_1', startMs)).toBe('CONFLICT');
    expect(await again.claimJob(startMs + 5, lease)).toMatchObject({
      type: 'export',
      jobId: 'job_1',
      resultId: 'exp_1',
    });
    expect(await again.exported('prj_a', 'exp_1', startMs)).toMatchObject({
      status: 'processing',
      startedMs: startMs + 5,
    });
    await drop();
  });

  it('an export is completed once and as a whole by the owner of the lease', async () => {
    const { store, reopen, drop } = await open();
    await create(store, '1');
    const claim = await store.claimJob(startMs + 5, lease);
    expect(await codeOf(finish(store, '1', 'another'))).toBe('CONFLICT');
    expect(await store.exported('prj_a', 'exp_1', startMs)).toMatchObject({
      status: 'processing',
      done: null,
    });
    await finish(store, '1', claim!.lease);
    expect(await codeOf(finish(store, '1', claim!.lease, done({ artifact: 'a2' })))).toBe('CONFLICT');
    const again = await reopen();
    expect(await again.exported('prj_a', 'exp_1', startMs + 999)).toMatchObject({
      status: 'completed',
      startedMs: startMs + 5,
      done: done(),
    });
    expect(await again.exported('prj_a', 'exp_1', startMs + 1000)).toMatchObject({ status: 'expired' });
    await drop();
  });

  it('an export cannot be completed twice in one commit', async () => {
    const { store, drop } = await open();
    await create(store, '1');
    const claim = await store.claimJob(startMs + 5, lease);
    const codes = await Promise.all([1, 2].map(() => codeOf(finish(store, '1', claim!.lease))));
    expect(codes.toSorted()).toEqual(['CONFLICT', 'none']);
    await drop();
  });

  it('an export fails with its job and reports the reason', async () => {
    const { store, drop } = await open();
    await create(store, '1');
    const claim = await store.claimJob(startMs + 5, lease);
    const failure = { lease: claim!.lease, errorSummary: 'STORAGE_FULL: \0 full', atMs: startMs + 6 };
    await store.failJob('prj_a', 'job_1', { ...failure, retryAtMs: startMs + 50 });
    expect(await store.exported('prj_a', 'exp_1', startMs)).toMatchObject({
      status: 'pending',
      errorSummary: 'STORAGE_FULL: \0 full',
    });
    expect(await store.removableExports(startMs + 100, 10)).toEqual([]);
    const again = await store.claimJob(startMs + 60, lease);
    await store.failJob('prj_a', 'job_1', { ...failure, lease: again!.lease, retryAtMs: null });
    expect(await store.exported('prj_a', 'exp_1', startMs)).toMatchObject({ status: 'failed' });
    expect(await store.removableExports(startMs, 10)).toEqual([{ projectId: 'prj_a', exportId: 'exp_1' }]);
    await drop();
  });

  it('exports are listed newest first, by resource and by their status at the time', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await create(store, '1');
    await create(store, '2', { createdMs: startMs + 2, resource: 'replays' });
    await create(store, '3', { createdMs: startMs + 2 });
    await create(store, '4', { createdMs: startMs + 3, projectId: 'prj_b' });
    const claim = await store.claimJob(startMs + 5, lease);
    expect(claim!.resultId).toBe('exp_1');
    await finish(store, '1', claim!.lease);
    const list = async (filter: object, page: object = {}) =>
      idsOf(await store.exports('prj_a', { atMs: startMs, ...filter }, { limit: 10, ...page }));
    expect(await list({})).toEqual(['exp_3', 'exp_2', 'exp_1']);
    expect(await list({}, { limit: 1 })).toEqual(['exp_3']);
    expect(await list({}, { after: { ms: startMs + 2, id: 'exp_3' } })).toEqual(['exp_2', 'exp_1']);
    expect(await list({ resource: 'replays' })).toEqual(['exp_2']);
    expect(await list({ status: 'pending' })).toEqual(['exp_3', 'exp_2']);
    expect(await list({ status: 'completed' })).toEqual(['exp_1']);
    expect(await list({ status: 'completed', atMs: startMs + 1000 })).toEqual([]);
    expect(await list({ status: 'expired', atMs: startMs + 1000 })).toEqual(['exp_1']);
    expect(await list({ status: 'expired', resource: 'replays', atMs: startMs + 1000 })).toEqual([]);
    expect(await store.exported('prj_b', 'exp_1', startMs)).toBeNull();
    expect(idsOf(await store.exports('prj_b', { atMs: startMs }, { limit: 10 }))).toEqual(['exp_4']);
    await drop();
  });

  it('expired exports of all projects are removed', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    for (const id of ['1', '2']) {
      await create(store, id);
      const claim = await store.claimJob(startMs + 5, lease);
      await finish(store, id, claim!.lease, done({ expiresMs: startMs + 1000 + Number(id) }));
    }
    await create(store, '3', { projectId: 'prj_b' });
    const removable = async (atMs: number, limit = 10) =>
      idsOf(await store.removableExports(atMs, limit)).toSorted();
    expect(await removable(startMs + 1000)).toEqual([]);
    expect(await removable(startMs + 1001)).toEqual(['exp_1']);
    expect(await removable(startMs + 1002)).toEqual(['exp_1', 'exp_2']);
    expect((await removable(startMs + 1002, 1)).length).toBe(1);
    await store.markExportRemoved('prj_a', 'exp_1');
    await store.markExportRemoved('prj_a', 'exp_1');
    expect(await removable(startMs + 1002)).toEqual(['exp_2']);
    expect(await store.exported('prj_a', 'exp_1', startMs + 2000)).toMatchObject({ status: 'expired' });
    await drop();
  });
});

describe('an export with erased events', () => {
  const from = (firstSequence: number | null, lastSequence: number | null) =>
    done({
      expiresMs: startMs + 1e9,
      manifest: JSON.stringify({ treeSize: 9, rootHash: '', firstSequence, lastSequence }),
    });
  /** An erasure of leaf 2 of prj_a. */
  async function filled() {
    const world = await open();
    const made = await appended(world.store, request([event(), event(), event()]));
    expect(made.map(({ index }) => index)).toEqual([1, 2, 3]);
    const leaf = (await world.store.leaf('prj_a', 2))!;
    return {
      ...world,
      erase: () => stored(world.store, erasing([{ index: 2, digests: [...digestsOf(leaf).values()] }])),
    };
  }

  it('an erasure expires the exports whose rows it may affect, and no others', async () => {
    const { store, erase, drop } = await filled();
    const kept: [string, ExportDone, Partial<StoredExport>][] = [
      ['1', from(2, 2), {}],
      ['2', from(1, 3), { resource: 'policy_evaluations' }],
      ['3', from(0, 2), { resource: 'risk_decisions' }],
      ['4', from(0, 1), {}],
      ['5', from(3, 4), {}],
      ['6', from(null, null), {}],
      ['7', from(1, 3), { resource: 'compliance_proofs' }],
      ['8', from(null, null), { resource: 'jobs' }],
    ];
    for (const [id, made, more] of kept) {
      await create(store, id, { ...more, createdMs: startMs + Number(id) });
      await finish(store, id, (await store.claimJob(startMs + 50, lease))!.lease, made);
    }
    await erase();
    const states = await Promise.all(
      kept.map(async ([id]) => (await store.exported('prj_a', `exp_${id}`, startMs + 1e6))!.status),
    );
    expect(states).toEqual([...Array(3).fill('expired'), ...Array(5).fill('completed')]);
    const removable = idsOf(await store.removableExports(startMs + 1e6, 10)).toSorted();
    expect(removable).toEqual(['exp_1', 'exp_2', 'exp_3']);
    await drop();
  });

  it('an erasure restarts an export that is being built, so that it completes with no erased value', async () => {
    const { store, erase, drop } = await filled();
    await create(store, '1', { treeSize: 3 });
    await create(store, '2', { treeSize: 2, createdMs: startMs + 1 });
    await create(store, '3', { treeSize: 3, createdMs: startMs + 2, resource: 'jobs' });
    const claims = [1, 2, 3].map(async () => (await store.claimJob(startMs + 50, lease))!);
    const [one, two, three] = await Promise.all(claims);
    await erase();
    expect(await codeOf(finish(store, '1', one!.lease, from(1, 2)))).toBe('CONFLICT');
    await finish(store, '2', two!.lease, from(1, 1));
    await finish(store, '3', three!.lease, from(null, null));
    const again = await store.claimJob(startMs + 1e6, lease);
    expect(again).toMatchObject({ jobId: 'job_1', attempt: 1 });
    await finish(store, '1', again!.lease, from(1, 2));
    expect(await store.exported('prj_a', 'exp_1', startMs + 1e6)).toMatchObject({ status: 'completed' });
    await drop();
  });

  it('an export is not completed after an erasure in one commit, and expires when it came before', async () => {
    const { store, erase, drop } = await filled();
    for (const id of ['1', '2']) await create(store, id, { treeSize: 3, createdMs: startMs + Number(id) });
    const [one, two] = [await store.claimJob(startMs + 50, lease), await store.claimJob(startMs + 50, lease)];
    const outcomes = [
      finish(store, '1', one!.lease, from(1, 2)),
      erase(),
      finish(store, '2', two!.lease, from(1, 2)),
    ];
    expect(await Promise.all(outcomes.map((each) => codeOf(each)))).toEqual(['none', 'none', 'CONFLICT']);
    expect(await store.exported('prj_a', 'exp_1', startMs + 1e6)).toMatchObject({ status: 'expired' });
    expect(await store.exported('prj_a', 'exp_2', startMs + 1e6)).toMatchObject({ status: 'pending' });
    await drop();
  });
});

describe('the reads of an export', () => {
  const logged = (store: Store, effect: Effect) =>
    stored(store, request([draftLeaf('gov.proof/1', { n: 1 })], { meter: unmetered, effects: [effect] }));
  const proof = (id: string, runId: string): Effect => ({
    kind: 'saveProof',
    proof: {
      proofId: `prf_${id}`,
      runId,
      // a clock that was set back
      createdMs: startMs - Number(id),
      proof: `{"n":${id}}`,
      preimage: '',
      statements: {},
      treeSize: 1,
      graphIndex: null,
    },
    leaf: 0,
  });
  const graph = (id: string, runId: string): Effect => ({
    kind: 'saveGraph',
    graph: {
      graphId: `grp_${id}`,
      runId,
      events: 1,
      declarationHash: null,
      rootHash: 'sha256:1',
      summary: '{}',
    },
    leaf: 0,
  });

  it('proofs for an export are read below a tree size, of all runs or one, in pages', async () => {
    const { store, drop } = await open();
    for (const [id, runId] of ['r1', 'r2', 'r1', 'r1'].entries()) await logged(store, proof(`${id}`, runId));
    const ids = async (filter: object, page: object = {}) => {
      const proofs = await store.loggedProofs('prj_a', { beforeIndex: 4, ...filter }, { limit: 9, ...page });
      return proofs.map(({ proofId, leafIndex }) => `${proofId} ${leafIndex}`);
    };
    expect(await ids({})).toEqual(['prf_0 1', 'prf_1 2', 'prf_2 3']);
    expect(await ids({ runId: 'r1' })).toEqual(['prf_0 1', 'prf_2 3']);
    expect(await ids({}, { limit: 1 })).toEqual(['prf_0 1']);
    expect(await ids({}, { after: 1 })).toEqual(['prf_1 2', 'prf_2 3']);
    expect(await ids({ beforeIndex: 9 }, { after: 3 })).toEqual(['prf_3 4']);
    await drop();
  });

  it('the newest graph of each run below a tree size is read for an export', async () => {
    const { store, drop } = await open();
    for (const [id, runId] of ['r1', 'r2', 'r1', 'r1'].entries()) await logged(store, graph(`${id}`, runId));
    const ids = async (filter: object, page: object = {}) => {
      const graphs = await store.loggedGraphs('prj_a', { beforeIndex: 4, ...filter }, { limit: 9, ...page });
      return graphs.map(({ graphId }) => graphId);
    };
    expect(await ids({})).toEqual(['grp_1', 'grp_2']);
    expect(await ids({}, { after: 2 })).toEqual(['grp_2']);
    expect(await ids({}, { limit: 1 })).toEqual(['grp_1']);
    expect(await ids({ beforeIndex: 2 })).toEqual(['grp_0']);
    expect(await ids({ beforeIndex: 9 })).toEqual(['grp_1', 'grp_3']);
    expect(await ids({ runId: 'r2' })).toEqual(['grp_1']);
    await drop();
  });
});
