/** Erasure: salts and values go in one transaction with the leaf that says so; nothing else changes. */
import { describe, expect, it } from 'vitest';
import { unkeptOf } from '../../../../src/core/events/erased.ts';
import { recordDigests } from '../../../../src/core/events/run-entry.ts';
import type { Store } from '../../../../src/store/port/store.ts';
import type { Leaf } from '../../../../src/store/port/store.ts';
import { open } from '../../support/engine.ts';
import { appended, codeOf, event, request, stored } from '../../support/fixture.ts';
import { digestsOf, erasing } from '../../support/erasing.ts';

const card = '4111 1111 1111 1111';
const withCard = (more: object = {}) => event({ metadata: { card, step: 2 }, ...more });

async function leafAt(store: Store, index: number): Promise<Leaf> {
  return (await store.leaf('prj_a', index))!;
}

describe('erased fields', () => {
  it('erased fields are gone from every read, and record, hash and tree stay the same', async () => {
    const { store, reopen, drop } = await open();
    const [made] = await appended(store, request([withCard(), event()]));
    const before = await leafAt(store, made!.index);
    const head = await store.head('prj_a', 'audit');
    const digest = digestsOf(before).get('/metadata/card')!;
    const [erasure] = await appended(store, erasing([{ index: made!.index, digests: [digest] }]));

    for (const opening of [async () => store, reopen]) {
      const opened = await opening();
      const after = await leafAt(opened, made!.index);
      expect(after.disclosures).not.toContain(card);
      expect(after.disclosures).toContain('/metadata/step');
      expect([after.record, after.hash]).toEqual([before.record, before.hash]);
      const { disclosures, erased = null } = after;
      expect(unkeptOf(recordDigests(after.record)!, { disclosures, erased })).toEqual({
        erased: [{ digest, leaf: erasure!.index }],
        missing: [],
      });
      const { runId } = JSON.parse(after.record) as { runId: string };
      const all = { fromSeq: 0, beforeIndex: 99, limit: 10 };
      const reads = [
        await opened.runLeaves('prj_a', runId, { ...all, bodies: true }),
        await opened.events('prj_a', { runId }, { limit: 10, order: 'asc' }),
        await opened.events('prj_a', { runId }, { limit: 10, order: 'desc' }),
        await opened.eventsAfter('prj_a', {}, { after: -1, limit: 10 }),
        await opened.leaves('prj_a', 'audit', { from: 0, to: 99 }),
      ];
      for (const leaves of reads) {
        const found = leaves.find(({ index }) => index === made!.index);
        expect(found).toEqual(after);
        expect(leaves.filter(({ erased: by }) => by !== undefined)).toHaveLength(1);
      }
      const [bare] = await opened.runLeaves('prj_a', runId, { ...all, bodies: false });
      expect([bare!.disclosures, bare!.erased]).toEqual([null, undefined]);
      expect((await opened.head('prj_a', 'audit')).size).toBe(head.size + 1);
    }
    await drop();
  });

  it('an erasure may remove all fields of an event and leaves the leaf unchanged', async () => {
    const { store, drop } = await open();
    const [made] = await appended(store, request([event()]));
    const digests = [...digestsOf(await leafAt(store, made!.index)).values()];
    const [erasure] = await appended(store, erasing([{ index: made!.index, digests }]));
    const after = await leafAt(store, made!.index);
    expect([after.disclosures, after.erased]).toEqual(['[]', `[[${erasure!.index}]]`]);
    await drop();
  });

  it('erasures are found by id and in a list', async () => {
    const { store, drop } = await open();
    const made = await appended(store, request([event(), event()]));
    const ids: string[] = [];
    for (const { index } of made) {
      const digests = [...digestsOf(await leafAt(store, index)).values()];
      const { assigned } = await stored(store, erasing([{ index, digests }]));
      expect(assigned).toHaveLength(1);
    }
    const page = { limit: 10, order: 'desc' } as const;
    for (const { record } of await store.leavesOf('prj_a', { type: 'gov.erasure/1' }, page)) {
      ids.push((JSON.parse(record) as { erasureId: string }).erasureId);
    }
    expect(ids).toHaveLength(2);
    const leaf = await store.leafOf('prj_a', 'gov.erasure/1', ids[1]!);
    expect(leaf!.record).toContain(ids[1]);
    await drop();
  });

  it('an erasure removes the client event id, which is then free again', async () => {
    const { store, drop } = await open();
    const mine = () => request([event({ clientEventId: 'mine' })]);
    const [made] = await appended(store, mine());
    const digests = digestsOf(await leafAt(store, made!.index));
    await appended(store, erasing([{ index: made!.index, digests: [digests.get('/action')!] }]));
    expect((await stored(store, mine())).assigned[0]!.outcome).toBe('duplicate');
    await appended(store, erasing([{ index: made!.index, digests: [digests.get('/clientEventId')!] }]));
    const [again] = await appended(store, mine());
    expect(again!.index).toBeGreaterThan(made!.index);
    await drop();
  });

  it('an erasure is refused as a whole when one of its fields is not stored', async () => {
    const { store, drop } = await open();
    const made = await appended(store, request([event(), event()]));
    const [first, second] = await Promise.all(
      made.map(async ({ index }) => {
        const digests = [...digestsOf(await leafAt(store, index)).values()];
        return { index, digests };
      }),
    );
    const size = (await store.head('prj_a', 'audit')).size;
    for (const targets of [
      [first!, { index: second!.index, digests: ['A'.repeat(43)] }],
      [first!, { index: second!.index, digests: [] }],
      [first!, { index: 0, digests: second!.digests }],
      [first!, { index: 9999, digests: second!.digests }],
      [first!, first!],
    ]) {
      expect(await codeOf(store.append(erasing(targets)))).toBe('CONFLICT');
    }
    expect((await leafAt(store, first!.index)).erased).toBeUndefined();
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    // two that wait for the same commit: the second finds nothing left
    const both = [erasing([first!]), erasing([first!])].map((each) => codeOf(store.append(each)));
    expect((await Promise.all(both)).sort()).toEqual(['CONFLICT', 'none']);
    await drop();
  });
});
