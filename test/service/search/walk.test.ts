import { expect, it } from 'vitest';
import { draftEvent, sealEvent } from '../../../src/core/events/record.ts';
import { blockLeaves } from '../../../src/core/search/places.ts';
import { Slices } from '../../../src/service/call/slices.ts';
import { walk } from '../../../src/service/search/walk.ts';
import type { Leaf, Store } from '../../../src/store/port/store.ts';

const input = { runId: 'r', eventType: 'step', actor: 'a', action: 'b', timestamp: '2026-01-01T00:00:00Z' };

function leafAt(index: number): Leaf {
  const draft = draftEvent(input, Date.parse(input.timestamp), () => 'AAAAAAAAAAAAAAAAAAAAAA');
  if (!('kind' in draft)) throw new Error('expected an event');
  const { record, leaf } = sealEvent(draft, { index, runSeq: index, serverMs: 0, random: 0 });
  return { index, record, hash: leaf, disclosures: draft.disclosures };
}

it('a search loses no event when an erasure drops the index during it', async () => {
  let head = { blocks: 1, changes: 0 };
  const store = {
    termHead: () => Promise.resolve(head),
    prunedBelow: () => Promise.resolve(0),
    termBlocks: () => {
      head = { blocks: 0, changes: 1 };
      return Promise.resolve([]);
    },
    leaves: (_project: string, _tree: string, { from, to }: { from: number; to: number }) =>
      Promise.resolve(from <= 7 && 7 < to ? [leafAt(7)] : []),
  } as unknown as Store;
  const found = await walk({
    store,
    projectId: 'p',
    key: new Uint8Array(32),
    wanted: { kind: 'event', search: { actor: 'a' } },
    open: (leaf) => Promise.resolve(leaf.index),
    slice: new Slices().of('p'),
    before: blockLeaves,
    limit: 10,
  });
  expect(found.items).toEqual([7]);
  expect(found.before).toBeNull();
});
