import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { policyActions, policyOutcomes } from '../../../../src/contract/policy-words.ts';
import {
  combine,
  decide,
  type Decision,
  direction,
  graver,
  inactive,
} from '../../../../src/core/policies/evaluate/decision.ts';

describe('a decision', () => {
  it.each([
    ['deny', 'true', 'deny', 'matched'],
    ['deny', 'false', 'allow', 'not_matched'],
    ['deny', 'indeterminate', 'deny', 'indeterminate'],
    ['escalate', 'true', 'escalate', 'matched'],
    ['escalate', 'false', 'allow', 'not_matched'],
    ['escalate', 'indeterminate', 'escalate', 'indeterminate'],
    ['warn', 'true', 'warn', 'matched'],
    ['warn', 'false', 'allow', 'not_matched'],
    ['warn', 'indeterminate', 'warn', 'indeterminate'],
    ['allow', 'true', 'allow', 'matched'],
    ['allow', 'false', 'allow', 'not_matched'],
    ['allow', 'indeterminate', 'escalate', 'indeterminate'],
  ] as const)(
    'a policy that would %s, with condition %s, decides %s and is %s',
    (action, truth, decision, outcome) => {
      expect(decide(action, truth)).toEqual({ decision, outcome });
    },
  );
});

describe('a decision of a policy that says what an undecided condition means', () => {
  it.each(policyActions)('is %s where the condition cannot be decided, and only there', (unknown) => {
    expect(decide('deny', 'indeterminate', unknown)).toEqual({ decision: unknown, outcome: 'indeterminate' });
    expect(decide('deny', 'true', unknown).decision).toBe('deny');
    expect(decide('deny', 'false', unknown).decision).toBe('allow');
  });
});

describe('the combined decision', () => {
  const all = policyActions.flatMap((decision) => policyOutcomes.map((outcome) => ({ decision, outcome })));
  const some = fc.array(fc.constantFrom(...all), { maxLength: 12 });

  it.each([
    [['deny', 'escalate', 'warn', 'allow'], 'deny'],
    [['allow', 'escalate', 'warn'], 'escalate'],
    [['allow', 'warn'], 'warn'],
    [['allow'], 'allow'],
  ] as const)('the combined decision of %j is %s', (decisions, combined) => {
    const matched = decisions.map((decision) => ({ decision, outcome: 'matched' }) as const);
    expect(combine(matched, 'deny')).toBe(combined);
    expect(combine(matched.toReversed(), 'deny')).toBe(combined);
  });

  it('the combined decision counts indeterminate policies, not unmatched or inactive ones', () => {
    expect(combine([{ decision: 'warn', outcome: 'indeterminate' }])).toBe('warn');
    expect(combine([{ decision: 'deny', outcome: 'not_matched' }, inactive], 'warn')).toBe('warn');
  });

  it('the combined decision is the default, by default allow, when nothing matched', () => {
    expect(combine([])).toBe('allow');
    expect(combine([decide('deny', 'false')], 'deny')).toBe('deny');
    expect(combine([decide('allow', 'true')], 'deny')).toBe('allow');
  });

  it('the combined decision never loosens with one more decision, in any order', () => {
    const rank = (decisions: readonly Decision[]): number => policyActions.indexOf(combine(decisions));
    fc.assert(
      fc.property(some, fc.constantFrom(...all), (decisions, more) => {
        expect(rank([...decisions, more])).toBeGreaterThanOrEqual(rank(decisions));
        expect(rank(decisions.toReversed())).toBe(rank(decisions));
      }),
    );
  });
});

describe('a change of decision', () => {
  const order = ['allow', 'warn', 'escalate', 'deny'] as const;
  const pairs = order.flatMap((before, b) =>
    order.map((after, a) => [before, after, a > b ? 'tightened' : a < b ? 'loosened' : 'same'] as const),
  );

  it.each(pairs)('a change of decision from %s to %s is %s', (before, after, expected) => {
    expect(direction(before, after)).toBe(expected);
  });
});

describe('the graver severity', () => {
  it('the graver of two severities is the one with more weight, and none is below low', () => {
    expect(graver(null, 'low')).toBe('low');
    expect(graver('medium', 'low')).toBe('medium');
    expect(graver('high', 'critical')).toBe('critical');
    expect(graver(null, null)).toBeNull();
  });
});
