/** What was sent and is not answered: numbers, order, and that nothing answered is kept. */
import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SentWrites } from '../../../../src/store/sqlite/write/unanswered.ts';

interface Item {
  readonly name: string;
  readonly bytes: number;
}
const item = (name: string, bytes = 1): Item => ({ name, bytes });

describe('sent writes', () => {
  it('sent writes are numbered on and can be taken once each, in any order', () => {
    const sent = new SentWrites<Item>();
    expect(sent.next).toBe(0);
    sent.add([item('a', 2), item('b', 3)]);
    sent.add([]);
    expect(sent.next).toBe(2);
    sent.add([item('c', 5)]);
    expect([sent.size, sent.bytes]).toEqual([3, 10]);
    expect(sent.take(2)?.name).toBe('c');
    expect(sent.take(1)?.name).toBe('b');
    expect(sent.take(1)).toBeUndefined();
    expect([sent.size, sent.bytes]).toEqual([1, 2]);
    for (const unknown of [-1, 3, 0.5]) expect(sent.take(unknown)).toBeUndefined();
    expect(sent.take(0)?.name).toBe('a');
    expect([sent.size, sent.bytes, sent.next]).toEqual([0, 0, 3]);
  });

  it('sent writes are taken all at once when the thread is lost, and numbers continue', () => {
    const sent = new SentWrites<Item>();
    sent.add([item('a'), item('b')]);
    sent.add([item('c')]);
    sent.take(0);
    expect(sent.clear().map(({ name }) => name)).toEqual(['b', 'c']);
    expect([sent.size, sent.bytes]).toEqual([0, 0]);
    expect(sent.take(1)).toBeUndefined();
    sent.add([item('d')]);
    expect(sent.take(3)?.name).toBe('d');
  });

  it('sent writes behave like a map by number for random steps', () => {
    const step = fc.oneof(
      fc.record({ add: fc.array(fc.nat(9), { maxLength: 5 }) }),
      fc.record({ take: fc.nat(40) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const sent = new SentWrites<Item>();
        const map = new Map<number, Item>();
        for (const each of steps) {
          if ('add' in each) {
            const items = each.add.map((bytes, at) => item(`${sent.next + at}`, bytes));
            items.forEach((added, at) => map.set(sent.next + at, added));
            sent.add(items);
          } else {
            expect(sent.take(each.take)).toBe(map.get(each.take));
            map.delete(each.take);
          }
          const bytes = [...map.values()].reduce((sum, held) => sum + held.bytes, 0);
          expect([sent.size, sent.bytes]).toEqual([map.size, bytes]);
        }
        expect(sent.clear()).toEqual([...map.values()]);
      }),
    );
  });

  it('sent writes that were taken are freed by young garbage collections alone', () => {
    const module = new URL('../../../../src/store/sqlite/write/unanswered.ts', import.meta.url).href;
    const node = ['--expose-gc', '--input-type=module', '--eval', program];
    const { stdout, stderr } = spawnSync(process.execPath, [...node, module], { encoding: 'utf8' });
    // of 38 MB that were sent; a map in its place keeps 12 to 20
    expect(Number(stdout), stderr).toBeLessThan(1_000_000);
    expect(stdout).not.toBe('');
  });
});

/** By how much the heap has grown once a lot was sent and answered, without a collection of the old generation. */
const program = `
  const { SentWrites } = await import(process.argv[1]);
  const sent = new SentWrites();
  const send = () => {
    const first = sent.next;
    sent.add(Array.from({ length: 24 }, () => ({ bytes: 1, content: Array(500).fill(0) })));
    return first;
  };
  let waiting = send();
  gc({ type: 'major' });
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 400; round++) {
    const following = send();
    if (round % 8 === 0) gc({ type: 'minor' });
    for (let at = 0; at < 24; at++) sent.take(waiting + at);
    waiting = following;
  }
  for (let round = 0; round < 2; round++) gc({ type: 'minor' });
  console.log(process.memoryUsage().heapUsed - before);
`;
