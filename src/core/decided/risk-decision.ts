/**
 * The leaf of a risk decision, `gov.decision/1` (`docs/reference/proof-format.md`). In clear: action, score and hashes. Committed: the
 * inputs, so that the decision can be recomputed from its record.
 * Proven by `test/core/proofs/decision-lineage.test.ts`.
 */
import type { RiskDecision } from '../../contract/risk.ts';
import type { RiskAction } from '../../contract/risk-words.ts';
import type { Json, JsonObject } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import type { OpenLeaf } from './leaf.ts';

type RiskFactor = {
  readonly name: string;
  readonly weight: number;
  readonly value: number;
  readonly contribution: number;
};

export interface RiskRecord {
  readonly id: string;
  readonly runId: string;
  readonly action: RiskAction;
  readonly score: number;
  readonly deterministicInputsHash: string;
  readonly configHash: string;
  readonly evaluatedAt: string;
  readonly wouldBeAction: RiskAction | null;
  readonly factors: readonly RiskFactor[];
  /** The preimage of deterministicInputsHash, with the configuration; null if erased. */
  readonly inputs: JsonObject | null;
}

export function draftRiskDecision(decision: RiskRecord, salt: () => string): OtherDraft {
  const { runId, factors, inputs, wouldBeAction, ...fields } = decision;
  const committed: [string, Json][] = [
    ['/inputs', inputs],
    ['/factors', [...factors]],
    ['/wouldBeAction', wouldBeAction],
  ];
  return draftLeaf('gov.decision/1', { ...fields }, { runId, id: decision.id, committed, salt });
}

export function openRiskDecision({ clear, committed }: OpenLeaf): RiskRecord {
  const { id, runId, action, score, deterministicInputsHash, configHash, evaluatedAt } =
    clear as unknown as RiskRecord;
  return {
    id,
    runId,
    action,
    score,
    deterministicInputsHash,
    configHash,
    evaluatedAt,
    wouldBeAction: (committed.get('wouldBeAction') ?? null) as RiskAction | null,
    factors: (committed.get('factors') ?? []) as unknown as RiskFactor[],
    inputs: (committed.get('inputs') ?? null) as JsonObject | null,
  };
}

/** Returns the decision for responses and exports. */
export const riskDecisionBody = ({ inputs: _inputs, factors, ...decision }: RiskRecord): RiskDecision => ({
  ...decision,
  factors: [...factors],
});
