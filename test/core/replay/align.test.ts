/** Alignment: small cases by hand, dynamic programming as oracle, and its bounds. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { align, type Alignment } from '../../../src/core/replay/align.ts';
import { threadMs } from '../../thread-ms.ts';

const numbers = (text: string): Int32Array => Int32Array.from(text, (letter) => letter.charCodeAt(0));
const partnersOf = (a: string, b: string): number[] => [...align(numbers(a), numbers(b)).partners];

function longestCommon(a: Int32Array, b: Int32Array): number {
  let row = Array.from({ length: b.length + 1 }, () => 0);
  for (const item of a) {
    const above = row;
    row = [0];
    for (const [at, other] of b.entries()) {
      row.push(item === other ? above[at]! + 1 : Math.max(above[at + 1]!, row[at]!));
    }
  }
  return row.at(-1)!;
}

/** Pairs are of equal items and ascend. Returns how many there are. */
function checkPairs(a: Int32Array, b: Int32Array, { partners }: Alignment): number {
  let last = -1;
  let pairs = 0;
  expect(partners).toHaveLength(a.length);
  for (const [at, partner] of partners.entries()) {
    if (partner < 0) continue;
    expect(partner).toBeGreaterThan(last);
    expect(b[partner]).toBe(a[at]);
    last = partner;
    pairs++;
  }
  return pairs;
}

describe('an alignment', () => {
  it.each([
    ['', '', []],
    ['abc', '', [-1, -1, -1]],
    ['', 'abc', []],
    ['abc', 'abc', [0, 1, 2]],
    ['abc', 'axbc', [0, 2, 3]],
    ['abc', 'ac', [0, -1, 1]],
    ['abc', 'xyz', [-1, -1, -1]],
    ['ab', 'ba', [1, -1]],
    ['aaa', 'a', [-1, -1, 0]],
  ])('the alignment of %j with %j is known', (a, b, expected) => {
    expect(partnersOf(a, b)).toEqual(expected);
  });

  const sequence = fc.array(fc.nat({ max: 5 }), { maxLength: 40 }).map((items) => Int32Array.from(items));

  it('an alignment pairs as many equal items in order as possible', () => {
    fc.assert(
      fc.property(sequence, sequence, (a, b) => {
        const alignment = align(a, b);
        expect(checkPairs(a, b, alignment)).toBe(longestCommon(a, b));
        expect(alignment.longest).toBe(true);
      }),
      { seed: 41, numRuns: 2000 },
    );
  });

  it('an alignment beyond the search width is valid and claims to be longest only when it is', () => {
    let settled = 0;
    fc.assert(
      fc.property(sequence, sequence, fc.integer({ min: 1, max: 6 }), (a, b, width) => {
        const alignment = align(a, b, width);
        const pairs = checkPairs(a, b, alignment);
        if (alignment.longest) expect(pairs).toBe(longestCommon(a, b));
        else settled++;
      }),
      { seed: 42, numRuns: 2000 },
    );
    expect(settled).toBeGreaterThan(100);
  });

  it('an alignment is exact up to a thousand differences, and not beyond', () => {
    const differing = (count: number): Alignment =>
      align(
        Int32Array.from({ length: count + 1 }, (_, at) => at),
        Int32Array.of(-1, count - 1, -2),
      );
    // of items 0 … count, all but count − 1 are left out, and −1 and −2 come in: count + 2 differences
    expect(differing(998)).toMatchObject({ longest: true });
    expect(differing(999)).toMatchObject({ longest: false });
  });

  it('an alignment of 100,000 steps with nothing in common ends within seconds', () => {
    const a = Int32Array.from({ length: 100_000 }, (_, at) => at);
    const b = a.map((item) => -1 - item);
    const start = threadMs();
    expect(checkPairs(a, b, align(a, b))).toBe(0);
    expect(threadMs() - start).toBeLessThan(20_000);
  });

  it('an alignment of 100,000 steps that mostly agree finds all equal steps', () => {
    const a = Int32Array.from({ length: 100_000 }, (_, at) => at % 7);
    const b = a.filter((_, at) => at % 1000 !== 500);
    expect(checkPairs(a, b, align(a, b))).toBe(b.length);
  });
});
