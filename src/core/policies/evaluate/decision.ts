/**
 * From the truth of a condition to a decision, and from many decisions to one (`docs/reference/policy-language.md`; contract G5-G8). It
 * fails closed: an undecided condition acts as if it were true, and an undecided `allow` escalates, unless the policy says what an
 * undecided condition means. Deny ranks above
 * escalate, because an approval must not undo a deny. Severity never changes a decision.
 * Proven by `test/core/policies/evaluate/decision.test.ts`.
 */
import {
  type PolicyAction,
  policyActions,
  type PolicyOutcome,
  policySeverities,
  type PolicySeverity,
} from '../../../contract/policy-words.ts';
import type { Truth } from './compile.ts';

export interface Decision {
  readonly decision: PolicyAction;
  readonly outcome: PolicyOutcome;
}

/** The decision of a policy that is not in force: no objection. */
export const inactive: Decision = Object.freeze({ decision: 'allow', outcome: 'inactive' });

/**
 * Returns the decision; `allow` for a false condition means "no objection" and grants nothing. `onIndeterminate`: what the
 * policy says that an undecided condition means.
 */
export function decide(
  action: PolicyAction,
  truth: Truth,
  onIndeterminate: PolicyAction | null = null,
): Decision {
  switch (truth) {
    case 'true':
      return { decision: action, outcome: 'matched' };
    case 'false':
      return { decision: 'allow', outcome: 'not_matched' };
    case 'indeterminate':
      return {
        decision: onIndeterminate ?? (action === 'allow' ? 'escalate' : action),
        outcome: 'indeterminate',
      };
  }
}

/** Returns whether the policy counts: its condition was true or indeterminate. */
export const counts = (outcome: PolicyOutcome): boolean =>
  outcome === 'matched' || outcome === 'indeterminate';

/** Returns the most restrictive counting decision; `defaultDecision` without one. The order does not matter. */
export function combine(
  decisions: Iterable<Decision>,
  defaultDecision: PolicyAction = 'allow',
): PolicyAction {
  let strictest = -1;
  for (const { decision, outcome } of decisions) {
    if (counts(outcome)) strictest = Math.max(strictest, restriction(decision));
  }
  return policyActions[strictest] ?? defaultDecision;
}

/** Returns 0 for allow, 1 for warn, 2 for escalate, 3 for deny. */
export const restriction = (action: PolicyAction): number => policyActions.indexOf(action);

/** Returns the gravest of many decisions, in the given order; the first of equal ones. */
export function gravestDecisions<D extends Decision>(decisions: readonly D[], most: number): readonly D[] {
  if (decisions.length <= most) return decisions;
  const kept = new Set<D>();
  for (const action of policyActions.toReversed()) {
    for (const each of decisions) if (each.decision === action && kept.size < most) kept.add(each);
  }
  return decisions.filter((each) => kept.has(each));
}

const directions = ['tightened', 'loosened', 'same'] as const;
export type Direction = (typeof directions)[number];

export function direction(before: PolicyAction, after: PolicyAction): Direction {
  const step = restriction(after) - restriction(before);
  if (step === 0) return 'same';
  return step > 0 ? 'tightened' : 'loosened';
}

/** Returns the graver of two severities; null is the least. */
export function graver(a: PolicySeverity | null, b: PolicySeverity | null): PolicySeverity | null {
  const grave = (severity: PolicySeverity | null): number =>
    severity === null ? -1 : policySeverities.indexOf(severity);
  return grave(a) >= grave(b) ? a : b;
}
