/**
 * Effects of governance: each checks, then writes; what it refuses leaves nothing of its request. Proven by
 * `test/store/suite/policies.ts`, `approvals.ts` and `decided.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { GovernanceEffect } from '../port.ts';
import { approvalWriter } from './approvals.ts';
import { policyWriter } from './policychanges.ts';
import type { Prepare } from './statement.ts';

/** Applies one effect for the project with this number. */
export function governanceWriter(prepare: Prepare): (project: number, effect: GovernanceEffect) => void {
  const policies = policyWriter(prepare);
  const approvals = approvalWriter(prepare);
  const saveConfig = prepare(
    'save risk config',
    `INSERT INTO risk_config (project, config, updated_ms) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET config = excluded.config, updated_ms = excluded.updated_ms`,
  );
  const claimSnapshot = prepare(
    'claim snapshot',
    'INSERT INTO run_snapshot (project, run_id) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  return (project, effect) => {
    switch (effect.kind) {
      case 'createPolicy':
        return policies.create(project, effect);
      case 'addPolicyVersion':
        return policies.addVersion(project, effect);
      case 'movePolicy':
        return policies.move(project, effect);
      case 'saveRiskConfig':
        saveConfig.run(project, effect.config, effect.atMs);
        return;
      case 'claimSnapshot':
        if (claimSnapshot.run(project, effect.runId).changes === 1) return;
        throw new GovError(
          'CONFLICT',
          `expected a run without a snapshot, but run ${effect.runId} has one; the first one stays`,
        );
      case 'openApproval':
        return approvals.open(project, effect.approval);
      case 'decideApproval':
        return approvals.decide(project, effect);
    }
  };
}
