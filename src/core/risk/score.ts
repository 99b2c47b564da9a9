/**
 * The risk score, gov.risk/1 (docs/reference/risk-score.md). Each fact becomes a factor with a value v and a cap c. From the
 * greatest v·c down (ties by name) a factor takes its part of the headroom h that is left, which starts at 1:
 *
 *   weight = c·h      contribution = weight·v      h = h − contribution      score = 1 − h = 1 − Π(1 − c·v)
 *
 * the form of CVSS's impact sub-score: bounded, one strong fact suffices, weak facts accumulate. All of it is
 * done in integer millionths, rounded half up, so the contributions sum to the score exactly, no platform
 * differs, and another factor never lowers a score: h after a factor does not fall when h before it rises.
 * Inputs are an attacker's, and finite. Proven by `test/core/risk/score.test.ts` (worked by hand; an oracle).
 */
import { policySeverities } from '../../contract/policy-words.ts';
import { compare } from '../graph/declaration.ts';
import type { RiskConfig, SignalRule } from './config.ts';
import type { CanonicalInputs } from './inputs.ts';

/** As it is published: each a multiple of 0.000001. */
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
  /** In the order in which they took their part. */
  readonly factors: readonly RiskFactor[];
}

/** A fact before it meets the others, in millionths. */
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

/** The product of two shares in millionths. Both are at most 1, so every step is exact in doubles. */
const times = (a: number, b: number): number => Math.floor((a * b + one / 2) / one);

const millionths = (share: number): number => Math.round(Math.min(1, Math.max(0, share)) * one);

/** What a decision weighs at least, whatever score came with it. */
const decisionFloors: ReadonlyMap<string, number> = new Map([
  ['allow', 0],
  ['warn', 0.3],
  ['escalate', 0.65],
  ['deny', 0.95],
]);
/** A word that we do not know is not taken for harmless. */
const unknownDecisionFloor = 0.5;

/** The worst decision alone, so that repeating one does not inflate the score; of equals the first id. */
function policyFact({ policyDecisions }: CanonicalInputs): Fact[] {
  let worst: Fact | null = null;
  for (const { policyId, decision, score } of policyDecisions) {
    const value = millionths(Math.max(score, decisionFloors.get(decision) ?? unknownDecisionFloor));
    if (worst === null || value > worst.value) worst = { name: `policy:${policyId}`, value, cap: one };
  }
  return worst === null ? [] : [worst];
}

/** How far the use of a quota is beyond four fifths of it. Without a limit, or a use, there is no such factor. */
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

/** One factor for each signal, at its highest value. A signal that nobody registered is counted all the same. */
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

/** What the caller states by itself: yes or no, a number, or a severity. What else it sends is only hashed. */
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
