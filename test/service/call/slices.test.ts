import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Slices } from '../../../src/service/call/slices.ts';

describe('slices', () => {
  it('one slice begins in a turn of the event loop, so that a new request waits for one', async () => {
    const slices = new Slices();
    let begun = 0;
    const flood = Array.from({ length: 16 }, async () => {
      await slices.of('prj_ada').next();
      begun += 1;
    });
    const seen: number[] = [];
    for (let turn = 0; turn < 32; turn += 1) {
      await nextTurn();
      seen.push(begun);
    }
    await Promise.all(flood);
    expect(seen.at(-1)).toBe(16);
    expect(seen.every((count, at) => count - (seen[at - 1] ?? 0) <= 1)).toBe(true);
  });

  it('slices of projects begin in turn, also those of continued work', async () => {
    const slices = new Slices();
    const order: string[] = [];
    const work = async (name: string, count: number) => {
      const slice = slices.of(name);
      for (let at = 0; at < count; at += 1) {
        await slice.next();
        order.push(name);
      }
    };
    await Promise.all([work('ada', 3), work('ada', 3), work('ada', 3), work('bob', 2)]);
    expect(order.slice(0, 5)).toEqual(['ada', 'bob', 'ada', 'bob', 'ada']);
    expect(order).toHaveLength(11);
  });

  it('a slice is over after a while, and the next one begins with its full time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const slice = new Slices().of('prj_ada');
    await slice.next();
    vi.advanceTimersByTime(5);
    expect(slice.isOver()).toBe(false);
    vi.advanceTimersByTime(1);
    expect(slice.isOver()).toBe(true);
    await slice.next();
    vi.advanceTimersByTime(5);
    expect(slice.isOver()).toBe(false);
    vi.useRealTimers();
  });
});
