import { describe, expect, it } from 'vitest';
import { dayOf, extendDay, inheritMore, isBalanced } from '../../../../src/core/intake/otlp/day-balance.ts';
import { observed } from '../../../../src/core/intake/otlp/sources.ts';

const atMs = Date.UTC(2026, 10, 29, 23, 59);
const activity = {
  ...observed({ service: 's', instance: null }),
  spans: 5,
  metrics: 2,
  kept: 3,
  observed: 1,
};

describe('the balance of a day', () => {
  it('sums requests, and keeps the first reason', () => {
    const first = extendDay(null, { ...activity, filtered: 1, rejected: 1, rejectedWhy: 'one' }, atMs);
    const both = extendDay(first, { ...activity, repeated: 2, rejectedWhy: 'two' }, atMs);
    expect(dayOf(atMs)).toBe('2026-11-29');
    expect(both).toEqual({
      service: 's',
      instance: null,
      day: '2026-11-29',
      spans: 10,
      logs: 0,
      metrics: 4,
      recorded: 4,
      observed: 2,
      inherited: 2,
      bookkeeping: 5,
      rejected: 1,
      remainder: { where: 'request at 2026-11-29T23:59:00.000Z', why: 'one' },
    });
    expect([first, both].map(isBalanced)).toEqual([true, true]);
  });

  it('does not come out where a record is nowhere', () => {
    const lost = extendDay(null, { ...activity, spans: 4 }, atMs);
    expect(isBalanced(lost)).toBe(false);
    expect(isBalanced(extendDay(null, { ...activity, kept: 5 }, atMs))).toBe(true);
  });

  it('stays as it is where records were in the log already', () => {
    const whole = extendDay(null, { ...activity, kept: 5 }, atMs);
    const moved = inheritMore(whole, { recorded: 2, observed: 1 });
    expect([moved.recorded, moved.observed, moved.inherited]).toEqual([2, 0, 3]);
    expect(isBalanced(moved)).toBe(true);
  });
});
