import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue } from '../../src/core/fair-queue.ts';

const room = 1000;

/** Items are named by owner and number: `a1`. */
function queued(...items: readonly string[]): FairQueue<string> {
  const turns = new FairQueue<string>();
  for (const item of items) expect(turns.add(item.charAt(0), item, room)).toBeUndefined();
  return turns;
}

function taken(turns: FairQueue<string>, count = room): string[] {
  const items: string[] = [];
  while (items.length < count) {
    const item = turns.next();
    if (item === undefined) break;
    items.push(item);
  }
  return items;
}

describe('turns of a fair queue', () => {
  it('a fair queue takes turns over owners, and serves the items of an owner by age', () => {
    const turns = queued('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
    expect(turns.size).toBe(6);
    expect(taken(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
    expect(turns.size).toBe(0);
  });

  it('a new owner waits behind the waiting owners, and a returning owner gains no earlier turn', () => {
    const turns = queued('a1', 'a2', 'b1', 'b2');
    expect(taken(turns, 1)).toEqual(['a1']);
    turns.add('c', 'c1', room);
    expect(taken(turns, 2)).toEqual(['b1', 'a2']);
    turns.add('a', 'a3', room);
    expect(taken(turns)).toEqual(['c1', 'b2', 'a3']);
  });

  it('a fair queue returns every item once and only added items', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(3))), (steps) => {
        const turns = new FairQueue<string>();
        const out: string[] = [];
        steps.forEach(([owner, takes], at) => {
          const refused = turns.add(owner, `${owner}${at}`, 5);
          if (refused !== undefined) out.push(refused);
          out.push(...taken(turns, takes));
          expect(turns.size).toBeLessThanOrEqual(5);
        });
        out.push(...turns.clear());
        expect(out.toSorted()).toEqual(steps.map(([owner], at) => `${owner}${at}`).toSorted());
      }),
    );
  });
});

describe('a full queue', () => {
  it('a full queue of one owner refuses the next item of that owner', () => {
    const turns = new FairQueue<string>();
    expect(turns.add('a', 'a1', 2)).toBeUndefined();
    expect(turns.add('a', 'a2', 2)).toBeUndefined();
    expect(turns.add('a', 'a3', 2)).toBe('a3');
    expect(taken(turns)).toEqual(['a1', 'a2']);
  });

  it('a full queue drops the newest items of the largest owner until another has as many', () => {
    const turns = queued('c1', 'a1', 'a2', 'a3', 'a4');
    const add = (item: string) => turns.add(item.charAt(0), item, 5);
    expect(['b1', 'b2', 'b3'].map(add)).toEqual(['a4', 'a3', 'b3']);
    expect(turns.size).toBe(5);
    expect(add('a5')).toBe('a5');
    expect(taken(turns)).toEqual(['c1', 'a1', 'b1', 'a2', 'b2']);
  });

  it('a full queue with one item for each owner refuses the next owner', () => {
    const turns = queued('a1', 'b1');
    expect(turns.add('c', 'c1', 2)).toBe('c1');
  });
});
