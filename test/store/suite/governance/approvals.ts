/** Approvals: opened with their evaluation, decided once and in time, listed by a status that the clock judges. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { AppendRequest, Store } from '../../../../src/store/port/store.ts';
import { genesis, projectOf, startMs, stored } from '../../support/fixture.ts';
import { approval, decideApproval, hourMs, openApproval, useApproval } from '../../support/governance.ts';
import { open } from '../../support/engine.ts';

const expiresMs = startMs + 24 * hourMs;

describe('an approval', () => {
  it('an approval is opened, decided, and read back whole', async () => {
    const { store, reopen, drop } = await open();
    await stored(store, openApproval('1'));
    expect(await store.approval('prj_a', 'apr_1')).toEqual(approval('1'));
    await stored(store, decideApproval('1', 'denied', { atMs: expiresMs - 1 }));
    const again = await reopen();
    const decision = { outcome: 'denied', by: 'key_2', comment: 'seen', atMs: expiresMs - 1 } as const;
    expect(await again.approval('prj_a', 'apr_1')).toEqual(approval('1', { decision }));
    expect(await again.approval('prj_a', 'apr_none')).toBeNull();
    await drop();
  });

  const decidedAt = '2026-01-01T00:00:00.001Z';
  it.each<[string, AppendRequest, string, string]>([
    [
      'decided twice',
      decideApproval('done', 'denied'),
      'CONFLICT',
      `apr_done, approved by key_2 at ${decidedAt}`,
    ],
    [
      'decided once it expired',
      decideApproval('1', 'approved', { atMs: expiresMs }),
      'CONFLICT',
      'apr_1, expired at 2026-01-02T00:00:00.000Z; evaluate again to open another one',
    ],
    [
      'decided though unknown',
      decideApproval('none', 'approved'),
      'NOT_FOUND',
      'expected an approval of this project, got apr_none',
    ],
    [
      'opened once the log is at its end',
      openApproval('2', { requestedMs: startMs - 24 * hourMs, expiresMs: startMs }),
      'CLOCK_BEHIND',
      'got one at 2026-01-01T00:00:00.000Z and a clock at 2025-12-31T00:00:00.000Z',
    ],
    [
      'opened for longer than the limit',
      openApproval('2', { expiresMs: startMs + limits.approvalHours * hourMs + 1 }),
      'INTERNAL',
      'could not be stored',
    ],
  ])('an approval is not %s, and the refused request leaves nothing', async (_, refused, code, message) => {
    const { store, drop } = await open();
    for (const id of ['1', 'done']) await stored(store, openApproval(id));
    await stored(store, decideApproval('done', 'approved'));
    const state = async () => ({
      head: await store.head('prj_a', 'audit'),
      rows: await store.approvals('prj_a', { atMs: startMs }, { limit: 9 }),
      leaves: await store.leavesOf('prj_a', { type: 'gov.approval/1' }, { limit: 9, order: 'asc' }),
    });
    const before = await state();
    await expect(store.append(refused)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    expect(await state()).toEqual(before);
    await drop();
  });

  it('an approval is opened a millisecond before its end by the time of the log', async () => {
    const { store, drop } = await open();
    const times = { requestedMs: startMs + 1 - 24 * hourMs, expiresMs: startMs + 1 };
    await stored(store, openApproval('1', times));
    expect(await store.approval('prj_a', 'apr_1')).toMatchObject(times);
    await drop();
  });

  it('an approval gets one decision when one commit has two', async () => {
    const { store, drop } = await open();
    await stored(store, openApproval('1'));
    const results = await Promise.allSettled([
      store.append(decideApproval('1', 'approved')),
      store.append(decideApproval('1', 'denied')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((await store.approval('prj_a', 'apr_1'))?.decision?.outcome).toBe('approved');
    await drop();
  });
});

describe('the use of an approval', () => {
  it('an approved approval is used once, and read back whole', async () => {
    const { store, reopen, drop } = await open();
    await stored(store, openApproval('1', { callKey: 'k' }));
    await stored(store, decideApproval('1', 'approved'));
    await stored(store, useApproval('1', { atMs: expiresMs - 1 }));
    const again = await reopen();
    const decision = { outcome: 'approved', by: 'key_2', comment: 'seen', atMs: startMs + 1 } as const;
    const used = { evaluationId: 'pev_u1', atMs: expiresMs - 1 };
    expect(await again.approval('prj_a', 'apr_1')).toEqual(approval('1', { callKey: 'k', decision, used }));
    expect(await again.leafOf('prj_a', 'gov.use/1', 'apr_1')).not.toBeNull();
    await drop();
  });

  it.each<[string, AppendRequest, string, string]>([
    ['before it was decided', useApproval('open'), 'CONFLICT', 'apr_open, undecided; evaluate again'],
    ['after it was denied', useApproval('denied'), 'CONFLICT', 'apr_denied, denied; evaluate again'],
    [
      'twice',
      useApproval('used'),
      'CONFLICT',
      'apr_used, used by pev_uused at 2026-01-01T00:00:00.002Z; evaluate again',
    ],
    [
      'once it expired',
      useApproval('approved', { atMs: expiresMs }),
      'CONFLICT',
      'apr_approved, expired at 2026-01-02T00:00:00.000Z; evaluate again',
    ],
    [
      'though unknown',
      useApproval('none'),
      'NOT_FOUND',
      'expected an approval of this project, got apr_none',
    ],
  ])('an approval is not used %s', async (_, refused, code, message) => {
    const { store, drop } = await open();
    for (const id of ['open', 'denied', 'approved', 'used']) await stored(store, openApproval(id));
    await stored(store, decideApproval('denied', 'denied'));
    for (const id of ['approved', 'used']) await stored(store, decideApproval(id, 'approved'));
    await stored(store, useApproval('used'));
    const { size } = await store.head('prj_a', 'audit');
    await expect(store.append(refused)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    await drop();
  });

  it('an approval is used once when one commit has two uses', async () => {
    const { store, drop } = await open();
    await stored(store, openApproval('1'));
    const results = await Promise.allSettled([
      store.append(decideApproval('1', 'approved')),
      store.append(useApproval('1')),
      store.append(useApproval('1')),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await drop();
  });

  it('a call has one newest approval, also when one commit opens two', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    expect(await store.approvalOfCall('prj_a', 'k')).toBeNull();
    const results = await Promise.allSettled([
      store.append(openApproval('1', { callKey: 'k' })),
      store.append(openApproval('2', { callKey: 'k' })),
      store.append(openApproval('3', { callKey: 'other' })),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'CONFLICT' } });
    await stored(store, openApproval('4', { callKey: 'k', requestedMs: startMs + 1 }, 'apr_1'));
    expect((await store.approvalOfCall('prj_a', 'k'))?.approvalId).toBe('apr_4');
    expect(await store.approvalOfCall('prj_b', 'k')).toBeNull();
    await expect(store.append(openApproval('5', { callKey: 'k' }, 'apr_1'))).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    await drop();
  });
});

describe('approvals', () => {
  it('approvals are listed newest first, by status at a time, by run, in pages, of one project', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const requestedMs = startMs + (n >> 1) * hourMs;
      const more = { requestedMs, expiresMs: requestedMs + 2 * hourMs, runId: n === 4 ? 'r2' : 'r1' };
      await stored(store, openApproval(`${n}`, more));
    }
    await stored(store, decideApproval('1', 'approved'));
    await stored(store, decideApproval('6', 'denied'));
    const list = async (filter: Omit<Parameters<Store['approvals']>[1], 'atMs'>, hours = 0, more = {}) =>
      (
        await store.approvals('prj_a', { ...filter, atMs: startMs + hours * hourMs }, { limit: 3, ...more })
      ).map(({ approvalId }) => approvalId.slice(4));
    expect(await list({})).toEqual(['6', '5', '4']);
    expect(await list({}, 0, { after: { ms: startMs + 2 * hourMs, id: 'apr_4' } })).toEqual(['3', '2', '1']);
    expect(await list({ status: 'pending' })).toEqual(['5', '4', '3']);
    expect(await list({ status: 'pending' }, 0, { after: { ms: startMs + hourMs, id: 'apr_3' } })).toEqual([
      '2',
    ]);
    expect(await list({ status: 'pending' }, 3)).toEqual(['5', '4']);
    expect(await list({ status: 'pending' }, 4)).toEqual([]);
    expect(await list({ status: 'expired' }, 2.99)).toEqual([]);
    expect(await list({ status: 'expired' }, 3)).toEqual(['3', '2']);
    expect(await list({ status: 'expired' }, 4)).toEqual(['5', '4', '3']);
    expect(await list({ status: 'approved' }, 9)).toEqual(['1']);
    expect(await list({ status: 'denied' }, 9)).toEqual(['6']);
    expect(await list({ runId: 'r2' })).toEqual(['4']);
    expect(await list({ runId: 'r2', status: 'pending' }, 4)).toEqual([]);
    expect(await list({ runId: 'r1', status: 'expired' }, 4)).toEqual(['5', '3', '2']);
    expect(await store.approvals('prj_b', { atMs: startMs }, { limit: 9 })).toEqual([]);
    expect(await store.approval('prj_b', 'apr_1')).toBeNull();
    await drop();
  });
});
