/** The words of risk routing (contract F7, F8), shared by the contract and the core. */

/** From the least restrictive to the most. */
export const riskActions = ['allow', 'flag', 'escalate', 'block'] as const;
export type RiskAction = (typeof riskActions)[number];

export const riskModes = ['adaptive', 'strict', 'permissive', 'monitor'] as const;
export type RiskMode = (typeof riskModes)[number];
