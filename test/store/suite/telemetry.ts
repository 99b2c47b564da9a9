/** Data planes: kept with what they reported, in whatever order it came; linked and answered for once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Effect, Store, StoredReport } from '../../../src/store/port.ts';
import {
  answer,
  challenge,
  enrolled,
  keep,
  plane,
  report,
  save,
  saveReport,
  secrets,
  totals,
} from '../dataplanes.ts';
import { codeOf, event, genesis, projectOf, startMs, stored } from '../fixture.ts';
import { open } from '../engine.ts';
import { change, digestOf, tenant, used } from '../tenants.ts';

const january = '2026-01';
const february = '2026-02';

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

describe('data planes', () => {
  it('are registered, enrolled, given new secrets and revoked, each change raising the revision', async () => {
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

  it('are changed only as they were read', async () => {
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

  it('stay revoked', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1', { revokedMs: startMs }))]);
    const restored = plane('1', { revision: 2 });
    expect(await codeOf(keep(store, [save(restored)]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [save({ ...restored, revokedMs: startMs + 1 })]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [save({ ...restored, revokedMs: startMs })]))).toBe('none');
    await drop();
  });

  it('have a verifier key of their own, whatever the project, also after they were revoked', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await keep(store, [save(plane('1', { enrolled: enrolled('1'), revokedMs: startMs }))]);
    const { verifierKey } = enrolled('1');
    const second = (verifier: string, id = '2') =>
      save(plane(id, { enrolled: enrolled(id, { verifierKey: verifier }) }));
    expect(await codeOf(keep(store, [second(verifierKey)], 'prj_b'))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [second(verifierKey)]))).toBe('CONFLICT');
    expect(await codeOf(keep(store, [second('k'), second('k', '3')]))).toBe('CONFLICT');
    const both = await Promise.all([
      codeOf(keep(store, [second('k')], 'prj_b')),
      codeOf(keep(store, [second('k', '3')])),
    ]);
    expect(both.toSorted()).toEqual(['CONFLICT', 'none']);
    await drop();
  });

  it('are listed newest first, in pages, each project its own', async () => {
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

  it('are found by the key that they have, the one that they had, and their token', async () => {
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

describe('what a data plane reports', () => {
  it('is kept without a leaf of any log, and read by id, by place and in pages', async () => {
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

  it('is refused where the id or the place is taken, also within one commit, and then nothing of it stays', async () => {
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

  it('is refused of a plane that is not there, is revoked, or is another project’s', async () => {
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

  it('is of its project alone', async () => {
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
  it('tells what is held, the first gap, the newest, and the first that is not linked', async () => {
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

  it('lists sizes below one, each once, the largest first', async () => {
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

describe('a report', () => {
  it('is linked once, where the one before is held', async () => {
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

  it('is answered for once, and found by its challenge within its organization', async () => {
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

  it('and all of its request are kept, or nothing is', async () => {
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

describe('units of data planes', () => {
  it('are what the totals of a month are above those before it, of all planes and epochs', async () => {
    const { store, drop } = await open();
    await keep(store, [save(plane('1')), save(plane('2'))]);
    const at = (id: string, sequence: number, month: string, events: number, proofs = 0, epoch = 0) =>
      keep(store, [saveReport(report(id, sequence, { month, epoch, totals: totals(events, proofs) }))]);
    const units = async () => [
      await store.planeUsage('prj_a', january),
      await store.planeUsage('prj_a', february),
      await store.planeUsage('prj_a', '2026-03'),
    ];
    await at('1', 4, '2026-03', 100, 9);
    expect(await units()).toEqual([used({}), used({}), totals(100, 9)]);
    await at('1', 2, january, 30, 0);
    expect(await units()).toEqual([totals(30), used({}), totals(70, 9)]);
    await at('1', 3, february, 60, 9);
    expect(await units()).toEqual([totals(30), totals(30, 9), totals(40)]);
    await at('1', 1, january, 10);
    await at('2', 1, february, 5);
    await at('1', 1, february, 1, 1, 1);
    expect(await units()).toEqual([totals(30), totals(36, 10), totals(40)]);
    await at('1', 5, january, 500);
    expect(await units()).toEqual([totals(500), totals(6, 10), used({})]);
    await drop();
  });

  it('stand beside what the projects of an organization used themselves', async () => {
    const { store, clock, drop } = await open();
    await store.createTenant(tenant('x'));
    await keep(store, [save(plane('1')), saveReport(report('1', 1))], 'prj_x_live');
    await keep(store, [save(plane('2')), saveReport(report('2', 1, { month: february }))], 'prj_x_test');
    await stored(store, { ...change('prj_x_live'), meter: { op: 'audit_event', units: 'accepted' } });
    const seen = async () =>
      (await store.usageOf('org_x', january)).projects.map(({ name, used: own, planes }) => [
        name,
        own,
        planes,
      ]);
    const live = ['live', used({ audit_event: 1 }), totals(5)];
    expect(await seen()).toEqual([['test', used({}), used({})], live]);
    expect(await store.usage('prj_x_live', january)).toEqual(used({ audit_event: 1 }));
    const remove: Effect = { kind: 'changeProject', deletedMs: clock.ms, atMs: clock.ms };
    await stored(store, change('prj_x_live', remove));
    await stored(store, change('prj_x_test', remove));
    expect(await seen()).toEqual([live]);
    await drop();
  });

  it('are the same whatever the order and the repetition of reports', async () => {
    const { store, drop } = await open();
    const months = ['2025-12', january, february];
    // totals grow with the sequence, as those of a log do, but for one type that does as it likes
    const reports = (id: string, noise: readonly number[]) =>
      noise.map((proofs, at) =>
        report(id, at + 1, {
          month: months[Math.floor((at * months.length) / noise.length)] ?? '',
          treeSize: (proofs * 7) % 31,
          totals: totals((at + 1) * 3, proofs),
        }),
      );
    const known = async (id: string) => [
      await store.planeEpoch('prj_a', `dpl_${id}`, 0),
      ...(await Promise.all(months.map((month) => store.planeUsage('prj_a', month)))),
    ];
    let plans = 0;
    let before = await Promise.all(months.map((month) => store.planeUsage('prj_a', month)));
    const added = (counts: readonly unknown[]) =>
      counts.map((each, at) => ({
        events: (each as StoredReport['totals']).audit_event - before[at]!.audit_event,
        proofs: (each as StoredReport['totals']).compliance_proof - before[at]!.compliance_proof,
      }));
    const outcome = async (id: string, order: readonly StoredReport[]) => {
      await keep(store, [save(plane(id))]);
      for (const each of order) await codeOf(keep(store, [saveReport(each)]));
      const [epoch, ...counts] = await known(id);
      const found = [epoch, added(counts)];
      before = counts as typeof before;
      return found;
    };
    const property = fc.asyncProperty(
      fc.array(fc.nat(40), { minLength: 1, maxLength: 7 }).chain((noise) => {
        const places = noise.map((_, at) => at);
        const repeats = fc.array(fc.constantFrom(...places), { maxLength: 4 });
        const order = repeats.chain((more) =>
          fc.shuffledSubarray([...places, ...more], {
            minLength: places.length + more.length,
            maxLength: places.length + more.length,
          }),
        );
        return fc.record({ noise: fc.constant(noise), order });
      }),
      async ({ noise, order }) => {
        const id = `${plans++}`;
        const straight = await outcome(`${id}s`, reports(`${id}s`, noise));
        const made = reports(`${id}m`, noise);
        const mixed = await outcome(
          `${id}m`,
          order.flatMap((at) => made.slice(at, at + 1)),
        );
        expect(mixed).toEqual(straight);
        expect(straight[0]).toMatchObject({ held: noise.length, nextSequence: noise.length + 1 });
      },
    );
    await fc.assert(property, { numRuns: 25, seed: 7 });
    await drop();
  });
});

describe('a request without leaves', () => {
  it('writes no leaf of the metering log, beside one that does', async () => {
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
