/** Limits: proofs and graphs. */
export const proofs = {
  layers: 16,
  syncProofEvents: 10_000,
  /** A source that is this late has a gap. */
  coverageSettleSeconds: 60,
  coverageCallsAnswered: 1000,
  coverageLinkedRuns: 20,
  graphNodesAnswered: 50_000,
  graphEdgesAnswered: 200_000,
  graphNodesDeclared: 50_000,
  graphTypeChars: 64,
  graphReferences: 256,
  graphPendingReferences: 100_000,
  graphPartItems: 10_000,
  graphNodesHeld: 1_500_000,
  graphEdgesHeld: 6_000_000,
} as const;
