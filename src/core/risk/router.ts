/**
 * From a score to an action (contract F7, F8). Of the actions whose threshold the score has reached, the one with
 * the greatest threshold; where thresholds are equal, the more restrictive; below all of them, the default. The
 * project's numbers, and not we, so say whether escalate stands above or below block.
 *
 *   adaptive    the score decides
 *   strict      higher caps (`score.ts`), and never less than the worst policy decision asks for
 *   permissive  as adaptive, but at most flag; what adaptive would do is recorded
 *   monitor     always the default; what adaptive would do is recorded
 *
 * A function of inputs and configuration alone: no clock and no memory, or a decision could not be replayed.
 * Proven by `test/core/risk/router.test.ts`.
 */
import { type RiskAction, riskActions } from '../../contract/risk-words.ts';
import type { RiskConfig, RiskRouter } from './config.ts';
import { canonicalInputs, type CanonicalInputs, type RiskInputs, riskInputsHash } from './inputs.ts';
import { type RiskFactor, scoreRisk } from './score.ts';

export interface RiskVerdict {
  readonly action: RiskAction;
  /** In the modes that do not enforce, what adaptive would do; else null. */
  readonly wouldBeAction: RiskAction | null;
  readonly score: number;
  readonly factors: readonly RiskFactor[];
  readonly deterministicInputsHash: string;
  readonly configHash: string;
}

/** Decides. Numbers that are not finite are refused before; here they throw. Cost: about 4 µs for six facts. */
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

/** What the thresholds say of a score, whatever the mode. */
export function actionAt(score: number, { thresholds, defaultAction }: RiskConfig): RiskAction {
  let reached: RiskAction | null = null;
  for (const action of riskActions) {
    const least = reached === null ? 0 : thresholds[reached];
    // from the least restrictive on, so that of equal thresholds the last stays
    if (thresholds[action] <= score && thresholds[action] >= least) reached = action;
  }
  return reached ?? defaultAction;
}

/** What the thresholds mean: from each of these scores on, up to the next, this action; lowest first. */
export function bands(config: RiskConfig): { readonly from: number; readonly action: RiskAction }[] {
  const edges = new Set([0, ...riskActions.map((action) => config.thresholds[action])]);
  return [...edges].sort((a, b) => a - b).map((from) => ({ from, action: actionAt(from, config) }));
}

/** What strict mode asks for, for each word of a policy decision; `allow` and other words ask for nothing. */
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
