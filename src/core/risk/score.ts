/**
 * The risk score, gov.risk/1 (`docs/reference/risk-score.md`). Each fact becomes a factor with a value v and a cap c. In descending order
 * of v·c (ties by name), each factor takes its part of the remaining headroom h, which starts at 1:
 *
 *   weight = c·h      contribution = weight·v      h = h − contribution      score = 1 − h = 1 − Π(1 − c·v)
 *
 * This is the form of the CVSS impact sub-score: bounded, one strong fact suffices, weak facts accumulate. All of it uses
 * integer millionths, rounded half up. So the contributions sum exactly to the score on every platform, and another factor
 * never lowers a score: h after a factor does not decrease when h before it increases. Inputs are attacker controlled and
 * finite. Proven by `test/core/risk/score.test.ts` (computed by hand; an oracle).
 */
import { policySeverities } from '../../contract/policy-words.ts';
import { compare } from '../graphs/declaration.ts';
import type { RiskConfig, SignalRule } from './config.ts';
import type { CanonicalInputs } from './inputs.ts';

/** A published factor; each number is a multiple of 0.000001. */
export interface RiskFactor {
  /** `policy:<worst id>`, `quota.pressure`, `signal:<name>` or `explicit:<key>`. */
  readonly name: string;
  readonly weight: number;
  readonly value: number;
  /** weight · value, to 0.000001. */
  readonly contribution: number;
}

export interface RiskScore {
  /** The sum of the contributions. */
  readonly score: number;
  /** In the order in which they were applied. */
  readonly factors: readonly RiskFactor[];
}

/** A fact before it is applied, in millionths. */
interface Fact {
  readonly name: string;
  readonly value: number;
  readonly cap: number;
}

const one = 1_000_000;

/** Scores canonical inputs. Cost: about 2 µs, and n log n in the number of facts. */
export function scoreRisk(inputs: CanonicalInputs, config: RiskConfig): RiskScore {
  const facts = [...policyFact(inputs), ...quotaFact(inputs, config)];
  facts.push(...signalFacts(inputs, config), ...explicitFacts(inputs, config));
  facts.sort((a, b) => b.value * b.cap - a.value * a.cap || compare(a.name, b.name));
  let headroom = one;
  const factors = facts.map(({ name, value, cap }) => {
    const weight = times(cap, headroom);
    const contribution = times(weight, value);
    headroom -= contribution;
    return { name, weight: weight / one, value: value / one, contribution: contribution / one };
  });
  return { score: (one - headroom) / one, factors };
}

/** Returns the product of two shares in millionths. Both are at most 1, so every step is exact in doubles. */
const times = (a: number, b: number): number => Math.floor((a * b + one / 2) / one);

const millionths = (share: number): number => Math.round(Math.min(1, Math.max(0, share)) * one);

/** Minimum weight of a decision, for any score in it. */
const decisionFloors: ReadonlyMap<string, number> = new Map([
  ['allow', 0],
  ['warn', 0.3],
  ['escalate', 0.65],
  ['deny', 0.95],
]);
/** An unknown word does not count as harmless. */
const unknownDecisionFloor = 0.5;

/** Returns the worst decision only, so that repeating one does not increase the score; the first id of equals. */
function policyFact({ policyDecisions }: CanonicalInputs): Fact[] {
  let worst: Fact | null = null;
  for (const { policyId, decision, score } of policyDecisions) {
    const value = millionths(Math.max(score, decisionFloors.get(decision) ?? unknownDecisionFloor));
    if (worst === null || value > worst.value) worst = { name: `policy:${policyId}`, value, cap: one };
  }
  return worst === null ? [] : [worst];
}

/** Returns the use of a quota beyond four fifths of it; no factor without a limit or a use. */
function quotaFact(
  { quotaState: { limit, remaining, used } }: CanonicalInputs,
  { mode }: RiskConfig,
): Fact[] {
  if (limit === undefined || (used === undefined && remaining === undefined)) return [];
  const use =
    limit > 0
      ? Math.max(used === undefined ? 0 : used / limit, remaining === undefined ? 0 : 1 - remaining / limit)
      : Number((used ?? 0) > 0 || (remaining ?? 0) < 0);
  const cap = millionths(mode === 'strict' ? 0.5 : 0.3);
  return [{ name: 'quota.pressure', value: millionths((use - 0.8) / 0.2), cap }];
}

const strictKnownCap = 0.8;

/** Returns one factor for each signal, at its highest value. An unregistered signal counts as well. */
function signalFacts({ evaluationSignals }: CanonicalInputs, { mode, signals }: RiskConfig): Fact[] {
  const strict = mode === 'strict';
  const facts = new Map<string, Fact>();
  for (const { signal, value } of evaluationSignals) {
    const rule = Object.hasOwn(signals, signal) ? signals[signal] : undefined;
    const share = millionths(rule === undefined ? value : inRange(value, rule));
    const cap =
      rule === undefined
        ? strict
          ? 0.4
          : 0.25
        : strict
          ? Math.max(rule.weight, strictKnownCap)
          : rule.weight;
    if (share >= (facts.get(signal)?.value ?? 0)) {
      facts.set(signal, { name: `signal:${signal}`, value: share, cap: millionths(cap) });
    }
  }
  return [...facts.values()];
}

function inRange(value: number, { direction, min, max }: SignalRule): number {
  const share = (value - min) / (max - min);
  return direction === 'higher_is_riskier' ? share : 1 - share;
}

/** Returns the signals that the caller states: a boolean, a number, or a severity. Other values are only hashed. */
function explicitFacts({ explicitSignals }: CanonicalInputs, { mode }: RiskConfig): Fact[] {
  const cap = millionths(mode === 'strict' ? 0.8 : 0.5);
  const facts: Fact[] = [];
  for (const key of Object.keys(explicitSignals)) {
    const share = statedShare(explicitSignals[key]);
    if (share !== null) facts.push({ name: `explicit:${key}`, value: millionths(share), cap });
  }
  return facts;
}

function statedShare(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  const rank = (policySeverities as readonly unknown[]).indexOf(value);
  return rank < 0 ? null : (rank + 1) / policySeverities.length;
}
