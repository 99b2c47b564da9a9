import { describe, expect, it } from 'vitest';
import { rowsShown } from '../../../src/console/parts/rows-shown.ts';

const view = { count: 10_000, rowHeight: 36, scrollTop: 0, height: 720 };

describe('the rows of a long list that are drawn', () => {
  it('a view draws its rows and eight on each side', () => {
    expect(rowsShown(view)).toEqual([0, 28]);
    expect(rowsShown({ ...view, scrollTop: 3600 })).toEqual([92, 128]);
  });

  it('a view at the end, past the end, or above the start draws rows that exist', () => {
    expect(rowsShown({ ...view, scrollTop: 360_000 - 720 })).toEqual([9972, 10_000]);
    expect(rowsShown({ ...view, scrollTop: 900_000 })).toEqual([9992, 10_000]);
    expect(rowsShown({ ...view, scrollTop: -50 })).toEqual([0, 28]);
    expect(rowsShown({ ...view, count: 0 })).toEqual([0, 0]);
  });
});
