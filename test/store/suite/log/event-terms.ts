/** The search index: blocks in order, terms by block and time, and what erasures and prunes drop. */
import { describe, expect, it } from 'vitest';
import type { TermBlock } from '../../../../src/store/port/store.ts';
import { digestsOf, erasing } from '../../support/erasing.ts';
import { appended, event, genesis, projectOf, request } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const term = (name: string): Buffer => Buffer.from(name.padEnd(8, '.'));
const block = (name: string, firstMs: number, lastMs: number): TermBlock => ({
  term: term(name),
  firstMs,
  lastMs,
  places: Buffer.from([0, firstMs]),
});
const all = { from: 0, to: 9, startMs: 0, endMs: 99 };

describe('the search index', () => {
  it('takes the blocks of a log in order, each once, and keeps them', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const none = { blocks: 0, changes: 0 };
    expect(await store.termHead('prj_a')).toEqual(none);
    expect(await store.saveTermBlock('prj_a', { blocks: 1, changes: 0 }, [block('x', 1, 2)])).toBe(false);
    const twice = [none, none].map((head) => store.saveTermBlock('prj_a', head, [block('x', 1, 2)]));
    expect((await Promise.all(twice)).toSorted()).toEqual([false, true]);
    const next = { blocks: 1, changes: 0 };
    expect(await store.saveTermBlock('prj_a', next, [block('x', 5, 6), block('y', 5, 5)])).toBe(true);
    const again = await reopen();
    expect(await again.termHead('prj_a')).toEqual({ blocks: 2, changes: 0 });
    expect(await again.termHead('prj_b')).toEqual(none);
    const found = await again.termBlocks('prj_a', term('x'), all);
    expect(found.map(({ block, places }) => [block, [...places]])).toEqual([
      [1, [0, 5]],
      [0, [0, 1]],
    ]);
    expect(await again.termBlocks('prj_b', term('x'), all)).toEqual([]);
    const blocks = async (range: Partial<typeof all>) =>
      (await again.termBlocks('prj_a', term('x'), { ...all, ...range })).map((each) => each.block);
    expect(await blocks({ from: 1 })).toEqual([1]);
    expect(await blocks({ to: 1 })).toEqual([0]);
    expect(await blocks({ startMs: 3 })).toEqual([1]);
    expect(await blocks({ endMs: 4 })).toEqual([0]);
    expect(await blocks({ startMs: 2, endMs: 5 })).toEqual([1, 0]);
    await drop();
  });

  it('finds events within times by the index of times, the newest recording first, of one project', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    const times = [50, 10, 30, 20, 40].map((seconds) => `2026-01-01T00:00:${seconds}.000Z`);
    const made = await appended(store, request(times.map((timestamp) => event({ timestamp }))));
    const [zero = 0] = made.map(({ index }) => index);
    const base = Date.parse('2026-01-01T00:00:00Z');
    const range = { from: 0, to: 99, startMs: base + 20_000, endMs: base + 40_000 };
    const within = async (change: Partial<typeof range>, project = 'prj_a') =>
      (await store.eventsWithin(project, { ...range, ...change })).map((index) => index - zero);
    expect(await within({})).toEqual([4, 3, 2]);
    expect(await within({ endMs: base + 39_999 })).toEqual([3, 2]);
    expect(await within({ startMs: base + 20_001 })).toEqual([4, 2]);
    expect(await within({ to: zero + 4 })).toEqual([3, 2]);
    expect(await within({ from: zero + 3 })).toEqual([4, 3]);
    expect(await within({}, 'prj_b')).toEqual([]);
    await drop();
  });

  it('forgets the blocks from an erased event on, and takes no block that was read before the erasure', async () => {
    const { store, drop } = await open();
    const [made] = await appended(store, request([event()]));
    const head = await store.termHead('prj_a');
    await store.saveTermBlock('prj_a', head, [block('x', 1, 2)]);
    const before = await store.termHead('prj_a');
    const leaf = await store.leaf('prj_a', made?.index ?? -1);
    if (leaf === null) throw new Error('expected the event, got none');
    const digests = [...digestsOf(leaf).values()];
    await appended(store, erasing([{ index: leaf.index, digests }]));
    expect(await store.termBlocks('prj_a', term('x'), all)).toEqual([]);
    expect(await store.termHead('prj_a')).toEqual({ blocks: 0, changes: before.changes + 1 });
    expect(await store.saveTermBlock('prj_a', head, [block('x', 1, 2)])).toBe(false);
    expect(await store.saveTermBlock('prj_a', await store.termHead('prj_a'), [])).toBe(true);
    await drop();
  });
});
