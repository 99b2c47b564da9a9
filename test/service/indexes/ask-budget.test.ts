/** How many index leaves questions may add: at n and at n + 1, over time, and what an unused one gives back. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { AskBudget } from '../../../src/service/indexes/ask-budget.ts';

describe('the index leaves of questions', () => {
  it('questions may add as many index leaves as the limit says, and then one more in each interval', () => {
    let nowMs = 0;
    const budget = new AskBudget(() => nowMs);
    for (let at = 0; at < limits.indexAsks; at++) expect(budget.take('a')).toBe(true);
    expect(budget.take('a')).toBe(false);
    expect(budget.waitSeconds('a')).toBe(limits.indexAskSeconds);
    expect(budget.take('b')).toBe(true); // each log by itself
    nowMs = limits.indexAskSeconds * 1000 - 1;
    expect(budget.take('a')).toBe(false);
    expect(budget.waitSeconds('a')).toBe(1);
    nowMs += 1;
    expect([budget.take('a'), budget.take('a')]).toEqual([true, false]);
  });

  it('a leaf that a question did not need is given back, and a long pause gives no more than the limit', () => {
    let nowMs = 0;
    const budget = new AskBudget(() => nowMs);
    for (let at = 0; at < 3 * limits.indexAsks; at++) {
      expect(budget.take('a')).toBe(true);
      budget.giveBack('a');
    }
    nowMs = 1e12;
    for (let at = 0; at < limits.indexAsks; at++) expect(budget.take('a')).toBe(true);
    expect(budget.take('a')).toBe(false);
  });
});
