/** Scores worked by hand from the table of docs/reference/risk-score.md, properties, and the oracle of `facts.ts`. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { effectiveConfig } from '../../../src/core/risk/config.ts';
import { canonicalInputs, type RiskInputs } from '../../../src/core/risk/inputs.ts';
import { type RiskFactor, scoreRisk } from '../../../src/core/risk/score.ts';
import { inputsArbitrary, modeArbitrary, naiveScore, settings } from './facts.ts';

const score = (inputs: RiskInputs, changes: Parameters<typeof settings>[0] = {}) =>
  scoreRisk(canonicalInputs(inputs), effectiveConfig(settings(changes)));
const micro = (share: number): number => Math.round(share * 1e6);
const rows = ({ factors }: { readonly factors: readonly RiskFactor[] }) =>
  factors.map(({ name, weight, value, contribution }) => [name, weight, value, contribution]);

const everything: RiskInputs = {
  policyDecisions: [
    { policyId: 'p1', decision: 'warn', score: 0.2 },
    { policyId: 'p2', decision: 'escalate', score: 0.7 },
  ],
  quotaState: { used: 950, limit: 1000, remaining: 50 },
  evaluationSignals: [
    { signal: 'pii', value: 0.3 },
    { signal: 'pii', value: 0.5 },
    { signal: 'made_up', value: 0.8 },
  ],
  explicitSignals: { urgent: true, tier: 'medium', note: { a: 1 } },
};

describe('scores worked out by hand', () => {
  it('an adaptive score of every kind of fact equals the score worked out by hand', () => {
    // p2: max(0.7, floor 0.65) = 0.7; quota: (0.95 - 0.8) / 0.2 = 0.75; pii: max(0.3, 0.5); medium = 0.5
    // r = v·c: p2 0.7·1 = 0.7; urgent 1·0.5 = 0.5; pii 0.5·0.6 = 0.3; tier 0.5·0.5 = 0.25;
    //          quota 0.75·0.3 = 0.225; made_up 0.8·0.25 = 0.2
    expect(rows(score(everything))).toEqual([
      ['policy:p2', 1, 0.7, 0.7], // h 1 -> 0.3
      ['explicit:urgent', 0.15, 1, 0.15], // 0.5·0.3; h 0.15
      ['signal:pii', 0.09, 0.5, 0.045], // 0.6·0.15; h 0.105
      ['explicit:tier', 0.0525, 0.5, 0.02625], // 0.5·0.105; h 0.07875
      ['quota.pressure', 0.023625, 0.75, 0.017719], // 0.3·0.07875, ·0.75 = 0.01771875; h 0.061031
      ['signal:made_up', 0.015258, 0.8, 0.012206], // 0.25·0.061031 = 0.01525775, ·0.8 = 0.0122064; h 0.048825
    ]);
    // 1 - 0.3·0.5·0.7·0.75·0.775·0.8 = 1 - 0.048825
    expect(score(everything).score).toBe(0.951175);
  });

  it('a strict score of the same facts equals the score worked out by hand', () => {
    // r: urgent 1·0.8; p2 0.7·1; tier 0.5·0.8 = pii 0.5·max(0.6, 0.8) = 0.4, by name; quota 0.75·0.5 = 0.375;
    //    made_up 0.8·0.4 = 0.32
    expect(rows(score(everything, { mode: 'strict' }))).toEqual([
      ['explicit:urgent', 0.8, 1, 0.8], // h 0.2
      ['policy:p2', 0.2, 0.7, 0.14], // h 0.06
      ['explicit:tier', 0.048, 0.5, 0.024], // 0.8·0.06; h 0.036
      ['signal:pii', 0.0288, 0.5, 0.0144], // 0.8·0.036; h 0.0216
      ['quota.pressure', 0.0108, 0.75, 0.0081], // 0.5·0.0216; h 0.0135
      ['signal:made_up', 0.0054, 0.8, 0.00432], // 0.4·0.0135; h 0.00918
    ]);
    expect(score(everything, { mode: 'strict' }).score).toBe(0.99082);
  });

  it('a score without inputs is 0', () => {
    expect(score({})).toEqual({ score: 0, factors: [] });
  });

  it('a score rounds half up: 0.5·0.000001 is one millionth', () => {
    // v 0.000001, c 0.5: weight 0.5, contribution 0.0000005 -> 0.000001
    expect(rows(score({ explicitSignals: { a: 0.000001 } }))).toEqual([
      ['explicit:a', 0.5, 0.000001, 0.000001],
    ]);
  });
});

describe('the policy factor', () => {
  const policy = (...decisions: [string, string, number][]) =>
    score({
      policyDecisions: decisions.map(([policyId, decision, score]) => ({ policyId, decision, score })),
    });

  it.each([
    ['allow', 0, 0],
    ['allow', 0.4, 0.4],
    ['warn', 0, 0.3],
    ['escalate', 0.1, 0.65],
    ['deny', 0, 0.95],
    ['deny', 0.99, 0.99],
    ['deny', 7, 1],
    ['allow', -7, 0],
    ['require_approval', 0, 0.5],
    ['require_approval', 0.8, 0.8],
    ['__proto__', 0, 0.5],
    ['Deny', 0, 0.5],
  ])('the policy decision %s with score %d counts %d', (decision, given, expected) => {
    expect(policy(['p', decision, given])).toEqual({
      score: expected,
      factors: [{ name: 'policy:p', weight: 1, value: expected, contribution: expected }],
    });
  });

  it('the policy factor is the worst decision, the first id among equals, without repeats', () => {
    const twice = policy(['b', 'deny', 0], ['a', 'deny', 0], ['c', 'warn', 0], ['b', 'deny', 0]);
    expect(twice).toEqual(policy(['a', 'deny', 0]));
  });
});

describe('the quota factor', () => {
  it.each([
    [{ used: 800, limit: 1000, remaining: 200 }, 0],
    [{ used: 900, limit: 1000, remaining: 100 }, 0.5],
    [{ used: 1000, limit: 1000, remaining: 0 }, 1],
    [{ used: 5000, limit: 1000, remaining: 0 }, 1],
    // the worse of the two statements
    [{ used: 0, limit: 1000, remaining: 50 }, 0.75],
    [{ used: 950, limit: 1000, remaining: 1000 }, 0.75],
    [{ used: 950, limit: 1000 }, 0.75],
    [{ remaining: 50, limit: 1000 }, 0.75],
    [{ remaining: -50, limit: 1000 }, 1],
    [{ used: 1, limit: 0, remaining: 0 }, 1],
    [{ used: 0, limit: 0, remaining: 0 }, 0],
    [{ limit: 0, remaining: -1 }, 1],
    [{ used: 1e308, limit: 5e-324, remaining: -1e308 }, 1],
  ])('the quota factor of %j has value %d', (quotaState, value) => {
    expect(rows(score({ quotaState }))).toEqual([['quota.pressure', 0.3, value, micro(0.3 * value) / 1e6]]);
  });

  it.each([[undefined], [{}], [{ limit: 10 }], [{ used: 10 }], [{ used: 10, remaining: 0 }]])(
    'there is no quota factor for %j',
    (quotaState) => {
      expect(score(quotaState === undefined ? {} : { quotaState }).factors).toEqual([]);
    },
  );
});

describe('signals', () => {
  const signal = (name: string, ...values: number[]) => ({
    evaluationSignals: values.map((value) => ({ signal: name, value })),
  });

  it.each([
    ['prompt_injection', 0.9],
    ['pii', 0.6],
    ['anomaly', 0.6],
    ['toxicity', 0.5],
    ['drift', 0.4],
    ['hallucination', 0.4],
    ['never_heard_of', 0.25],
    ['constructor', 0.25],
    ['__proto__', 0.25],
  ])('the signal %s has the weight %d', (name, weight) => {
    expect(score(signal(name, 1)).score).toBe(weight);
    const strict = weight === 0.25 ? 0.4 : Math.max(weight, 0.8);
    expect(score(signal(name, 1), { mode: 'strict' }).score).toBe(strict);
  });

  it('a signal counts once, at its highest value, limited to 0 … 1', () => {
    expect(score(signal('pii', 0.2, 0.9, 0.9, -3))).toEqual(score(signal('pii', 0.9)));
    expect(score(signal('pii', 12)).score).toBe(0.6);
    expect(rows(score(signal('pii', -12)))).toEqual([['signal:pii', 0.6, 0, 0]]);
  });

  it('a signal is read in the range and direction of the project, which replace the built-in ones', () => {
    const signals = {
      latency: { weight: 0.5, min: 100, max: 300 },
      confidence: { weight: 0.8, direction: 'lower_is_riskier' as const },
    };
    // (250 - 100) / 200 = 0.75; 1 - 0.4 = 0.6; pii is unknown now
    expect(
      rows(
        score(
          {
            evaluationSignals: [
              { signal: 'latency', value: 250 },
              { signal: 'confidence', value: 0.4 },
              { signal: 'confidence', value: 0.9 },
              { signal: 'pii', value: 0 },
            ],
          },
          { signals },
        ),
      ),
    ).toEqual([
      ['signal:confidence', 0.8, 0.6, 0.48], // h 0.52
      ['signal:latency', 0.26, 0.75, 0.195], // 0.5·0.52; h 0.325
      ['signal:pii', 0.08125, 0, 0], // 0.25·0.325
    ]);
  });
});

describe('explicit signals', () => {
  it.each([
    [true, 1],
    [false, 0],
    [0.4, 0.4],
    [9, 1],
    [-9, 0],
    ['low', 0.25],
    ['medium', 0.5],
    ['high', 0.75],
    ['critical', 1],
  ])('the explicit signal %j has value %d', (stated, value) => {
    expect(rows(score({ explicitSignals: { a: stated } }))).toEqual([['explicit:a', 0.5, value, value / 2]]);
  });

  it('explicit signals of other types are not scored', () => {
    expect(
      score({ explicitSignals: { a: null, b: 'HIGH', c: ['high'], d: { e: 1 }, f: '' } }).factors,
    ).toEqual([]);
  });
});

describe('every score', () => {
  const checked = fc.record({ inputs: inputsArbitrary, mode: modeArbitrary });

  it('every score is 0 to 1, the exact sum of its contributions, and each is weight · value', () => {
    fc.assert(
      fc.property(checked, ({ inputs, mode }) => {
        const { score: total, factors } = score(inputs, { mode });
        expect(total).toBeGreaterThanOrEqual(0);
        expect(total).toBeLessThanOrEqual(1);
        expect(factors.reduce((sum, { contribution }) => sum + micro(contribution), 0)).toBe(micro(total));
        for (const { weight, value, contribution } of factors) {
          expect(Math.abs(weight * value - contribution)).toBeLessThanOrEqual(0.5e-6 + 1e-15);
        }
        expect(new Set(factors.map(({ name }) => name)).size).toBe(factors.length);
      }),
      { seed: 11, numRuns: 500 },
    );
  });

  it('every score equals the score of the oracle', () => {
    const caps = { strict: { e: 800_000, u: 400_000 }, adaptive: { e: 500_000, u: 250_000 } };
    const facts = fc.uniqueArray(
      fc.tuple(fc.constantFrom(...'abcdefghij'), fc.double({ min: 0, max: 1, noNaN: true })),
      {
        selector: ([name]) => name,
      },
    );
    fc.assert(
      fc.property(facts, facts, fc.constantFrom('strict', 'adaptive'), (stated, unknown, mode) => {
        const { e, u } = caps[mode];
        const { score: total, factors } = score(
          {
            explicitSignals: Object.fromEntries(stated),
            evaluationSignals: unknown.map(([signal, value]) => ({ signal, value })),
          },
          { mode },
        );
        const expected = naiveScore([
          ...stated.map(([name, value]) => ({ name: `explicit:${name}`, value: micro(value), cap: e })),
          ...unknown.map(([name, value]) => ({ name: `signal:${name}`, value: micro(value), cap: u })),
        ]);
        expect(micro(total)).toBe(expected.score);
        expect(
          factors.map(({ name, weight, value, contribution }) => ({
            name,
            weight: micro(weight),
            value: micro(value),
            contribution: micro(contribution),
          })),
        ).toEqual(expected.factors);
      }),
      { seed: 12, numRuns: 500 },
    );
  });

  it('another factor never lowers the score', () => {
    const stated = fc.dictionary(fc.string({ maxLength: 4 }), fc.double({ min: 0, max: 1, noNaN: true }), {
      maxKeys: 12,
    });
    fc.assert(
      fc.property(stated, fc.double({ min: 0, max: 1, noNaN: true }), (explicitSignals, value) => {
        const more = { explicitSignals, evaluationSignals: [{ signal: 'pii', value }] };
        expect(score(more).score).toBeGreaterThanOrEqual(score({ explicitSignals }).score);
      }),
      { seed: 13, numRuns: 1000 },
    );
  });

  it('another input lowers the score at most by the rounding of each factor', () => {
    fc.assert(
      fc.property(inputsArbitrary, inputsArbitrary, modeArbitrary, (inputs, added, mode) => {
        const more: RiskInputs = {
          ...inputs,
          policyDecisions: [...(inputs.policyDecisions ?? []), ...(added.policyDecisions ?? [])],
          evaluationSignals: [...(inputs.evaluationSignals ?? []), ...(added.evaluationSignals ?? [])],
        };
        const after = score(more, { mode });
        const fallen = micro(score(inputs, { mode }).score) - micro(after.score);
        expect(fallen).toBeLessThanOrEqual(after.factors.length);
      }),
      { seed: 14, numRuns: 1000 },
    );
  });

  it('a score is computed for as many inputs as the interface accepts', () => {
    const all = Array.from({ length: limits.riskItems }, (_, at) => at);
    const { score: total, factors } = score({
      policyDecisions: all.map((at) => ({ policyId: `p${at}`, decision: 'warn', score: at / 1000 })),
      evaluationSignals: all.map((at) => ({ signal: `s${at}`, value: 1 })),
      explicitSignals: Object.fromEntries(all.map((at) => [`e${at}`, 1])),
    });
    expect(factors).toHaveLength(2 * limits.riskItems + 1);
    expect(factors.at(-1)?.contribution).toBe(0);
    expect(total).toBeLessThanOrEqual(1);
    expect(total).toBeGreaterThan(0.99999);
  });
});
