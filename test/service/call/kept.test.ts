import { expect, it } from 'vitest';
import { Kept } from '../../../src/service/call/kept.ts';

it('kept values have at most so many bytes together, and the least recently used is dropped first', () => {
  const kept = new Kept<{ readonly bytes: number }>(10);
  const value = { bytes: 5 };
  kept.keep('a', value);
  kept.keep('b', { bytes: 5 });
  expect(kept.get('a')).toBe(value);
  kept.keep('c', { bytes: 5 });
  expect(['a', 'b', 'c'].map((key) => kept.get(key) !== undefined)).toEqual([true, false, true]);
  kept.keep('d', { bytes: 11 });
  expect(['a', 'c', 'd'].map((key) => kept.get(key))).toEqual([undefined, undefined, undefined]);
  kept.keep('e', { bytes: 10 });
  expect(kept.get('e')).toEqual({ bytes: 10 });
});

it('a value that was taken is kept no longer, unless it is kept again', () => {
  const kept = new Kept<{ readonly bytes: number }>(10);
  kept.keep('a', { bytes: 1 });
  expect(kept.take('a')).toEqual({ bytes: 1 });
  expect(kept.take('a')).toBe(undefined);
});
