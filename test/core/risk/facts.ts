/** Random risk inputs, and an oracle of the score in BigInt: the rules of docs/reference/risk-score.md, written once more. */
import * as fc from 'fast-check';
import { riskRouter, type RiskSettings } from '../../../src/core/risk/config.ts';
import type { RiskInputs } from '../../../src/core/risk/inputs.ts';

const share = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1, 0.5, 0.3));
const anyNumber = fc.oneof(share, fc.double({ noNaN: true, noDefaultInfinity: true }));
const few = { maxLength: 6 };

export const inputsArbitrary: fc.Arbitrary<RiskInputs> = fc.record(
  {
    policyDecisions: fc.array(
      fc.record({
        policyId: fc.constantFrom('p1', 'p2', 'p3'),
        decision: fc.constantFrom('allow', 'warn', 'escalate', 'deny', 'DENY', 'perhaps'),
        score: anyNumber,
      }),
      few,
    ),
    quotaState: fc.record(
      {
        used: fc.double({ min: 0, max: 2000, noNaN: true }),
        limit: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1000, noNaN: true })),
        remaining: fc.double({ min: -1000, max: 1000, noNaN: true }),
      },
      { requiredKeys: [] },
    ),
    evaluationSignals: fc.array(
      fc.record({
        signal: fc.constantFrom('pii', 'drift', 'anomaly', 'new', 'constructor', '__proto__'),
        value: anyNumber,
      }),
      few,
    ),
    explicitSignals: fc.dictionary(
      fc.string({ maxLength: 3 }),
      fc.oneof(anyNumber, fc.boolean(), fc.constantFrom('low', 'medium', 'high', 'critical', 'none', null)),
      { maxKeys: 6 },
    ),
  },
  { requiredKeys: [] },
);

export const settings = (changes: Partial<RiskSettings> = {}): RiskSettings => ({
  mode: 'adaptive',
  thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
  defaultAction: 'escalate',
  ...changes,
});
export const router = (changes: Partial<RiskSettings> = {}) => riskRouter(settings(changes));
export const modeArbitrary = fc.constantFrom('adaptive', 'strict', 'permissive', 'monitor');

const one = 1_000_000n;
const halfUp = (numerator: bigint): bigint => (2n * numerator + one) / (2n * one);

/** Takes facts in the order of the product of value and cap, both in millionths. */
export function naiveScore(facts: readonly { name: string; value: number; cap: number }[]) {
  const ordered = facts
    .map(({ name, value, cap }) => ({ name, value: BigInt(value), cap: BigInt(cap) }))
    .sort((a, b) => Number(b.value * b.cap - a.value * a.cap) || (a.name < b.name ? -1 : 1));
  let headroom = one;
  const factors = ordered.map(({ name, value, cap }) => {
    const weight = halfUp(cap * headroom);
    const contribution = halfUp(weight * value);
    headroom -= contribution;
    return { name, weight: Number(weight), value: Number(value), contribution: Number(contribution) };
  });
  return { score: Number(one - headroom), factors };
}
