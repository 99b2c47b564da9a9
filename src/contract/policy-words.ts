/** Enumerated words of policies, shared by the contract and the core (contract G5). */

/** From the least restrictive to the most. */
export const policyActions = ['allow', 'warn', 'escalate', 'deny'] as const;
export type PolicyAction = (typeof policyActions)[number];

export const policyOutcomes = ['matched', 'not_matched', 'indeterminate', 'inactive'] as const;
export type PolicyOutcome = (typeof policyOutcomes)[number];

/** From the least severe to the most. */
export const policySeverities = ['low', 'medium', 'high', 'critical'] as const;
export type PolicySeverity = (typeof policySeverities)[number];

export const policyStatuses = ['draft', 'review', 'active', 'disabled', 'archived'] as const;
export type PolicyStatus = (typeof policyStatuses)[number];
