/** Pruning: events below an index go with their bodies, once a leaf says so; hashes, ids and everything else stay. */
import { describe, expect, it } from 'vitest';
import { draftPrune } from '../../../../src/core/decided/prune.ts';
import { hashText } from '../../../../src/core/hash.ts';
import { merkleRoot } from '../../../../src/core/merkle/tree.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import { open } from '../../support/engine.ts';
import { appended, codeOf, event, request, stored } from '../../support/fixture.ts';
import { evaluation, unmetered } from '../../support/governance.ts';

/** By the hashes in the tiles: leaves may be gone. */
async function pruning(store: Store, minIndex: number) {
  const tile = (await store.tiles('prj_a', 'audit', [{ level: 0, index: 0, width: minIndex }]))[0]!;
  const hashes = Array.from({ length: minIndex }, (_, at) =>
    Buffer.from(tile.subarray(at * 32, at * 32 + 32)),
  );
  const root = merkleRoot(hashes);
  const leaf = draftPrune({
    minIndex,
    rootAtMinIndex: hashText(root),
    archiveHash: `sha256:${'0'.repeat(64)}`,
    archiveSize: 1,
    reasonCode: 'test',
    prunedAt: '2026-01-01T00:00:00.000Z',
  });
  return unmetered([leaf], [{ kind: 'prune', minIndex, root, leaf: 0 }]);
}

const ten = (runId: string) => Array.from({ length: 10 }, () => event({ runId }));

describe('pruned events', () => {
  it('pruned events are gone with their bodies, and nothing else is removed', async () => {
    const { store, reopen, drop } = await open();
    await appended(store, request([event({ clientEventId: 'mine', runId: 'gov.system' })]));
    await appended(store, request([event({ clientEventId: 'c' }), ...ten('r1')]));
    const [decided] = await appended(store, unmetered([evaluation('9')]));
    await appended(store, request(ten('r1')));
    expect(await store.prunedBelow('prj_a')).toBe(0);
    const head = await store.head('prj_a', 'audit');
    const minIndex = 20;
    await stored(store, await pruning(store, minIndex));
    // nothing has gone yet
    expect((await store.leaf('prj_a', 3))?.index).toBe(3);
    await store.dropPruned('prj_a', { from: 0, to: minIndex });

    for (const opening of [async () => store, reopen]) {
      const opened = await opening();
      expect(await opened.prunedBelow('prj_a')).toBe(minIndex);
      for (const index of [2, 3, 19]) {
        const error = await opened.leaf('prj_a', index).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'NOT_FOUND', extensions: { prunedBelow: minIndex } });
      }
      for (const index of [0, 1, decided!.index, minIndex]) {
        expect((await opened.leaf('prj_a', index))?.index).toBe(index);
      }
      expect(await opened.leaf('prj_a', 9999)).toBeNull();
      const page = { limit: 50, order: 'asc' } as const;
      const found = await opened.events('prj_a', { runId: 'r1' }, { ...page, fromIndex: minIndex });
      expect(found.map(({ index }) => index)).toEqual([20, 21, 22, 23]);
      const back = await opened.events(
        'prj_a',
        { runId: 'r1' },
        { ...page, order: 'desc', fromIndex: minIndex },
      );
      expect(back).toEqual(found.toReversed());
      const typed = { runId: 'r1', eventType: 'tool.call' };
      expect(await opened.events('prj_a', typed, { ...page, fromIndex: minIndex })).toEqual(found);
      expect(await codeOf(opened.events('prj_a', { runId: 'r1' }, page))).toBe('NOT_FOUND');
      const all = { fromSeq: 0, beforeIndex: 99, limit: 9, bodies: true };
      expect(await codeOf(opened.runLeaves('prj_a', 'r1', all))).toBe('NOT_FOUND');
      expect(await codeOf(opened.leaves('prj_a', 'audit', { from: 0, to: 30 }))).toBe('NOT_FOUND');
      expect((await opened.leaves('prj_a', 'audit', { from: 20, to: 30 })).length).toBeGreaterThan(2);
      expect((await opened.run('prj_a', 'r1'))?.events).toBe(21);
      expect(await opened.countEvents('prj_a', { runId: 'r1' })).toBe(21);
      expect((await opened.head('prj_a', 'audit')).size).toBe(head.size + 1);
      expect(
        (await opened.eventsAfter('prj_a', {}, { after: -1, limit: 50 })).map(({ index }) => index),
      ).toEqual([1, 20, 21, 22, 23]);
    }
    await drop();
  });

  it('pruning frees the client event ids of the pruned events', async () => {
    const { store, drop } = await open();
    const mine = () => request([event({ clientEventId: 'mine' })]);
    await appended(store, mine());
    await appended(store, request(ten('r1')));
    await stored(store, await pruning(store, 5));
    await store.dropPruned('prj_a', { from: 0, to: 5 });
    expect((await stored(store, mine())).assigned[0]!.outcome).toBe('appended');
    await drop();
  });

  it('pruning removes events only below the index in its leaf, and that index only grows', async () => {
    const { store, drop } = await open();
    await appended(store, request(ten('r1')));
    expect(await codeOf(store.dropPruned('prj_a', { from: 0, to: 5 }))).not.toBe('none');
    expect((await store.leaf('prj_a', 3))?.index).toBe(3);
    const { size } = await store.head('prj_a', 'audit');
    await stored(store, await pruning(store, 5));
    for (const minIndex of [0, 4, 5, size + 2]) {
      const { effects = [], ...made } = await pruning(store, 6);
      const wrong = effects.map((effect) => ({ ...effect, minIndex }) as (typeof effects)[number]);
      expect([minIndex, await codeOf(store.append({ ...made, effects: wrong }))]).toEqual([
        minIndex,
        'CONFLICT',
      ]);
    }
    expect(await codeOf(store.dropPruned('prj_a', { from: 0, to: 6 }))).not.toBe('none');
    await store.dropPruned('prj_a', { from: 0, to: 5 });
    await store.dropPruned('prj_a', { from: 0, to: 5 });
    await stored(store, await pruning(store, 8));
    await store.dropPruned('prj_a', { from: 5, to: 8 });
    expect(await codeOf(store.leaf('prj_a', 7))).toBe('NOT_FOUND');
    await drop();
  });
});
