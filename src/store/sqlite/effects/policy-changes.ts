/**
 * The rows of policy changes of the current project.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import type { StoredPolicy } from '../../port/store.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';
import { policyWrites } from '../../write/policies.ts';
import type { Writer } from '../../write/statement.ts';

type PolicyRows = Pick<
  EffectRows,
  | 'policy'
  | 'createPolicy'
  | 'movePolicy'
  | 'activePolicies'
  | 'saveVersion'
  | 'raiseVersion'
  | 'isPublished'
  | 'publish'
>;

interface PolicyRow {
  readonly revision: number;
  readonly status: StoredPolicy['status'];
  readonly latestVersion: number;
}

export function policyRows(prepare: Prepare, current: Current, write: Writer<number>): PolicyRows {
  const find = prepare<PolicyRow>(
    'find policy',
    'SELECT revision, status, latest_version AS latestVersion FROM policy WHERE project = ? AND policy_id = ?',
  );
  // Cost: 1 ms at the limit of active policies.
  const count = prepare<{ n: number }>(
    'count active policies',
    "SELECT count(*) AS n FROM policy WHERE project = ? AND status = 'active'",
  );
  const version = prepare<{ published: number }>(
    'find policy version',
    'SELECT published FROM policy_version WHERE project = ? AND policy_id = ? AND version = ?',
  );
  return {
    ...policyWrites(write),
    policy: (policyId) => find.get(current.project, policyId) ?? null,
    activePolicies: () => count.get(current.project)?.n ?? 0,
    isPublished: (policyId, no) => {
      const row = version.get(current.project, policyId, no);
      return row === undefined ? null : row.published === 1;
    },
  };
}
