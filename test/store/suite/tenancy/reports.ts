/** What data planes report: kept in whatever order it came; linked and answered for once. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { StoredReport } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import {
  answer,
  challenge,
  keep,
  plane,
  report,
  save,
  saveReport,
  totals,
} from '../../support/data-planes.ts';
import { codeOf, event, genesis, projectOf, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { change, tenant, used } from '../../support/tenants.ts';

const january = '2026-01';

const link = (id: string, sequence: number, to: StoredReport['link'], epoch = 0): Effect => ({
  kind: 'linkReport',
  planeId: `dpl_${id}`,
  epoch,
  sequence,
  link: to as 'linked',
});

const answered = (id: string, reportId: string, text: string, failed = false): Effect => ({
  kind: 'answerChallenge',
  planeId: `dpl_${id}`,
  reportId,
  attestation: failed ? 'failed' : 'verified',
  answer: answer(text),
});

const sampled = (id: string, sequence: number, name: string) =>
  report(id, sequence, { attestation: 'pending', challenge: challenge(name) });

describe('usage reports', () => {
  it('a usage report is stored without a log leaf and read by id, by place and in pages', async () => {
    const { store, reopen, drop } = await open();
    const before = [await store.head('prj_a', 'audit'), await store.head('prj_a', 'metering')];
    await keep(store, [save(plane('1')), save(plane('2'))]);
    const made = [
      report('1', 1),
      sampled('1', 2, 'a'),
      report('1', 1, { epoch: 1 }),
      report('1', 3, { totals: totals(16, 3) }),
    ];
    for (const each of made) await keep(store, [saveReport(each)]);
    await keep(store, [saveReport(report('2', 1))]);
    const again = await reopen();
    expect([await again.head('prj_a', 'audit'), await again.head('prj_a', 'metering')]).toEqual(before);
    expect(await again.report('prj_a', 'dpl_1', 'urp_0_2')).toEqual(made[1]);
    expect(await again.reportAt('prj_a', 'dpl_1', { epoch: 1, sequence: 1 })).toEqual(made[2]);
    expect(await again.report('prj_a', 'dpl_1', 'urp_9')).toBeNull();
    expect(await again.reportAt('prj_a', 'dpl_1', { epoch: 1, sequence: 2 })).toBeNull();
    expect(await again.report('prj_a', 'dpl_2', 'urp_0_2')).toBeNull();
    const [first, ...rest] = [made[2], made[3], made[1], made[0]];
    expect(await again.reports('prj_a', 'dpl_1', { limit: 1 })).toEqual([first]);
    expect(await again.reports('prj_a', 'dpl_1', { after: { epoch: 1, sequence: 1 }, limit: 9 })).toEqual(
      rest,
    );
    await drop();
  });

  it('a usage report with a used id or place is refused as a whole, also within one commit', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1')), save(plane('2'))]);
    await keep(store, [saveReport(report('1', 1))]);
    const attempt = (made: StoredReport) => codeOf(keep(store, [saveReport(made)]));
    expect(await attempt(report('1', 1))).toBe('REPORT_CONFLICT');
    expect(await attempt(report('1', 1, { reportId: 'urp_x' }))).toBe('REPORT_CONFLICT');
    expect(await attempt(report('1', 2, { reportId: 'urp_0_1', totals: totals(900) }))).toBe(
      'REPORT_CONFLICT',
    );
    expect(await attempt(report('2', 1))).toBe('none');
    const both = await Promise.all([
      attempt(report('1', 2)),
      attempt(report('1', 2)),
      attempt(report('1', 3)),
    ]);
    expect(both.toSorted()).toEqual(['REPORT_CONFLICT', 'none', 'none']);
    expect(await store.planeUsage('prj_a', january)).toEqual(totals(20));
    expect(await store.planeEpoch('prj_a', 'dpl_1', 0)).toMatchObject({ held: 3, nextSequence: 4 });
    await drop();
  });

  it('a usage report of an unknown, revoked or foreign plane is refused', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await keep(store, [save(plane('1'))]);
    expect(await codeOf(keep(store, [saveReport(report('2', 1))]))).toBe('NOT_FOUND');
    expect(await codeOf(keep(store, [saveReport(report('1', 1))], 'prj_b'))).toBe('NOT_FOUND');
    await keep(store, [save(plane('1', { revokedMs: startMs, revision: 2 }))]);
    expect(await codeOf(keep(store, [saveReport(report('1', 1))]))).toBe('NOT_FOUND');
    expect(await store.planeUsage('prj_a', january)).toEqual(used({}));
    await drop();
  });

  it('a usage report is visible in its project alone', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await keep(store, [save(plane('1')), saveReport(sampled('1', 1, 'a')), saveReport(report('1', 3))]);
    const place = { epoch: 0, sequence: 1 };
    expect([
      await store.plane('prj_b', 'dpl_1'),
      await store.report('prj_b', 'dpl_1', 'urp_0_1'),
      await store.reportAt('prj_b', 'dpl_1', place),
      await store.reports('prj_b', 'dpl_1', { limit: 9 }),
      await store.unlinked('prj_b', 'dpl_1', 0, 9),
      await store.reportedSizes('prj_b', 'dpl_1', { epoch: 0, treeSize: 99, limit: 9 }),
      await store.planeEpoch('prj_b', 'dpl_1', 0),
      await store.newestEpoch('prj_b', 'dpl_1'),
      await store.planeUsage('prj_b', january),
    ]).toEqual([null, null, null, [], [], [], null, null, used({})]);
    for (const effect of [link('1', 3, 'linked'), answered('1', 'urp_0_1', 'x')])
      expect(await codeOf(keep(store, [effect], 'prj_b'))).toBe('NOT_FOUND');
    await drop();
  });
});

describe('an epoch', () => {
  it('an epoch reports its number of reports, first gap, newest, and first unlinked report', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1'))]);
    const after = async (...sequences: readonly number[]) => {
      await keep(
        store,
        sequences.map((each) => saveReport(report('1', each))),
      );
      const found = await store.planeEpoch('prj_a', 'dpl_1', 0);
      return found === null
        ? null
        : [found.held, found.nextSequence, found.newestSequence, found.treeSize, found.firstUnlinked];
    };
    expect(await after()).toBeNull();
    expect(await after(3)).toEqual([1, 1, 3, 30, 3]);
    expect(await after(5, 4)).toEqual([3, 1, 5, 50, 3]);
    expect(await after(1)).toEqual([4, 2, 5, 50, 3]);
    expect(await after(2)).toEqual([5, 6, 5, 50, 2]);
    await keep(store, [link('1', 2, 'linked'), link('1', 3, 'history_regressed')]);
    expect(await after(7, 6)).toEqual([7, 8, 7, 70, 3]);
    expect(await store.newestEpoch('prj_a', 'dpl_1')).toEqual(await store.planeEpoch('prj_a', 'dpl_1', 0));
    await keep(store, [saveReport(report('1', 1, { epoch: 4 })), saveReport(report('1', 9, { epoch: 2 }))]);
    expect(await store.newestEpoch('prj_a', 'dpl_1')).toEqual({
      epoch: 4,
      held: 1,
      nextSequence: 2,
      newestSequence: 1,
      treeSize: 10,
      firstUnlinked: null,
    });
    await drop();
  });

  it('an epoch lists its tree sizes below a given size, each once, the largest first', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1'))]);
    const sizes = [10, 20, 20, 20, 30, 0];
    await keep(
      store,
      sizes.map((treeSize, at) => saveReport(report('1', at + 1, { treeSize }))),
    );
    await keep(store, [saveReport(report('1', 1, { epoch: 1, treeSize: 25 }))]);
    const below = (treeSize: number, limit: number) =>
      store.reportedSizes('prj_a', 'dpl_1', { epoch: 0, treeSize, limit });
    expect(await below(31, 9)).toEqual([30, 20, 10, 0]);
    expect(await below(30, 2)).toEqual([20, 10]);
    expect(await below(30, 0)).toEqual([]);
    expect(await below(0, 9)).toEqual([]);
    await drop();
  });
});

describe('links and challenges of a report', () => {
  it('a report is linked once when the report before it is stored', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1')), ...[1, 3, 4, 6].map((each) => saveReport(report('1', each)))]);
    const waiting = async (limit = 9) =>
      (await store.unlinked('prj_a', 'dpl_1', 0, limit)).map(({ sequence }) => sequence);
    expect(await waiting()).toEqual([4]);
    await keep(store, [saveReport(report('1', 2)), saveReport(report('1', 5))]);
    expect(await waiting()).toEqual([2, 3, 4, 5, 6]);
    expect(await waiting(2)).toEqual([2, 3]);
    await keep(store, [link('1', 3, 'consistency_invalid'), link('1', 2, 'linked')]);
    expect(await waiting()).toEqual([4, 5, 6]);
    expect(await codeOf(keep(store, [link('1', 3, 'linked')]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [link('1', 9, 'linked')]))).toBe('NOT_FOUND');
    expect(await codeOf(keep(store, [link('1', 4, 'linked'), link('1', 4, 'linked')]))).toBe('CONFLICT');
    const links = (await store.reports('prj_a', 'dpl_1', { limit: 9 })).map((each) => each.link);
    expect(links).toEqual(['unknown', 'unknown', 'unknown', 'consistency_invalid', 'linked', 'linked']);
    await drop();
  });

  it('a challenge is answered once and found within its organization', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    const [mine, other] = [sampled('1', 1, 'a'), sampled('1', 2, 'b')];
    const effects = [save(plane('1')), saveReport(mine), saveReport(other), saveReport(report('1', 3))];
    await keep(store, effects, 'prj_x_test');
    expect(await store.challenged('org_x', 'chl_a')).toEqual({ projectId: 'prj_x_test', report: mine });
    expect(await store.challenged('org_y', 'chl_a')).toBeNull();
    expect(await store.challenged('org_x', 'chl_c')).toBeNull();
    const attempt = (...given: readonly Effect[]) => codeOf(keep(store, given, 'prj_x_test'));
    expect(await attempt(answered('1', 'urp_0_1', 'yes'))).toBe('none');
    expect(await attempt(answered('1', 'urp_0_1', 'yes'))).toBe('CONFLICT');
    expect(await attempt(answered('1', 'urp_0_2', 'no', true), answered('1', 'urp_0_2', 'yes'))).toBe(
      'CONFLICT',
    );
    expect(await attempt(answered('1', 'urp_0_3', 'yes'))).toBe('NOT_FOUND');
    expect(await attempt(answered('1', 'urp_0_4', 'yes'))).toBe('NOT_FOUND');
    expect((await store.challenged('org_x', 'chl_a'))?.report).toEqual({
      ...mine,
      attestation: 'verified',
      answer: answer('yes'),
    });
    expect((await store.challenged('org_x', 'chl_b'))?.report).toEqual(other);
    expect(await attempt(answered('1', 'urp_0_2', 'no', true))).toBe('none');
    expect((await store.challenged('org_x', 'chl_b'))?.report.attestation).toBe('failed');
    await drop();
  });

  it('a challenge without an answer in time is recorded once and accepts no late answer', async () => {
    const { store, reopen, drop } = await open();
    const due = (id: string, sequence: number, name: string, expiresMs: number) =>
      report(id, sequence, { attestation: 'pending', challenge: { ...challenge(name), expiresMs } });
    const made = [due('1', 1, 'a', 30), due('1', 2, 'b', 10), due('2', 1, 'c', 20), due('2', 2, 'd', 40)];
    await keep(store, [save(plane('1')), save(plane('2')), saveReport(report('1', 3))]);
    for (const each of made) await keep(store, [saveReport(each)]);
    const overdue = async (atMs: number, limit = 9) =>
      (await store.overdueChallenges(atMs, limit)).map(({ challengeId }) => challengeId);
    expect(await overdue(9)).toEqual([]);
    expect(await store.overdueChallenges(10, 9)).toEqual([
      { projectId: 'prj_a', planeId: 'dpl_1', reportId: 'urp_0_2', challengeId: 'chl_b', expiresMs: 10 },
    ]);
    expect([await overdue(30), await overdue(30, 2)]).toEqual([
      ['chl_b', 'chl_c', 'chl_a'],
      ['chl_b', 'chl_c'],
    ]);
    const expire = (id: string, reportId: string): Effect => ({
      kind: 'expireChallenge',
      planeId: `dpl_${id}`,
      reportId,
    });
    const attempt = (...effects: readonly Effect[]) => codeOf(keep(store, effects));
    const both = await Promise.all([attempt(expire('1', 'urp_0_2')), attempt(expire('1', 'urp_0_2'))]);
    expect(both.toSorted()).toEqual(['CONFLICT', 'none']);
    expect(await attempt(answered('1', 'urp_0_2', 'late'))).toBe('CONFLICT');
    expect(await attempt(expire('1', 'urp_0_3'))).toBe('NOT_FOUND');
    expect(await attempt(expire('1', 'urp_0_9'))).toBe('NOT_FOUND');
    expect(await attempt(answered('2', 'urp_0_1', 'in time'))).toBe('none');
    expect(await attempt(expire('2', 'urp_0_1'))).toBe('CONFLICT');
    const again = await reopen();
    expect(await again.overdueChallenges(99, 9)).toMatchObject([
      { challengeId: 'chl_a' },
      { challengeId: 'chl_d' },
    ]);
    const counts = ['dpl_1', 'dpl_2', 'dpl_9'].map((id) => again.expiredChallenges('prj_a', id));
    expect(await Promise.all(counts)).toEqual([1, 0, 0]);
    expect(await again.report('prj_a', 'dpl_1', 'urp_0_2')).toEqual({ ...made[1], attestation: 'expired' });
    await drop();
  });

  it('all reports of a request are stored or none is', async () => {
    const { store, reopen, drop } = await open();
    await keep(store, [save(plane('1'))]);
    const effects = [saveReport(report('1', 1)), saveReport(report('1', 2)), link('1', 9, 'linked')];
    expect(await codeOf(store.append(change('prj_a', ...effects)))).toBe('NOT_FOUND');
    const again = await reopen();
    expect(await again.newestEpoch('prj_a', 'dpl_1')).toBeNull();
    expect(await again.planeUsage('prj_a', january)).toEqual(used({}));
    expect((await again.head('prj_a', 'audit')).size).toBe(1);
    await stored(again, change('prj_a', ...effects.slice(0, 2)));
    expect(await again.planeUsage('prj_a', january)).toEqual(totals(10));
    await drop();
  });
});

describe('a request without leaves', () => {
  it('a request without leaves writes no metering leaf, beside a request that does', async () => {
    const { store, drop } = await open();
    const size = (await store.head('prj_a', 'metering')).size;
    await keep(store, [save(plane('1'))]);
    expect((await store.head('prj_a', 'metering')).size).toBe(size);
    await Promise.all([
      keep(store, [saveReport(report('1', 1))]),
      stored(store, { ...change('prj_a'), leaves: [event()] }),
    ]);
    expect((await store.head('prj_a', 'metering')).size).toBe(size + 1);
    await drop();
  });
});

describe('the limits of an epoch', () => {
  it('an epoch has a limited number of months', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1'))]);
    const month = (at: number): string => new Date(Date.UTC(1970, at)).toISOString().slice(0, 7);
    const made = (at: number) => report('1', at + 1, { month: month(at), totals: totals(at + 1) });
    await keep(
      store,
      Array.from({ length: limits.epochMonths }, (_, at) => saveReport(made(at))),
    );
    expect(await codeOf(keep(store, [saveReport(made(limits.epochMonths))]))).toBe('REPORT_INVALID');
    const known = { ...made(limits.epochMonths), month: month(3) };
    expect(await codeOf(keep(store, [saveReport(known)]))).toBe('none');
    expect(await store.planeEpoch('prj_a', 'dpl_1', 0)).toMatchObject({ held: limits.epochMonths + 1 });
    await drop();
  });

  it('an epoch has a limited number of units for each type and month', async () => {
    const { store, drop } = await open();
    const most = limits.epochMonthUnits;
    await keep(store, [save(plane('1')), save(plane('2'))]);
    const outcome = (...made: Parameters<typeof report>) =>
      codeOf(keep(store, [saveReport(report(...made))]));
    expect(await outcome('1', 1, { totals: totals(most + 1) })).toBe('REPORT_INVALID');
    expect(await outcome('1', 1, { totals: totals(most, most) })).toBe('none');
    expect(await outcome('1', 2, { totals: totals(most, most + 1) })).toBe('REPORT_INVALID');
    expect(await outcome('1', 2, { totals: totals(most, most) })).toBe('none');
    expect(await outcome('2', 1, { totals: totals(most) })).toBe('none');
    expect(await outcome('1', 1, { epoch: 1, totals: totals(most) })).toBe('none');
    expect((await store.planeUsage('prj_a', '2026-01')).audit_event).toBe(3 * most);
    // totals go on in the next month, and one that comes late takes from it
    const february = (events: number) => ({ month: '2026-02', totals: totals(most + events, most) });
    expect(await outcome('1', 4, february(most + 1))).toBe('REPORT_INVALID');
    expect(await outcome('1', 4, february(most))).toBe('none');
    expect(await outcome('1', 3, { totals: totals(most + 1, most) })).toBe('REPORT_INVALID');
    await drop();
  });

  it('an epoch links reports only among the newest unlinked ones, up to a limit', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1'))]);
    const seen = limits.reportsUnlinkedSeen;
    const others = Array.from({ length: seen - 1 }, (_, at) => saveReport(report('1', 2 * at + 10)));
    await keep(store, [saveReport(report('1', 1)), saveReport(report('1', 2)), ...others]);
    const waiting = async () =>
      (await store.unlinked('prj_a', 'dpl_1', 0, 9)).map(({ sequence }) => sequence);
    expect(await waiting()).toEqual([2]);
    await keep(store, [saveReport(report('1', 2 * seen + 10))]);
    expect(await waiting()).toEqual([]);
    await drop();
  });
});
