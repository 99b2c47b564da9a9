/**
 * From the truth of a condition to a decision, and from many decisions to one (docs/reference/policy-language.md; contract G5-G8).
 * Fails closed: a condition that cannot be decided acts as if it held, and an `allow` that cannot be decided
 * escalates. Deny stands above escalate, because an approval must not undo a deny. Severity never changes a
 * decision. Proven by `test/core/policy/evaluate/decision.test.ts`.
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

/** A policy that is not in force raises no objection. */
export const inactive: Decision = Object.freeze({ decision: 'allow', outcome: 'inactive' });

/** `allow` for a condition that is false says "raises no objection"; it grants nothing. */
export function decide(action: PolicyAction, truth: Truth): Decision {
  switch (truth) {
    case 'true':
      return { decision: action, outcome: 'matched' };
    case 'false':
      return { decision: 'allow', outcome: 'not_matched' };
    case 'indeterminate':
      return { decision: action === 'allow' ? 'escalate' : action, outcome: 'indeterminate' };
  }
}

/** Whether the policy has a say: its condition held, or could not be decided. */
export const counts = (outcome: PolicyOutcome): boolean =>
  outcome === 'matched' || outcome === 'indeterminate';

/** The most restrictive decision of those that count; `defaultDecision` where none does. Order is no matter. */
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

/** 0 for allow, 1 for warn, 2 for escalate, 3 for deny. */
export const restriction = (action: PolicyAction): number => policyActions.indexOf(action);

/** The gravest of many decisions, in the order given; of those that are alike, the first. */
export function gravest<D extends Decision>(decisions: readonly D[], most: number): readonly D[] {
  if (decisions.length <= most) return decisions;
  const kept = new Set<D>();
  for (const action of policyActions.toReversed()) {
    for (const each of decisions) if (each.decision === action && kept.size < most) kept.add(each);
  }
  return decisions.filter((each) => kept.has(each));
}

export const directions = ['tightened', 'loosened', 'same'] as const;
export type Direction = (typeof directions)[number];

export function direction(before: PolicyAction, after: PolicyAction): Direction {
  const step = restriction(after) - restriction(before);
  if (step === 0) return 'same';
  return step > 0 ? 'tightened' : 'loosened';
}

/** The graver of two, where null is none. */
export function graver(a: PolicySeverity | null, b: PolicySeverity | null): PolicySeverity | null {
  const grave = (severity: PolicySeverity | null): number =>
    severity === null ? -1 : policySeverities.indexOf(severity);
  return grave(a) >= grave(b) ? a : b;
}
