/** The saved map of a log, and the index leaf whose time the sequencer sets. */
import { describe, expect, it } from 'vitest';
import { draftIndex, readIndex } from '../../../../src/core/completeness/index-leaf.ts';
import { LogMap } from '../../../../src/core/completeness/log-map.ts';
import { keyHash } from '../../../../src/core/completeness/map.ts';
import { readMapped } from '../../../../src/core/completeness/map-function.ts';
import { PrefixTree } from '../../../../src/core/completeness/prefix-tree.ts';
import { leafHash } from '../../../../src/core/merkle/tree.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { appended, event, genesis, projectOf, request, startMs } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

/** The map of `runs` runs with one event each. */
function mapOf(runs: number): LogMap {
  const map = new LogMap();
  for (let run = 0; run < runs; run++) {
    const record =
      `{"_sd":[],"_sd_alg":"sha-256","eventId":"e","eventType":"t","runId":"run-${run}","runSeq":0,` +
      '"serverTimestamp":"2026-01-01T00:00:00.000Z","timestamp":"2026-01-01T00:00:00.000Z","type":"gov.event/1"}';
    map.add(leafHash(record).toString('latin1'), readMapped(record));
  }
  return map;
}

const save = (store: Store, map: LogMap, since: number, projectId = 'prj_a') => {
  const { parts, lists } = map.unsaved();
  const { size, ms } = map;
  return store.saveMap(projectId, { map: { size, ms, leafIndex: size, parts }, since, lists });
};

describe('the saved map of a log', () => {
  it('a saved map returns the same parts, entries and lists, also after a restart', async () => {
    const { store, reopen, drop } = await open();
    expect(await store.savedMap('prj_a')).toBeNull();
    const map = mapOf(300);
    await save(store, map, 0);
    const restarted = await reopen();
    const saved = await restarted.savedMap('prj_a');
    expect(saved).toMatchObject({ size: 300, ms: startMs, leafIndex: 300 });
    const tree = PrefixTree.closed(saved!.parts)!;
    expect(tree.root()).toEqual(map.root());
    const key = keyHash(['run', 'run-7']);
    const part = tree.closedAt(key)!;
    expect(tree.open(part, await restarted.mapPart('prj_a', part))).toBe(true);
    const again = new LogMap({ size: 300, ms: startMs, tree });
    const lists = await restarted.mapLists('prj_a', [key, keyHash(['run', 'none'])]);
    expect([...lists.keys()]).toEqual([key.toString('hex')]);
    expect(again.restore('run\u0000run-7', key, lists.get(key.toString('hex'))!)).toBe(true);
    await drop();
  });

  it('a saved map only goes forward from the map that it continues, and is dropped as a whole', async () => {
    const { store, drop } = await open();
    const sizes: (number | undefined)[] = [];
    const step = async (runs: number, since: number): Promise<void> => {
      await save(store, mapOf(runs), since);
      sizes.push((await store.savedMap('prj_a'))?.size);
    };
    await step(20, 10); // continues a map that was dropped
    await step(20, 0);
    await step(10, 0); // older than the saved one
    await step(20, 20);
    await step(30, 25); // continues a newer map than the saved one
    await step(40, 20);
    await store.dropMap('prj_a');
    sizes.push((await store.savedMap('prj_a'))?.size);
    expect(sizes).toEqual([undefined, 20, 20, 20, 20, 40, undefined]);
    expect(await store.mapLists('prj_a', [keyHash(['run', 'run-1'])])).toEqual(new Map());
    await drop();
  });

  it('a saved map belongs to one project', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await save(store, mapOf(5), 0);
    expect(await store.savedMap('prj_b')).toBeNull();
    const all = { from: Buffer.alloc(32), to: Buffer.alloc(32, 255) };
    expect(await store.mapPart('prj_b', all)).toEqual([]);
    expect(await store.mapPart('prj_a', all)).toHaveLength(10);
    await store.dropMap('prj_b');
    expect(await store.savedMap('prj_a')).not.toBeNull();
    await drop();
  });
});

describe('index leaves', () => {
  it('an index leaf gets the server time at which it is stored, between the events around it', async () => {
    const { store, clock, drop } = await open();
    await appended(store, request([event()]));
    clock.ms += 5000;
    const { size } = await store.head('prj_a', 'audit');
    const draft = draftIndex({ size, root: Buffer.alloc(32, 1), keys: 3, ms: startMs, fn: 'gov.mapfn/2' });
    const meter = { op: 'none', units: 0 } as const;
    await appended(store, { projectId: 'prj_a', leaves: [draft], meter, expect: { auditSize: size } });
    clock.ms -= 9000;
    await appended(store, request([event()]));
    const [leaf, later] = await store.leaves('prj_a', 'audit', { from: size, to: size + 2 });
    expect(readIndex(leaf!.record)).toMatchObject({ size, atMs: startMs + 5000, throughMs: startMs });
    expect(readMapped(later!.record).ms).toBe(startMs + 5000);
    const page = { limit: 5, order: 'asc' } as const;
    expect((await store.leavesOf('prj_a', { type: 'gov.index/1' }, page)).map(({ index }) => index)).toEqual([
      size,
    ]);
    await drop();
  });
});
