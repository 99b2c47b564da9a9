/**
 * The impact of a proposed policy version on policy inputs (contract G8, `docs/reference/policy-language.md`). The inputs are samples, or
 * recorded ones of which only the values that conditions read were retained.
 * Proven by `test/core/policies/impact/changes.test.ts`.
 */
import type { PolicyAction, PolicyOutcome } from '../../../contract/policy-words.ts';
import type { PolicyInput, Condition } from '../evaluate/compile.ts';
import { decide, type Direction, direction, inactive } from '../evaluate/decision.ts';

/** One version of the policy. */
export interface Side {
  /** Null for a proposal, which has no version number yet. */
  readonly version: number | null;
  readonly action: PolicyAction;
  readonly onIndeterminate: PolicyAction | null;
  readonly condition: Condition;
}

interface VersionDecision {
  readonly version: number | null;
  readonly decision: PolicyAction;
  readonly outcome: PolicyOutcome;
}

export interface Comparison {
  readonly before: VersionDecision;
  readonly after: VersionDecision;
  /** Whether the decision differs; the outcome alone may differ, too. */
  readonly changed: boolean;
  readonly direction: Direction;
}

/** Compares two versions. `before`: null without an active version, which raises no objection. */
export function compare(input: PolicyInput, before: Side | null, after: Side): Comparison {
  const [old, proposed] = [decisionOf(input, before), decisionOf(input, after)];
  return {
    before: old,
    after: proposed,
    changed: old.decision !== proposed.decision,
    direction: direction(old.decision, proposed.decision),
  };
}

const decisionOf = (input: PolicyInput, side: Side | null): VersionDecision =>
  side === null
    ? { version: null, ...inactive }
    : { version: side.version, ...decide(side.action, side.condition.evaluate(input), side.onIndeterminate) };

export interface ChangeCounts {
  readonly sampleCount: number;
  readonly changedCount: number;
  /** changedCount / sampleCount to 6 decimals; 0 without samples. */
  readonly changeRate: number;
}

export const changeCounts = (changedCount: number, sampleCount: number): ChangeCounts => ({
  sampleCount,
  changedCount,
  changeRate: sampleCount === 0 ? 0 : sixDecimals(changedCount / sampleCount),
});

/** The 0.975 quantile of the normal distribution. */
const z = 1.959963984540054;

/**
 * Returns Wilson's 95 % score interval of a share with `changed` of `sample` observed (E. B. Wilson, 1927), to 6 decimals;
 * 0 to 1 without a sample.
 */
export function wilsonInterval(changed: number, sample: number): { low: number; high: number } {
  if (sample === 0) return { low: 0, high: 1 };
  const rate = changed / sample;
  const weight = z ** 2 / sample;
  const centre = rate + weight / 2;
  const margin = z * Math.sqrt((rate * (1 - rate) + weight / 4) / sample);
  // At the ends the bound is exactly 0 or 1, which doubles miss.
  const low = changed === 0 ? 0 : (centre - margin) / (1 + weight);
  const high = changed === sample ? 1 : (centre + margin) / (1 + weight);
  return { low: sixDecimals(low), high: sixDecimals(high) };
}

const sixDecimals = (value: number): number => Math.round(value * 1e6) / 1e6;
