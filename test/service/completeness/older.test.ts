/** A log that an older map function indexed: the next process derives the new index from its leaves. */
import { describe, expect, it } from 'vitest';
import { draftIndex, readIndex } from '../../../src/core/completeness/index-leaf.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { readMapped } from '../../../src/core/completeness/map-function.ts';
import { appended, event, request } from '../../store/support/fixture.ts';
import { engines, index, projectId, prove, type World } from './world.ts';

/** A log whose index leaf and saved map are of the older map function; then the next process. */
async function indexedBefore(open: () => Promise<World>): Promise<World> {
  const world = await open();
  const { store } = world;
  for (let at = 0; at < 5; at++)
    await appended(store, request([event({ runId: 'r1' }), event({ runId: 'r2' })]));
  const { size } = await store.head(projectId, 'audit');
  const map = new LogMap(null, 'gov.mapfn/1');
  for (const { record, hash } of await store.leaves(projectId, 'audit', { from: 0, to: size }))
    map.add(hash.toString('latin1'), readMapped(record, 'gov.mapfn/1'));
  const draft = draftIndex({ size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
  const meter = { op: 'none', units: 0 } as const;
  const result = await store.append({ projectId, leaves: [draft], meter });
  if (result.outcome !== 'stored') throw new Error(`expected a leaf to be stored, got ${result.outcome}`);
  const { parts, lists } = map.unsaved();
  await store.saveMap(projectId, { map: { size, ms: map.ms, leafIndex: size, parts }, since: 0, lists });
  await world.restart();
  return world;
}

async function leaves({ store }: World) {
  const page = { limit: 100, order: 'asc' } as const;
  const found = await store.leavesOf(projectId, { type: 'gov.index/1' }, page);
  return found.map(({ record }) => readIndex(record)!);
}

describe.each(Object.entries(engines))('on %s, a log indexed by an older map function', (_engine, open) => {
  it('a log indexed by an older map function gets an index of the newer one with the next proof', async () => {
    const world = await indexedBefore(open);
    expect((await prove(world))!.entries[0]).toMatchObject({ end: { value: { n: 5 } } });
    expect((await leaves(world)).map(({ fn }) => fn)).toEqual(['gov.mapfn/1', 'gov.mapfn/2']);
    expect(await world.store.savedMap(projectId)).toBeNull();
    await index(world, 'build');
    const { leafIndex } = (await world.store.savedMap(projectId))!;
    const saved = readIndex((await world.store.leaf(projectId, leafIndex))!.record);
    expect(saved).toMatchObject({ fn: 'gov.mapfn/2', size: 13 });
    await world.drop();
  });

  it('a log indexed by an older map function refuses a proof of a run that its tables cut short', async () => {
    const world = await indexedBefore(open);
    const lists = [{ key: ['run', 'r1'], what: 'events', n: 4, root: null }];
    await expect(index(world, 'leaf', lists)).rejects.toThrow('index_mismatch: the list of the events of r1');
    await world.drop();
  });
});
