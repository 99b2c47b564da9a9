/** Units of data planes, by their reports, in whatever order and however often these came. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredReport } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { keep, plane, report, save, saveReport, totals } from '../../support/data-planes.ts';
import { codeOf, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { change, tenant, used } from '../../support/tenants.ts';

const january = '2026-01';
const february = '2026-02';

describe('units of data planes', () => {
  it('the units of a month are the growth of the totals of all planes and epochs', async () => {
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

  it('plane units are listed beside the own usage of the projects of an organization', async () => {
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

  it('plane units do not depend on the order and the repetition of reports', async () => {
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
