/** Enumerated words of risk routing, shared by the contract and the core (contract F7, F8). */

/** From the least restrictive to the most. */
export const riskActions = ['allow', 'flag', 'escalate', 'block'] as const;
export type RiskAction = (typeof riskActions)[number];

export const riskModes = ['adaptive', 'strict', 'permissive', 'monitor'] as const;
export type RiskMode = (typeof riskModes)[number];
