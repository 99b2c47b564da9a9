/**
 * The decision of one policy, as a response shows it and a leaf commits to it.
 * Proven by `test/core/decided/evaluation.test.ts`.
 */
import type { PolicyAction, PolicyOutcome, PolicySeverity } from '../../contract/policy-words.ts';

export type RecordedDecision = {
  readonly policyId: string;
  readonly version: number | null;
  readonly policyHash: string | null;
  readonly decision: PolicyAction;
  readonly outcome: PolicyOutcome;
  readonly severity: PolicySeverity | null;
  readonly reasoning: string;
};
