/** fsck derives the map of a log again, and compares each index leaf with it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draftIndex } from '../../../src/core/completeness/index-leaf.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { mapFunction, readMapped, type MapFunction } from '../../../src/core/completeness/map-function.ts';
import type { OtherDraft } from '../../../src/core/events/record.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { event, request, stored } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await new TestPlane().filled(200);
});
afterAll(() => plane.drop());

async function mapAt(store: Store, size: number, fn: MapFunction = mapFunction): Promise<LogMap> {
  const map = new LogMap(null, fn);
  for (const { record, hash } of await store.leaves('prj_a', 'audit', { from: 0, to: size })) {
    map.add(hash.toString('latin1'), readMapped(record, fn));
  }
  map.root();
  return map;
}

const append = (store: Store, leaf: OtherDraft) =>
  stored(store, { projectId: 'prj_a', leaves: [leaf], meter: { op: 'none', units: 0 } });

/** Problems of a copy of the log to which index leaves were appended: three true ones, one by the older map function, and one made by `forge`. */
async function problems(forge: (draft: OtherDraft, at: LogMap) => OtherDraft): Promise<string[]> {
  const copy = plane.copy();
  const store = copy.open();
  for (const size of [1, 201]) await append(store, draftOf(await mapAt(store, size)));
  await append(store, draftOf(await mapAt(store, 150, 'gov.mapfn/1')));
  await stored(store, request([event({ runId: 'r1' }), event({ runId: 'new' })]));
  const { size } = await store.head('prj_a', 'audit');
  const map = await mapAt(store, size);
  await append(store, forge(draftOf(map), map));
  await store.close();
  const report = await copy.fsck();
  copy.drop();
  return report.problems.map(({ position, kind }) => `${position} ${kind}`);
}

const draftOf = (map: LogMap) =>
  draftIndex({ size: map.size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
const withText = (from: RegExp, to: string) => (draft: OtherDraft) => ({
  ...draft,
  record: draft.record.replace(from, to),
});

describe('fsck of index leaves', () => {
  it('fsck accepts an index leaf with the root of the leaves below its size, even if stored later', async () => {
    expect(await problems((draft) => draft)).toEqual([]);
  });

  it.each<[string, (draft: OtherDraft, map: LogMap) => OtherDraft]>([
    ['of another root', withText(/sha256:../, 'sha256:00')],
    ['of another number of keys', withText(/"keys":\d+/, '"keys":77')],
    ['of another time', withText(/"through":"2026/, '"through":"2025')],
    ['of an older map function', withText(/mapfn\/2/, 'mapfn/1')],
    ['of an unknown map function', withText(/mapfn\/2/, 'mapfn/3')],
    ['of a smaller size than its map', withText(/"size":\d+/, '"size":150')],
    ['of a size above its own index', withText(/"size":\d+/, '"size":999')],
    [
      'that leaves out a run',
      (_, { size }) => {
        const map = new LogMap();
        for (let at = 0; at < size; at++) map.add('x'.repeat(32), readMapped('{}'));
        return draftOf(map);
      },
    ],
  ])('fsck reports an index leaf %s', async (_what, forge) => {
    expect(await problems(forge)).toEqual(['prj_a/audit/206 index_mismatch']);
  });
});
