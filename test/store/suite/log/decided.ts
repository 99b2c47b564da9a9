/** Leaves of decisions: found by id, by run and by type, in pages below a tree size; snapshots; last decisions. */
import { describe, expect, it } from 'vitest';
import { draftApproval } from '../../../../src/core/decided/approval.ts';
import { openEvaluation } from '../../../../src/core/decided/evaluation.ts';
import { openLeaf } from '../../../../src/core/decided/leaf.ts';
import type { OtherDraft } from '../../../../src/core/events/record.ts';
import { indexedLeaves } from '../../../../src/store/port/rows.ts';
import type { IndexedLeaf, Store } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { appended, codeOf, event, genesis, projectOf, request, salt, stored } from '../../support/fixture.ts';
import {
  configure,
  evaluation,
  policyLeaf,
  replay,
  riskDecision,
  snapshot,
  unmetered,
} from '../../support/governance.ts';
import { open } from '../../support/engine.ts';

const approvalLeaf = draftApproval(
  {
    id: 'apr_1',
    runId: 'r1',
    evaluationId: 'pev_1',
    outcome: 'approved',
    at: '2026-01-01T00:00:00Z',
    approver: 'key_2',
    reason: null,
  },
  salt,
);

const [configLeaf] = configure('{}').leaves;

const indexes = async (
  store: Store,
  filter: Parameters<Store['leavesOf']>[1],
  page: Partial<Parameters<Store['leavesOf']>[2]> = {},
): Promise<number[]> =>
  (await store.leavesOf('prj_a', filter, { limit: 100, order: 'asc', ...page })).map(({ index }) => index);

describe('decision leaves', () => {
  it.each([
    ['gov.evaluation/1', evaluation('1'), 'pev_1'],
    ['gov.decision/1', riskDecision('1'), 'dec_1'],
    ['gov.approval/1', approvalLeaf, 'apr_1'],
    ['gov.replay/1', replay('1'), 'rpl_1'],
    ['gov.snapshot/1', snapshot(), null],
    ['gov.policy/1', policyLeaf('1'), null],
    ['gov.config/1', configLeaf as OtherDraft, null],
  ] as const)('a leaf of type %s is found again with its body', async (type, draft, id) => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const [first] = await appended(store, unmetered([draft]));
    const again = await reopen();
    const expected = { index: first!.index, record: draft.record, disclosures: draft.disclosures };
    expect(await again.leavesOf('prj_a', { type }, { limit: 9, order: 'asc' })).toMatchObject([expected]);
    if (draft.runId !== null) {
      const ofRun = { type, runId: 'r1' };
      expect(await again.leavesOf('prj_a', ofRun, { limit: 9, order: 'desc' })).toMatchObject([expected]);
      expect(await indexes(again, { type, runId: 'other' })).toEqual([]);
    }
    for (const other of indexedLeaves.filter((each) => each !== type)) {
      expect(await indexes(again, { type: other })).toEqual([]);
      if (id !== null) expect(await again.leafOf('prj_a', other, id)).toBeNull();
    }
    if (id !== null) expect(await again.leafOf('prj_a', type, id)).toMatchObject(expected);
    expect(await again.leafOf('prj_a', type, 'none')).toBeNull();
    expect(await again.leavesOf('prj_b', { type }, { limit: 9, order: 'asc' })).toEqual([]);
    if (id !== null) expect(await again.leafOf('prj_b', type, id)).toBeNull();
    await drop();
  });

  it('decision leaves are read in either order, in pages and below a tree size', async () => {
    const { store, drop } = await open();
    for (let n = 0; n < 6; n += 1) {
      await appended(store, request([event()]));
      const runId = n % 2 === 0 ? 'r1' : 'r2';
      await appended(store, unmetered([evaluation(`${n}`, { runId }), riskDecision(`${n}`, runId)]));
    }
    const type: IndexedLeaf = 'gov.evaluation/1';
    // 0 is the genesis; then an event, an evaluation and a risk decision by turns
    expect(await indexes(store, { type })).toEqual([2, 5, 8, 11, 14, 17]);
    expect(await indexes(store, { type }, { order: 'desc', limit: 2 })).toEqual([17, 14]);
    expect(await indexes(store, { type }, { order: 'desc', limit: 2, after: 14 })).toEqual([11, 8]);
    expect(await indexes(store, { type }, { limit: 2, after: 5 })).toEqual([8, 11]);
    expect(await indexes(store, { type, runId: 'r1' })).toEqual([2, 8, 14]);
    expect(await indexes(store, { type, runId: 'r1' }, { order: 'desc', after: 14 })).toEqual([8, 2]);
    expect(await indexes(store, { type, runId: 'r2' }, { after: 5, limit: 1 })).toEqual([11]);
    expect(await indexes(store, { type, beforeIndex: 11 })).toEqual([2, 5, 8]);
    expect(await indexes(store, { type, beforeIndex: 12 }, { order: 'desc', limit: 1 })).toEqual([11]);
    expect(await indexes(store, { type, beforeIndex: 12 }, { order: 'desc', after: 8 })).toEqual([5, 2]);
    expect(await indexes(store, { type, beforeIndex: 5 }, { order: 'desc', after: 17 })).toEqual([2]);
    expect(await indexes(store, { type, runId: 'r2', beforeIndex: 5 })).toEqual([]);
    const leaf = await store.leafOf('prj_a', type, 'pev_3');
    expect(openEvaluation(openLeaf(leaf!))).toMatchObject({ id: 'pev_3', runId: 'r2' });
    await drop();
  });

  it('a decision leaf is found, whatever else its request and its commit contain', async () => {
    const { store, drop } = await open();
    const many = Array.from({ length: 70 }, (_, n) => evaluation(`many-${n}`, { runId: `r${n % 3}` }));
    await Promise.all([store.append(unmetered(many)), store.append(unmetered([evaluation('last')]))]);
    expect(await indexes(store, { type: 'gov.evaluation/1' })).toEqual(
      Array.from({ length: 71 }, (_, n) => n + 1),
    );
    for (const n of [0, 15, 16, 69]) {
      expect((await store.leafOf('prj_a', 'gov.evaluation/1', `pev_many-${n}`))?.index).toBe(n + 1);
    }
    await drop();
  });
});

