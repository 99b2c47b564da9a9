import { describe, expect, it } from 'vitest';
import { counted } from '../../../src/console/parts/counted.ts';
import { coverageWords } from '../../../src/console/runs/words.ts';

describe('numbers in sentences', () => {
  it.each([
    [0, '0 events'],
    [1, '1 event'],
    [1200, '1,200 events'],
  ])('%i is %s', (count, text) => {
    expect(counted(count, 'event')).toBe(text);
  });

  it('a run with a call that may have run without a decision is not covered', () => {
    const coverage = { covered: true, confirmed: 1, counts: { unknown: 1, governed: 1 }, gaps: [] };
    expect(coverageWords(coverage as unknown as Parameters<typeof coverageWords>[0])).toMatchObject({
      tone: 'wait',
      verdict: 'not certain',
    });
  });

  it('a run with one gap in the records of a source has an alarm, not alarms', () => {
    const gap = { source: 'gateway', afterSequence: 1, beforeSequence: 3 };
    const coverage = { covered: false, confirmed: 0, counts: {}, gaps: [gap] };
    expect(coverageWords(coverage as unknown as Parameters<typeof coverageWords>[0])).toEqual({
      tone: 'bad',
      verdict: '1 alarm',
      line: 'no tool calls; 1 gap in the records of a source',
    });
  });
});
