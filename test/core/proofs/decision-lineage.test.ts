import { describe, expect, it } from 'vitest';
import type { RiskRecord } from '../../../src/core/decided/risk-decision.ts';
import { DecisionLineage } from '../../../src/core/proofs/decision-lineage.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { defaultRiskConfig, riskRouter } from '../../../src/core/risk/config.ts';
import { canonicalInputs } from '../../../src/core/risk/inputs.ts';
import { evaluateRisk } from '../../../src/core/risk/router.ts';

const router = riskRouter(defaultRiskConfig);
function decision(id: string, members: Partial<RiskRecord> = {}): RiskRecord {
  const inputs = canonicalInputs({ policyDecisions: [{ decision: 'deny', policyId: 'p', score: 0.4 }] });
  return {
    id,
    runId: 'r',
    evaluatedAt: '2026-01-01T00:00:00Z',
    ...evaluateRisk(inputs, router),
    inputs: { ...inputs, config: router.config as unknown as JsonObject },
    ...members,
  };
}
let inForce = router.configHash;
function judge(...records: RiskRecord[]) {
  const lineage = new DecisionLineage();
  for (const [at, record] of records.entries()) lineage.add(at, record, inForce);
  return lineage.finish();
}
const failed = (...records: RiskRecord[]): string[] =>
  judge(...records)
    .checks.filter(({ pass }) => !pass)
    .map(({ id }) => id);

describe('decision lineage', () => {
  it('decision lineage passes when every decision follows from its inputs', () => {
    const result = judge(decision('rsk_1'), decision('rsk_2'));
    expect(result).toMatchObject({ claims: { decisions: { n: 2 }, notRecomputed: 0 }, verdict: 'pass' });
  });

  it('decision lineage is not run without decisions', () => {
    expect(judge()).toMatchObject({ claims: { code: 'DECISION_NOT_RUN' }, verdict: 'not_run' });
  });

  it.each<[string, Partial<RiskRecord>, string]>([
    ['another action', { action: 'allow' }, 'action_matches_config'],
    ['another score', { score: 0.1 }, 'action_matches_config'],
    ['a would-be action', { wouldBeAction: 'block' }, 'action_matches_config'],
    ['factors that are not its own', { factors: [] }, 'action_matches_config'],
    ['another hash of its inputs', { deterministicInputsHash: 'sha256:x' }, 'inputs_recompute'],
  ])('decision lineage fails with the name of the check for a decision with %s', (_, members, check) => {
    expect(failed(decision('rsk_1'), decision('rsk_2', members))).toEqual([check]);
  });

  it('decision lineage fails for a configuration not in force, even with erased inputs', () => {
    const both = ['inputs_recompute', 'action_matches_config'];
    expect(failed(decision('rsk_1', { configHash: 'sha256:x' }))).toEqual(both);
    inForce = 'sha256:other';
    expect(failed(decision('rsk_1'))).toEqual(['action_matches_config']);
    inForce = router.configHash;
    const erased = decision('rsk_2', { inputs: null, configHash: 'sha256:x' });
    expect(failed(decision('rsk_1'), erased)).toEqual(['action_matches_config']);
  });

  it('decision lineage counts decisions with erased inputs, and fails when all are erased', () => {
    const erased = decision('rsk_2', { inputs: null });
    expect(judge(decision('rsk_1'), erased)).toMatchObject({ claims: { notRecomputed: 1 }, verdict: 'pass' });
    expect(failed(erased)).toEqual(['inputs_recompute', 'action_matches_config']);
  });
});