describe('a snapshot of a run', () => {
  const claim = (runId: string): Effect => ({ kind: 'claimSnapshot', runId });
  const take = (runId: string) => unmetered([snapshot(runId)], [claim(runId)]);

  it('a snapshot of a run is taken once, and the first one stays, in its own project', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const results = await Promise.allSettled([
      store.append(take('r1')),
      store.append(take('r1')),
      store.append(take('r2')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const again = await reopen();
    await expect(again.append(take('r1'))).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'expected a run without a snapshot, got run r1, which has one; the first one stays',
    });
    expect(await indexes(again, { type: 'gov.snapshot/1' })).toEqual([1, 2]);
    await stored(again, { ...take('r1'), projectId: 'prj_b' });
    await drop();
  });

  it('a snapshot is not claimed by a request that another effect refuses', async () => {
    const { store, drop } = await open();
    const refused: Effect = {
      kind: 'decideApproval',
      approvalId: 'none',
      outcome: 'denied',
      by: 'k',
      comment: null,
      atMs: 1,
    };
    expect(await codeOf(store.append(unmetered([snapshot('r1')], [claim('r1'), refused])))).toBe('NOT_FOUND');
    await stored(store, take('r1'));
    expect(await indexes(store, { type: 'gov.snapshot/1', runId: 'r1' })).toEqual([1]);
    await drop();
  });
});

describe('the last decision of a run', () => {
  it('the last decision of a run is the result of its newest evaluation, or null', async () => {
    const { store, reopen, drop } = await open();
    await appended(store, request([event(), event({ runId: 'r2' }), event({ runId: 'r3' })]));
    const last = async (from: Store) =>
      (await from.runs('prj_a', {}, { limit: 9 })).map(({ runId, lastDecision }) => [runId, lastDecision]);
    expect(await last(store)).toEqual([
      ['r3', null],
      ['r2', null],
      ['r1', null],
    ]);
    await appended(
      store,
      unmetered([evaluation('1', { combined: 'deny' }), evaluation('2', { runId: 'r2' })]),
    );
    await appended(store, unmetered([evaluation('3', { combined: 'escalate' }), riskDecision('4')]));
    const again = await reopen();
    expect(await last(again)).toEqual([
      ['r3', null],
      ['r2', 'allow'],
      ['r1', 'escalate'],
    ]);
    expect((await again.run('prj_a', 'r1'))?.lastDecision).toBe('escalate');
    expect((await again.run('prj_a', 'r3'))?.lastDecision).toBeNull();
    await drop();
  });
});
