/**
 * The buckets of time in which events are counted (`time-counts.ts`), and the blocks of runs with their times.
 * Proven by `test/store/append/time-counts.test.ts`.
 */

export const fineWidth = 16;
export const coarseWidth = 24;
export const spanRuns = 1024;

/** From `from` to before `to`, in units of 2^width ms. Width 0: single milliseconds, which no bucket counts. */
export interface Piece {
  readonly width: number;
  readonly from: number;
  readonly to: number;
}

/** Divides a time range, `to` excluded, into as few whole buckets as possible, and what is left. */
export function piecesOf(
  from: number,
  to: number,
  [width, ...finer]: readonly number[] = [coarseWidth, fineWidth],
): Piece[] {
  if (from >= to) return [];
  if (width === undefined) return [{ width: 0, from, to }];
  const size = 2 ** width;
  const [first, end] = [Math.ceil(from / size), Math.floor(to / size)];
  if (first >= end) return piecesOf(from, to, finer);
  const before = piecesOf(from, first * size, finer);
  return [...before, { width, from: first, to: end }, ...piecesOf(end * size, to, finer)];
}
