/** Enumerated words of replay, shared by the contract and the core (contract F12). */

export const stepStatuses = ['match', 'mismatch', 'missing', 'extra', 'not_replayable'] as const;
export type StepStatus = (typeof stepStatuses)[number];

/** From the least severe to the most. */
export const driftSeverities = ['low', 'medium', 'high', 'critical'] as const;
export type DriftSeverity = (typeof driftSeverities)[number];
