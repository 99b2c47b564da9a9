import { expect, it } from 'vitest';
import { backoffMs } from '../../src/core/backoff.ts';

const backoff = { firstMs: 1000, mostMs: 60_000, jitter: 0 };

it('a wait doubles with each failure, up to the longest', () => {
  expect([1, 2, 3, 6, 7, 2000].map((failures) => backoffMs(backoff, failures, 0.5))).toEqual([
    1000, 2000, 4000, 32_000, 60_000, 60_000,
  ]);
});

it.each([
  [0, 1000, 1000],
  [0.5, 500, 1000],
  [1, 0, 1000],
])('with a jitter of %d a wait lasts from %d up to %d ms', (jitter, least, most) => {
  expect(backoffMs({ ...backoff, jitter }, 1, 0)).toBe(least);
  expect(backoffMs({ ...backoff, jitter }, 1, 1)).toBe(most);
});
