/** Which action a score leads to: each mode, thresholds and their ties, and that the answer is a function. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { riskActions } from '../../../src/contract/risk-words.ts';
import { actionAt, bands, evaluateRisk } from '../../../src/core/risk/router.ts';
import { inputsArbitrary, modeArbitrary, router } from './facts.ts';

/** A score of just this: an allow whose score is given counts as it is. */
const scored = (score: number, decision = 'allow') => ({
  policyDecisions: [{ policyId: 'p', decision, score }],
});
const rank = (action: (typeof riskActions)[number]): number => riskActions.indexOf(action);

describe('thresholds', () => {
  it.each([
    [0, 'allow'],
    [0.299999, 'allow'],
    [0.3, 'flag'],
    [0.599999, 'flag'],
    [0.6, 'escalate'],
    [0.899999, 'escalate'],
    [0.9, 'block'],
    [1, 'block'],
  ])('by the default thresholds, the score %d leads to %s', (score, action) => {
    const verdict = evaluateRisk(scored(score), router());
    expect(verdict).toMatchObject({ score, action, wouldBeAction: null });
  });

  it('a score is compared with the exact configured threshold, even beyond six decimals', () => {
    const thresholds = { allow: 0, flag: 0.3000001, escalate: 0.7, block: 0.8 };
    expect(evaluateRisk(scored(0.3), router({ thresholds })).action).toBe('allow');
    expect(evaluateRisk(scored(0.300001), router({ thresholds })).action).toBe('flag');
    expect(evaluateRisk(scored(0.7), router({ thresholds })).action).toBe('escalate');
  });

  it('equal thresholds lead to the more restrictive action', () => {
    const at = (thresholds: Parameters<typeof router>[0] & object) => router(thresholds).config;
    const same = { allow: 0.5, flag: 0.5, escalate: 0.5, block: 0.5 };
    expect(actionAt(0.5, at({ thresholds: same }))).toBe('block');
    expect(actionAt(0.5, at({ thresholds: { ...same, block: 0.6 } }))).toBe('escalate');
    expect(actionAt(0, at({ thresholds: { allow: 0, flag: 0, escalate: 1, block: 1 } }))).toBe('flag');
    expect(actionAt(1, at({ thresholds: { allow: 0, flag: 0, escalate: 1, block: 1 } }))).toBe('block');
  });

  it('a project may order its thresholds freely, with escalate above block', () => {
    const thresholds = { allow: 0, flag: 0.3, block: 0.6, escalate: 0.9 };
    expect(evaluateRisk(scored(0.7), router({ thresholds })).action).toBe('block');
    expect(evaluateRisk(scored(0.9), router({ thresholds })).action).toBe('escalate');
    // even allow may
    expect(actionAt(1, router({ thresholds: { ...thresholds, allow: 1 } }).config)).toBe('allow');
  });

  it('a score below all thresholds leads to the default action', () => {
    const thresholds = { allow: 0.2, flag: 0.3, escalate: 0.6, block: 0.9 };
    for (const defaultAction of riskActions) {
      expect(evaluateRisk(scored(0.1), router({ thresholds, defaultAction })).action).toBe(defaultAction);
      expect(evaluateRisk(scored(0.2), router({ thresholds, defaultAction })).action).toBe('allow');
    }
  });
});

describe('bands', () => {
  it('bands show the meaning of the thresholds, lowest first', () => {
    expect(bands(router().config)).toEqual([
      { from: 0, action: 'allow' },
      { from: 0.3, action: 'flag' },
      { from: 0.6, action: 'escalate' },
      { from: 0.9, action: 'block' },
    ]);
    const thresholds = { allow: 0.5, flag: 0.5, block: 0.6, escalate: 1 };
    expect(bands(router({ thresholds }).config)).toEqual([
      { from: 0, action: 'escalate' },
      { from: 0.5, action: 'flag' },
      { from: 0.6, action: 'block' },
      { from: 1, action: 'escalate' },
    ]);
  });

  it('bands agree with the action of every score', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const thresholds = fc.record({ allow: share, flag: share, escalate: share, block: share });
    fc.assert(
      fc.property(thresholds, share, (thresholds, score) => {
        const { config } = router({ thresholds });
        const band = bands(config).findLast(({ from }) => from <= score);
        expect(band?.action).toBe(actionAt(score, config));
      }),
      { seed: 31, numRuns: 500 },
    );
  });
});

describe('modes', () => {
  it('in strict mode, the action is never below that of the worst policy decision', () => {
    const lenient = { allow: 0, flag: 1, escalate: 1, block: 1 };
    const action = (decision: string, mode: 'strict' | 'adaptive') =>
      evaluateRisk(scored(0, decision), router({ mode, thresholds: lenient })).action;
    expect(['deny', 'escalate', 'warn', 'allow', 'other'].map((word) => action(word, 'strict'))).toEqual([
      'block',
      'escalate',
      'flag',
      'allow',
      'allow',
    ]);
    expect(action('deny', 'adaptive')).toBe('allow');
    const two = {
      policyDecisions: [...scored(0, 'escalate').policyDecisions, ...scored(0, 'warn').policyDecisions],
    };
    expect(evaluateRisk(two, router({ mode: 'strict', thresholds: lenient })).action).toBe('escalate');
  });

  it('in strict mode, a high score exceeds a mild decision, and the default exceeds allow', () => {
    expect(evaluateRisk(scored(1, 'warn'), router({ mode: 'strict' })).action).toBe('block');
    const thresholds = { allow: 1, flag: 1, escalate: 1, block: 1 };
    const verdict = evaluateRisk(
      scored(0, 'warn'),
      router({ mode: 'strict', thresholds, defaultAction: 'escalate' }),
    );
    expect(verdict.action).toBe('escalate');
  });

  it('in permissive mode, the action is at most flag, and the adaptive action is recorded', () => {
    const verdicts = [0, 0.3, 0.6, 1].map((score) =>
      evaluateRisk(scored(score), router({ mode: 'permissive' })),
    );
    expect(verdicts.map(({ action, wouldBeAction }) => [action, wouldBeAction])).toEqual([
      ['allow', 'allow'],
      ['flag', 'flag'],
      ['flag', 'escalate'],
      ['flag', 'block'],
    ]);
  });

  it('in monitor mode, the action is the default, and the adaptive action is recorded', () => {
    const by = router({ mode: 'monitor', defaultAction: 'allow' });
    const verdicts = [0, 0.3, 0.6, 1].map((score) => evaluateRisk(scored(score), by));
    expect(verdicts.map(({ action, wouldBeAction }) => [action, wouldBeAction])).toEqual(
      riskActions.map((action) => ['allow', action]),
    );
  });

  it('permissive and monitor record the adaptive action, and strict is never below it', () => {
    fc.assert(
      fc.property(inputsArbitrary, (inputs) => {
        const adaptive = evaluateRisk(inputs, router()).action;
        for (const mode of ['permissive', 'monitor'] as const) {
          expect(evaluateRisk(inputs, router({ mode })).wouldBeAction).toBe(adaptive);
        }
        expect(rank(evaluateRisk(inputs, router({ mode: 'strict' })).action)).toBeGreaterThanOrEqual(
          rank(adaptive),
        );
      }),
      { seed: 32, numRuns: 500 },
    );
  });
});

it('a risk verdict depends only on inputs and configuration', () => {
  fc.assert(
    fc.property(inputsArbitrary, modeArbitrary, (inputs, mode) => {
      const first = evaluateRisk(inputs, router({ mode }));
      expect(evaluateRisk(structuredClone(inputs), router({ mode }))).toEqual(first);
    }),
    { seed: 33 },
  );
});
