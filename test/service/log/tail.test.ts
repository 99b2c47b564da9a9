import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Tail } from '../../../src/service/log/tail.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the tail of a store that has one process', () => {
  it('the tail of a store with one process wakes readers of the project that grew, and sets no timer', () => {
    const tail = new Tail({});
    const wakes: string[] = [];
    const end = tail.watch('prj_a', () => wakes.push('a'));
    tail.watch('prj_b', () => wakes.push('b'));
    tail.grew('prj_a');
    tail.grew('prj_none');
    end();
    tail.grew('prj_a');
    expect(wakes).toEqual(['a']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the tail of a store that others write to', () => {
  const sizes = new Map<string, number>();
  const asked: string[][] = [];
  let failing = false;
  const store = {
    sizes: async (projectIds: readonly string[]) => {
      asked.push([...projectIds]);
      if (failing) throw new Error('not now');
      return new Map([...sizes].filter(([projectId]) => projectIds.includes(projectId)));
    },
  };
  beforeEach(() => {
    sizes.clear();
    asked.length = 0;
    failing = false;
  });

  it("the tail wakes within a second of another process's append, and not without one", async () => {
    const tail = new Tail(store);
    sizes.set('prj_a', 1).set('prj_b', 1);
    const wakes: string[] = [];
    tail.watch('prj_a', () => wakes.push('a'));
    tail.watch('prj_b', () => wakes.push('b'));
    await vi.advanceTimersByTimeAsync(999);
    expect(wakes).toEqual(['a', 'b']); // it may have grown before it was asked
    await vi.advanceTimersByTimeAsync(5000);
    expect(wakes).toHaveLength(2);
    sizes.set('prj_b', 2);
    await vi.advanceTimersByTimeAsync(999);
    expect(wakes).toEqual(['a', 'b', 'b']);
  });

  it('the tail reads the sizes of all watched logs at once, one read at a time, and none when no reader waits', async () => {
    const tail = new Tail(store);
    const ends = ['prj_a', 'prj_b', 'prj_b'].map((projectId) => tail.watch(projectId, () => {}));
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual([
      ['prj_a', 'prj_b'],
      ['prj_a', 'prj_b'],
    ]);
    for (const end of [...ends, ...ends]) end();
    expect(vi.getTimerCount()).toBe(0);
    let again = 0;
    tail.watch('prj_a', () => (again += 1));
    sizes.set('prj_a', 1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(again).toBe(1);
  });

  it('the tail continues after the store could not be read', async () => {
    const tail = new Tail(store);
    let wakes = 0;
    tail.watch('prj_a', () => (wakes += 1));
    sizes.set('prj_a', 1);
    failing = true;
    await vi.advanceTimersByTimeAsync(2000);
    expect(wakes).toBe(0);
    failing = false;
    await vi.advanceTimersByTimeAsync(500);
    expect(wakes).toBe(1);
  });
});
