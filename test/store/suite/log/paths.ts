/** The paths of appended leaves, for receipts. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { hashText } from '../../../../src/core/hash.ts';
import { leafHash, verifyInclusion } from '../../../../src/core/merkle/tree.ts';
import { rangeOf, type LeafOutcome, type StoredLeaves } from '../../../../src/store/port/store.ts';
import { event, request, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';

const hashesIn = (text: string): Uint8Array[] =>
  Array.from({ length: text.length / 32 }, (_, at) =>
    Buffer.from(text.slice(at * 32, at * 32 + 32), 'latin1'),
  );

describe('the paths of appended leaves', () => {
  it('the paths lead from the first and the last leaf of each request to the root of its commit', async () => {
    const { store, drop } = await open();
    const found: StoredLeaves[] = [];
    for (const count of [1, 2, 300, 1, 5]) {
      const requests = [count, 1, 3].map((leaves) =>
        request(
          Array.from({ length: leaves }, () => event()),
          { paths: true },
        ),
      );
      const answers = await Promise.all(requests.map((each) => stored(store, each)));
      for (const { stored: placed, assigned } of answers) {
        expect(rangeOf(assigned)).toEqual({ first: placed?.leaves?.first, last: placed?.leaves?.last });
        found.push(placed!.leaves!);
      }
    }
    const { size } = await store.head('prj_a', 'audit');
    const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: size });
    const hashes = leaves.map(({ record }) => leafHash(record));
    for (const { tree, first, last, paths, hashes: listed } of found) {
      expect(paths).toHaveLength(first === last ? 1 : 2);
      for (const [at, index] of [first, last].slice(0, paths.length).entries()) {
        const claim = { ...tree, index, leaf: hashes[index]!, path: hashesIn(paths[at]!) };
        expect(verifyInclusion(claim), `leaf ${index} of ${tree.size}`).toBe(true);
      }
      const own = hashes.slice(first, last + 1);
      expect(listed === null ? null : Buffer.from(listed, 'latin1')).toEqual(
        own.length > limits.receiptLeaves ? null : Buffer.concat(own),
      );
    }
    await drop();
  });

  it('requests of one commit have the same tree, so that it is signed once', async () => {
    const { store, drop } = await open();
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => stored(store, request([event()], { paths: true }))),
    );
    const trees = answers.map((answer) => answer.stored!.leaves!.tree);
    expect(new Set(trees).size).toBe(new Set(trees.map(({ size }) => size)).size);
    await drop();
  });

  it('a request that asks for no paths, or appends nothing, gets none', async () => {
    const { store, drop } = await open();
    expect((await stored(store, request([event()]))).stored).toBeUndefined();
    expect((await stored(store, request([], { paths: true }))).stored).toBeUndefined();
    await drop();
  });

  it('an event and its repeats have the hash of its leaf', async () => {
    const { store, drop } = await open();
    const keyed = request([event({ clientEventId: 'c' }), event({ clientEventId: 'c' })], {
      fingerprints: new Map([0, 1].map((at) => [at, 'f'])),
    });
    const { assigned } = await stored(store, keyed);
    const again = (await stored(store, keyed)).assigned;
    const hash = hashText(leafHash((await store.leaf('prj_a', 1))!.record));
    for (const each of [...assigned, ...again]) expect(each).toMatchObject({ index: 1, leafHash: hash });
    await drop();
  });

  it('the range of an answer is that of its new leaves, else of consecutive repeats', () => {
    const made = (index: number): LeafOutcome => ({
      outcome: 'appended',
      index,
      eventId: null,
      leafHash: null,
      runSeq: null,
      serverMs: 0,
    });
    const repeat = (index: number): LeafOutcome => ({
      outcome: 'duplicate',
      index,
      eventId: '',
      leafHash: '',
    });
    expect(rangeOf([repeat(3), made(7), repeat(7), made(8)])).toEqual({ first: 7, last: 8 });
    expect(rangeOf([repeat(3), { outcome: 'conflict' }, repeat(4)])).toEqual({ first: 3, last: 4 });
    for (const none of [
      [],
      [{ outcome: 'conflict' } as const],
      [repeat(3), repeat(5)],
      [repeat(4), repeat(3)],
    ])
      expect(rangeOf(none)).toBeNull();
  });
});
