/** Figures of the stored leaves of a run: what a proof that continues compares instead of reading them again. */
import { describe, expect, it } from 'vitest';
import { figuresAtOnce } from '../../../../src/store/read/leaf-figures.ts';
import type { LeafFigures, Store } from '../../../../src/store/port/store.ts';
import { open } from '../../support/engine.ts';
import { digestsOf, erasing } from '../../support/erasing.ts';
import { appended, event, request } from '../../support/fixture.ts';
import { evaluation, unmetered } from '../../support/governance.ts';

const end = 1_000_000;
const types = ['gov.event/1', 'gov.evaluation/1'] as const;
const figures = (store: Store, type: (typeof types)[number], from = 0, before = end): Promise<LeafFigures> =>
  store.leafFigures('prj_a', { runId: 'r1', type }, { from, before });

/** Of records and bodies. */
async function octetsRead(store: Store, type: string): Promise<number> {
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: end });
  return leaves
    .filter(({ record }) => record.includes(`"type":"${type}"`) && record.includes('"runId":"r1"'))
    .reduce((sum, { record, disclosures }) => sum + Buffer.byteLength(record + (disclosures ?? '')), 0);
}

describe('figures of stored leaves', () => {
  it.each([figuresAtOnce, figuresAtOnce + 1])(
    'figures of %d leaves are those of its parts',
    async (count) => {
      const { store, reopen, drop } = await open();
      await appended(store, request([event({ runId: 'r2' })]));
      const events = Array.from({ length: count }, () => event({ runId: 'r1' }));
      const evaluations = Array.from({ length: count }, (_, at) => evaluation(`${at}`));
      await appended(store, request(events));
      await appended(store, unmetered(evaluations));
      for (const opening of [async () => store, reopen]) {
        const opened = await opening();
        for (const type of types) {
          const all = await figures(opened, type);
          expect([all.leaves, all.records, all.bodies]).toEqual([count, count, count]);
          // a sealed body is longer than its text
          expect(all.octets).toBeGreaterThanOrEqual(await octetsRead(opened, type));
          for (const middle of [0, 7, count, count + 9, 2 * count]) {
            const parts = [await figures(opened, type, 0, middle), await figures(opened, type, middle, end)];
            for (const name of ['leaves', 'records', 'bodies', 'octets', 'erasedOctets', 'keys'] as const)
              expect(parts[0]![name] + parts[1]![name]).toBe(all[name]);
          }
        }
      }
      await drop();
    },
  );

  it('figures of a run have nothing of other runs, types and projects', async () => {
    const { store, drop } = await open();
    const none = { leaves: 0, records: 0, bodies: 0, octets: 0, erasedOctets: 0, keys: 0 };
    await appended(store, request([event({ runId: 'r2' })]));
    for (const type of types) expect(await figures(store, type)).toEqual(none);
    await appended(store, request([event({ runId: 'r1' })]));
    const one = await figures(store, 'gov.event/1');
    await appended(store, unmetered([evaluation('1')]));
    expect(await figures(store, 'gov.event/1')).toEqual(one);
    await appended(store, request([event({ runId: 'r2' })]));
    expect(await figures(store, 'gov.event/1')).toEqual(one);
    await drop();
  });

  it('an erasure changes the figures of the run', async () => {
    const { store, drop } = await open();
    const [made] = await appended(
      store,
      request([event({ runId: 'r1', metadata: { card: '4111', step: 2 } })]),
    );
    const before = await figures(store, 'gov.event/1');
    const leaf = await store.leaf('prj_a', made!.index);
    const digests = [digestsOf(leaf!).get('/metadata/card')!];
    await appended(store, erasing([{ index: made!.index, digests }]));
    const after = await figures(store, 'gov.event/1');
    expect([after.leaves, after.records, after.bodies]).toEqual([1, 1, 1]);
    expect(after.octets).toBeLessThan(before.octets);
    expect(after.erasedOctets).toBeGreaterThan(0);
    await drop();
  });
});
