/** Pieces of a time window: every millisecond of it is in exactly one, and they are few. */
import { assert, integer, nat, oneof, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coarseWidth, fineWidth, piecesOf } from '../../../src/store/append/buckets.ts';
import { addedCounts } from '../../../src/store/append/time-counts.ts';

const coarse = 2 ** coarseWidth;
const fine = 2 ** fineWidth;

describe('the pieces of a time window', () => {
  it('are whole buckets with a rest at each end', () => {
    expect(piecesOf(coarse - fine - 1, 3 * coarse + fine + 7)).toEqual([
      { width: 0, from: coarse - fine - 1, to: coarse - fine },
      { width: fineWidth, from: 255, to: 256 },
      { width: coarseWidth, from: 1, to: 3 },
      { width: fineWidth, from: 768, to: 769 },
      { width: 0, from: 3 * coarse + fine, to: 3 * coarse + fine + 7 },
    ]);
    expect(piecesOf(0, coarse)).toEqual([{ width: coarseWidth, from: 0, to: 1 }]);
    expect(piecesOf(5, 9)).toEqual([{ width: 0, from: 5, to: 9 }]);
    expect(piecesOf(5, 5)).toEqual([]);
  });

  it('join to the window without a gap, with fewer than 510 fine buckets and two short rests', () => {
    const time = integer({ min: 0, max: 253_402_300_799_999 });
    assert(
      property(time, oneof(time, nat(2 * coarse)), (start, length) => {
        const end = start + length;
        let at = start;
        let fines = 0;
        for (const { width, from, to } of piecesOf(start, end)) {
          expect([from * 2 ** width, from < to]).toEqual([at, true]);
          at = to * 2 ** width;
          if (width === fineWidth) fines += to - from;
          if (width === 0) expect(to - from).toBeLessThan(2 * fine);
        }
        expect(at).toBe(end);
        expect(fines).toBeLessThanOrEqual(510);
      }),
    );
  });
});

describe('the counts that a commit adds', () => {
  it('are in a fine and a coarse bucket, of each type and of all', () => {
    const typeTimes = new Map([
      [
        7,
        new Map([
          [255, 2],
          [256, 1],
        ]),
      ],
      [9, new Map([[256, 4]])],
    ]);
    expect(addedCounts({ typeTimes }).toSorted((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])).toEqual([
      [0, fineWidth, 255, 2],
      [0, fineWidth, 256, 5],
      [0, coarseWidth, 0, 2],
      [0, coarseWidth, 1, 5],
      [7, fineWidth, 255, 2],
      [7, fineWidth, 256, 1],
      [7, coarseWidth, 0, 2],
      [7, coarseWidth, 1, 1],
      [9, fineWidth, 256, 4],
      [9, coarseWidth, 1, 4],
    ]);
  });
});
