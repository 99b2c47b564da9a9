/**
 * The rows of policy changes of the current project.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import type { StoredPolicy } from '../../port/store.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

type Of<Names extends keyof EffectRows> = Pick<EffectRows, Names>;

type PolicyRows = Of<'policy' | 'createPolicy' | 'movePolicy' | 'activePolicies'> &
  Of<'saveVersion' | 'raiseVersion' | 'isPublished' | 'publish'>;

export const policyRows = (prepare: Prepare, current: Current): PolicyRows => ({
  ...changeRows(prepare, current),
  ...versionRows(prepare, current),
});

interface PolicyRow {
  readonly revision: number;
  readonly status: StoredPolicy['status'];
  readonly latest_version: number;
}

function changeRows(
  prepare: Prepare,
  current: Current,
): Of<'policy' | 'createPolicy' | 'movePolicy' | 'activePolicies'> {
  const find = prepare<PolicyRow>(
    'find policy',
    'SELECT revision, status, latest_version FROM policy WHERE project = ? AND policy_id = ?',
  );
  const create = prepare(
    'create policy',
    `INSERT INTO policy (project, policy_id, name, description, status, active_version, last_active_version,
       latest_version, revision, created_ms, created_by, updated_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const move = prepare(
    'move policy',
    `UPDATE policy SET status = ?, active_version = ?, last_active_version = ?, revision = revision + 1,
       updated_ms = ? WHERE project = ? AND policy_id = ?`,
  );
  // Cost: 1 ms at the limit of active policies.
  const count = prepare<{ n: number }>(
    'count active policies',
    "SELECT count(*) AS n FROM policy WHERE project = ? AND status = 'active'",
  );
  return {
    policy: (policyId) => {
      const row = find.get(current.project, policyId);
      if (row === undefined) return null;
      return { revision: row.revision, status: row.status, latestVersion: row.latest_version };
    },
    createPolicy: (made) => {
      const { policyId, name, description, status, activeVersion, lastActiveVersion, latestVersion } = made;
      const { revision, createdMs, createdBy, updatedMs } = made;
      const texts = [policyId, name, description, status];
      const versions = [activeVersion, lastActiveVersion, latestVersion, revision];
      create.run(current.project, ...texts, ...versions, createdMs, createdBy, updatedMs);
    },
    movePolicy: ({ policyId, status, activeVersion, lastActiveVersion, atMs }) => {
      move.run(status, activeVersion, lastActiveVersion, atMs, current.project, policyId);
    },
    activePolicies: () => count.get(current.project)?.n ?? 0,
  };
}

function versionRows(
  prepare: Prepare,
  current: Current,
): Of<'saveVersion' | 'raiseVersion' | 'isPublished' | 'publish'> {
  const insert = prepare(
    'insert policy version',
    `INSERT INTO policy_version (project, policy_id, version, condition, normalized, action, severity,
       policy_hash, created_ms, created_by, published, require_signed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const raise = prepare(
    'raise policy version',
    `UPDATE policy SET latest_version = ?, revision = revision + 1, updated_ms = ?
     WHERE project = ? AND policy_id = ?`,
  );
  const find = prepare<{ published: number }>(
    'find policy version',
    'SELECT published FROM policy_version WHERE project = ? AND policy_id = ? AND version = ?',
  );
  const publish = prepare(
    'publish policy version',
    'UPDATE policy_version SET published = 1 WHERE project = ? AND policy_id = ? AND version = ?',
  );
  return {
    saveVersion: (made) => {
      const { policyId, version, condition, normalized, action, severity, policyHash } = made;
      const texts = [condition, normalized, action, severity, policyHash];
      const rest = [
        made.createdMs,
        made.createdBy,
        made.published ? 1 : 0,
        made.requireSignedApproval ? 1 : 0,
      ];
      insert.run(current.project, policyId, version, ...texts, ...rest);
    },
    raiseVersion: ({ policyId, version, createdMs }) => {
      raise.run(version, createdMs, current.project, policyId);
    },
    isPublished: (policyId, version) => {
      const row = find.get(current.project, policyId, version);
      return row === undefined ? null : row.published === 1;
    },
    publish: (policyId, version) => {
      publish.run(current.project, policyId, version);
    },
  };
}
