/**
 * Aligns two sequences by a longest common subsequence, with the greedy search of E. Myers ("An O(ND) difference
 * algorithm and its variations", 1986): time grows with the number of differences, not with the product of the lengths.
 * Beyond `searchWidth` differences in one stretch it takes the path that leads furthest and continues from there. So the
 * cost is at most `searchWidth` steps an item, and 4 MB. The result may then be shorter than the longest, which
 * `longest` reports. Proven by `test/core/replay/align.test.ts` (dynamic programming as oracle).
 */

/** Number of differences up to which the result is exact; a cost, not a limit of the interface. */
const searchWidth = 1000;

export interface Alignment {
  /** For each expected item the position of its actual partner, ascending; −1 without a partner. */
  readonly partners: Int32Array;
  /** Whether no alignment has more pairs. */
  readonly longest: boolean;
}

/** Aligns two sequences of numbers; items with equal numbers are equal. */
export function align(expected: Int32Array, actual: Int32Array, width = searchWidth): Alignment {
  const partners = new Int32Array(expected.length).fill(-1);
  let tail = 0;
  while (tail < Math.min(expected.length, actual.length) && expected.at(-1 - tail) === actual.at(-1 - tail)) {
    tail++;
    partners[expected.length - tail] = actual.length - tail;
  }
  const a = expected.subarray(0, expected.length - tail);
  const b = actual.subarray(0, actual.length - tail);
  let longest = true;
  for (let x = 0, y = 0; x < a.length && y < b.length;) {
    const stretch = search(a.subarray(x), b.subarray(y), width);
    for (const { from, to, length } of stretch.runs) {
      for (let at = 0; at < length; at++) partners[x + from + at] = y + to + at;
    }
    x += stretch.x;
    y += stretch.y;
    if (!stretch.whole) longest = false;
  }
  return { partners, longest };
}

/** Consecutive equal items. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

interface Stretch {
  /** End of the stretch. */
  readonly x: number;
  readonly y: number;
  readonly runs: readonly Run[];
  /** Whether it leads to the end by a shortest path. */
  readonly whole: boolean;
}

/**
 * `reach[k]`: how far in `a` the paths with so many differences lead on the diagonal x − y = k − centre; −1 without a
 * path. All rounds are stored, to find the way back.
 */
function search(a: Int32Array, b: Int32Array, width: number): Stretch {
  const rounds: Int32Array[] = [];
  let before = new Int32Array(1);
  for (let differences = 0; ; differences++) {
    const reach = new Int32Array(2 * differences + 1).fill(-1);
    rounds.push(reach);
    let furthest = { k: 0, sum: -1 };
    for (let k = 0; k <= 2 * differences; k += 2) {
      const diagonal = k - differences;
      let x = differences === 0 ? 0 : entry(before, k, diagonal, a.length, b.length);
      if (x < 0) continue;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x++;
      reach[k] = x;
      if (2 * x - diagonal > furthest.sum) furthest = { k, sum: 2 * x - diagonal };
    }
    const done = furthest.sum === a.length + b.length;
    if (done || differences === width) {
      return { ...wayBack(rounds, furthest.k, a.length, b.length), whole: done };
    }
    before = reach;
  }
}

/**
 * Returns where a path enters a diagonal: from the one below by omitting an item of `b`, or from the one above by omitting
 * an item of `a`, whichever leads further; −1 if neither can.
 */
function entry(before: Int32Array, k: number, diagonal: number, aLength: number, bLength: number): number {
  // Diagonal d is entry k of this round, and entry k − 1 of the previous round.
  const down = before[k] ?? -1; // diagonal + 1
  const right = before[k - 2] ?? -1; // diagonal − 1
  const viaDown = down >= 0 && down - diagonal <= bLength ? down : -1;
  const viaRight = right >= 0 && right + 1 <= aLength ? right + 1 : -1;
  return Math.max(viaDown, viaRight);
}

function wayBack(
  rounds: readonly Int32Array[],
  end: number,
  aLength: number,
  bLength: number,
): Omit<Stretch, 'whole'> {
  const runs: Run[] = [];
  let k = end;
  const last = rounds.length - 1;
  const x = rounds[last]?.[k] ?? 0;
  for (let round = last; round >= 0; round--) {
    const diagonal = k - round;
    const reached = rounds[round]?.[k] ?? 0;
    const before = rounds[round - 1];
    const from = before === undefined ? 0 : entry(before, k, diagonal, aLength, bLength);
    if (reached > from) runs.push({ from, to: from - diagonal, length: reached - from });
    // The same choice as in the search: by `a` if both lead equally far.
    const right = before?.[k - 2] ?? -1;
    k = right >= 0 && right + 1 === from ? k - 2 : k;
  }
  return { x, y: x - (end - last), runs };
}
