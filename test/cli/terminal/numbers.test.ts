import { expect, it } from 'vitest';
import { counted, number } from '../../../src/cli/terminal/numbers.ts';

it('a count has its noun in the right number, and its thousands apart', () => {
  expect([0, 1, 2, 1200].map((count) => counted(count, 'event'))).toEqual([
    '0 events',
    '1 event',
    '2 events',
    '1,200 events',
  ]);
  expect([1, 3].map((count) => counted(count, 'leaf', 'leaves'))).toEqual(['1 leaf', '3 leaves']);
  expect([999, 1000, 1_234_567].map(number)).toEqual(['999', '1,000', '1,234,567']);
});
