/** The metering log by index, by the audit leaf that is covered, and by what counts nothing. */
import { describe, expect, it } from 'vitest';
import { meterRef } from '../../../../src/core/planes/metering.ts';
import type { AppendRequest, Store } from '../../../../src/store/port/store.ts';
import { event, genesis, projectOf, request, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { unmetered } from '../../support/governance.ts';

const events = (count: number): AppendRequest => request(Array.from({ length: count }, () => event()));
const leafless = request([], { meter: { op: 'compliance_proof', units: 1 } });

/** A log whose metering leaves cover these many audit leaves each, after that of the genesis leaf. */
async function filled(store: Store): Promise<number[]> {
  const counts = [1, 3, 0, 0, 1, 40, 0, 2, 1, 1, 0];
  for (const count of counts) {
    if (count === 0) await stored(store, leafless);
    else await stored(store, count === 2 ? unmetered([event(), event()]) : events(count));
  }
  return [1, ...counts];
}

describe('a metering leaf', () => {
  it('a metering leaf comes with the hashes that bind it to its audit leaves', async () => {
    const { store, drop } = await open();
    const counts = await filled(store);
    const records = await store.leaves('prj_a', 'metering', { from: 0, to: counts.length });
    const indexes = counts.map((_, at) => at);
    const leaves = await store.meterLeaves('prj_a', indexes);
    let first = 0;
    for (const [at, { nonce, ...leaf }] of leaves.entries()) {
      const count = counts[at] ?? 0;
      const { record, hash } = records[at]!;
      expect(leaf).toEqual({ index: at, record, hash, firstAuditIndex: first, count });
      const covered = await store.leaves('prj_a', 'audit', { from: first, to: first + count });
      const { ref } = JSON.parse(record) as { ref: string };
      expect(
        meterRef(
          nonce,
          first,
          covered.map((each) => each.hash),
        ),
      ).toBe(ref);
      first += count;
    }
    expect(leaves).toHaveLength(counts.length);
    expect(await store.meterLeaf('prj_a', 5)).toEqual(leaves[5]);
    expect(await store.meterLeaves('prj_a', [7, 0, 7])).toEqual([leaves[7], leaves[0], leaves[7]]);
    await drop();
  });

  it('a metering leaf does not exist beyond the log or in another project', async () => {
    const { store, drop } = await open();
    const { length } = await filled(store);
    await store.createProject(projectOf('b'), genesis('b'));
    expect(await store.meterLeaf('prj_a', length)).toBeNull();
    expect(await store.meterLeaf('prj_a', -1)).toBeNull();
    expect((await store.meterLeaves('prj_a', [length - 1, length])).map(({ index }) => index)).toEqual([
      length - 1,
    ]);
    expect(await store.meterLeaf('prj_b', 1)).toBeNull();
    expect(await store.meterLeaves('prj_a', [])).toEqual([]);
    await drop();
  });

  it('each audit leaf leads to the metering leaf that covers it', async () => {
    const { store, drop } = await open();
    const counts = await filled(store);
    const covering = counts.flatMap((count, at) => Array<number>(count).fill(at));
    const found = await Promise.all(covering.map((_, index) => store.meterIndexOf('prj_a', index)));
    expect(found).toEqual(covering);
    expect(await store.meterIndexOf('prj_a', covering.length)).toBeNull();
    expect(await store.meterIndexOf('prj_a', -1)).toBeNull();
    await drop();
  });

  it('metering leaves that count nothing are counted in any range', async () => {
    const { store, drop } = await open();
    const { length } = await filled(store);
    const none = [0, 8]; // of the genesis leaf, and of the request that is not metered
    for (let from = 0; from <= length; from++) {
      for (let to = from; to <= length; to++) {
        const expected = none.filter((at) => at >= from && at < to).length;
        expect(await store.unmeteredLeaves('prj_a', { from, to })).toBe(expected);
      }
    }
    await drop();
  });
});
