/**
 * The risk router: from a score to an action (contract F7, F8). Of the actions whose threshold the score has reached, it
 * takes the one with the greatest threshold; for equal thresholds the more restrictive one; below all thresholds the
 * default. So the numbers of the project decide whether escalate ranks above or below block.
 *
 *   adaptive    the score decides
 *   strict      higher caps (`score.ts`), and at least the action of the worst policy decision
 *   permissive  as adaptive, but at most flag; the adaptive action is recorded
 *   monitor     always the default; the adaptive action is recorded
 *
 * A pure function of inputs and configuration, without clock or memory, so that a decision can be replayed.
 * Proven by `test/core/risk/router.test.ts`.
 */
import { type RiskAction, riskActions } from '../../contract/risk-words.ts';
import type { RiskConfig, RiskRouter } from './config.ts';
import { canonicalInputs, type CanonicalInputs, type RiskInputs, riskInputsHash } from './inputs.ts';
import { type RiskFactor, scoreRisk } from './score.ts';

export interface RiskVerdict {
  readonly action: RiskAction;
  /** The adaptive action in modes that do not enforce it; else null. */
  readonly wouldBeAction: RiskAction | null;
  readonly score: number;
  readonly factors: readonly RiskFactor[];
  readonly deterministicInputsHash: string;
  readonly configHash: string;
}

/** Decides. Throws for numbers that are not finite; callers refuse them earlier. Cost: about 4 µs for six facts. */
export function evaluateRisk(input: RiskInputs, router: RiskRouter): RiskVerdict {
  const inputs = canonicalInputs(input);
  const { hash } = riskInputsHash(inputs, router);
  const { score, factors } = scoreRisk(inputs, router.config);
  const { action, wouldBeAction } = route(score, inputs, router.config);
  return {
    action,
    wouldBeAction,
    score,
    factors,
    deterministicInputsHash: hash,
    configHash: router.configHash,
  };
}

function route(
  score: number,
  inputs: CanonicalInputs,
  config: RiskConfig,
): Pick<RiskVerdict, 'action' | 'wouldBeAction'> {
  const scored = actionAt(score, config);
  switch (config.mode) {
    case 'adaptive':
      return { action: scored, wouldBeAction: null };
    case 'strict':
      return { action: stricter(scored, demanded(inputs)), wouldBeAction: null };
    case 'permissive':
      return { action: restriction(scored) > restriction('flag') ? 'flag' : scored, wouldBeAction: scored };
    case 'monitor':
      return { action: config.defaultAction, wouldBeAction: scored };
  }
}

/** Returns the action of a score by the thresholds, for any mode. */
export function actionAt(score: number, { thresholds, defaultAction }: RiskConfig): RiskAction {
  let reached: RiskAction | null = null;
  for (const action of riskActions) {
    const least = reached === null ? 0 : thresholds[reached];
    // Actions ascend in restriction, so the last of equal thresholds wins.
    if (thresholds[action] <= score && thresholds[action] >= least) reached = action;
  }
  return reached ?? defaultAction;
}

/** Returns the bands of the thresholds, lowest first: each score up to the next band has this action. */
export function bands(config: RiskConfig): { readonly from: number; readonly action: RiskAction }[] {
  const edges = new Set([0, ...riskActions.map((action) => config.thresholds[action])]);
  return [...edges].sort((a, b) => a - b).map((from) => ({ from, action: actionAt(from, config) }));
}

/** Minimum action in strict mode by the word of a policy decision; `allow` and other words require nothing. */
const demands: ReadonlyMap<string, RiskAction> = new Map([
  ['deny', 'block'],
  ['escalate', 'escalate'],
  ['warn', 'flag'],
]);

function demanded({ policyDecisions }: CanonicalInputs): RiskAction {
  let action: RiskAction = 'allow';
  for (const { decision } of policyDecisions) action = stricter(action, demands.get(decision) ?? 'allow');
  return action;
}

const restriction = (action: RiskAction): number => riskActions.indexOf(action);

const stricter = (a: RiskAction, b: RiskAction): RiskAction => (restriction(a) >= restriction(b) ? a : b);
