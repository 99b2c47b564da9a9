import { describe, expect, it } from 'vitest';
import { readAll, readNewer } from '../../../src/console/parts/read-all.ts';
import { limits } from '../../../src/contract/limits.ts';

/** A list of so many rows, of which each page has at most `size`. */
const list = (count: number, size: number) => (cursor: string | undefined) => {
  const from = Number(cursor ?? 0);
  const end = Math.min(count, from + size);
  const rows = Array.from({ length: end - from }, (_, at) => from + at);
  return Promise.resolve({ rows, nextCursor: end < count ? String(end) : null });
};

describe('reading the parts of a run', () => {
  it.each([
    ['events', limits.consoleRunEvents, limits.eventPageMax],
    ['decisions', limits.consoleRunDecisions, limits.pageMax],
  ])('a run with the limit of %s is read whole, and one more is reported as cut', async (_, most, size) => {
    let last: readonly number[] = [];
    const seen = (rows: readonly number[]): void => {
      last = rows;
    };
    expect(await readAll(list(most, size), { most, seen })).toBe(false);
    expect(last).toHaveLength(most);
    expect(await readAll(list(most + 1, size), { most, seen })).toBe(true);
    expect(last).toHaveLength(most);
  });

  it('each page shows all rows so far, so that a reader need not wait for the end', async () => {
    const lengths: number[] = [];
    await readAll(list(5, 2), { most: 100, seen: (rows) => lengths.push(rows.length) });
    expect(lengths).toEqual([2, 4, 5]);
  });

  it('only what is newer than the first known row is read, and one more than the limit is too many', async () => {
    let asked = 0;
    const ask = (cursor: string | undefined) => {
      asked += 1;
      return list(10, 2)(cursor);
    };
    const from = (known: number, most = 10) => readNewer(ask, { isKnown: (row) => row === known, most });
    expect(await from(0)).toEqual([]);
    expect(asked).toBe(1);
    expect(await from(3)).toEqual([0, 1, 2]);
    expect(await from(3, 3)).toEqual([0, 1, 2]);
    expect(await from(3, 2)).toBeNull();
    expect(await from(99)).toHaveLength(10);
  });
});
