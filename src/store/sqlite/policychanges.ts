/**
 * Changes of policies. Each names the revision that it was decided on, so of two changes made at once the
 * second is refused. Proven by `test/store/suite/policies.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { GovernanceEffect, StoredPolicyVersion } from '../port.ts';
import type { Prepare } from './statement.ts';

type EffectOf<Kind extends GovernanceEffect['kind']> = Extract<GovernanceEffect, { kind: Kind }>;

export interface PolicyWriter {
  create(project: number, effect: EffectOf<'createPolicy'>): void;
  addVersion(project: number, effect: EffectOf<'addPolicyVersion'>): void;
  move(project: number, effect: EffectOf<'movePolicy'>): void;
}

export function policyWriter(prepare: Prepare): PolicyWriter {
  const insert = versionInserter(prepare);
  return { create: creator(prepare, insert), ...changer(prepare, insert) };
}

type InsertVersion = (project: number, version: StoredPolicyVersion) => void;

function versionInserter(prepare: Prepare): InsertVersion {
  const insert = prepare(
    'insert policy version',
    `INSERT INTO policy_version (project, policy_id, version, condition, normalized, action, severity,
       policy_hash, created_ms, created_by, published) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return (project, version) => {
    insert.run(
      project,
      version.policyId,
      version.version,
      version.condition,
      version.normalized,
      version.action,
      version.severity,
      version.policyHash,
      version.createdMs,
      version.createdBy,
      version.published ? 1 : 0,
    );
  };
}

function creator(prepare: Prepare, insertVersion: InsertVersion): PolicyWriter['create'] {
  const insert = prepare(
    'create policy',
    `INSERT INTO policy (project, policy_id, name, description, status, active_version, last_active_version,
       latest_version, revision, created_ms, created_by, updated_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  return (project, { policy, version }) => {
    const { changes } = insert.run(
      project,
      policy.policyId,
      policy.name,
      policy.description,
      policy.status,
      policy.activeVersion,
      policy.lastActiveVersion,
      policy.latestVersion,
      policy.revision,
      policy.createdMs,
      policy.createdBy,
      policy.updatedMs,
    );
    if (changes === 0) {
      throw new GovError('CONFLICT', `expected a new policy id, but policy ${policy.policyId} exists`);
    }
    insertVersion(project, version);
  };
}

interface PolicyRow {
  readonly revision: number;
  readonly status: string;
  readonly latest_version: number;
}

function changer(prepare: Prepare, insertVersion: InsertVersion): Pick<PolicyWriter, 'addVersion' | 'move'> {
  const find = prepare<PolicyRow>(
    'find policy',
    'SELECT revision, status, latest_version FROM policy WHERE project = ? AND policy_id = ?',
  );
  const raise = prepare(
    'raise policy version',
    `UPDATE policy SET latest_version = ?, revision = revision + 1, updated_ms = ?
     WHERE project = ? AND policy_id = ?`,
  );
  const move = prepare(
    'move policy',
    `UPDATE policy SET status = ?, active_version = ?, last_active_version = ?, revision = revision + 1,
       updated_ms = ? WHERE project = ? AND policy_id = ?`,
  );
  const publish = publisher(prepare);
  const refuseFull = activeCounter(prepare);
  const current = (project: number, policyId: string, revision: number): PolicyRow => {
    const row = find.get(project, policyId);
    if (row === undefined) throw new GovError('NOT_FOUND', `no policy ${policyId}`);
    if (row.revision === revision) return row;
    throw new GovError(
      'CONFLICT',
      `expected revision ${revision} of policy ${policyId}, found revision ${row.revision}: ` +
        'it was changed meanwhile; read it again',
    );
  };
  return {
    addVersion: (project, { version, revision }) => {
      const { policyId } = version;
      const { latest_version: latest } = current(project, policyId, revision);
      refuseVersion(version, latest);
      insertVersion(project, version);
      raise.run(version.version, version.createdMs, project, policyId);
    },
    move: (project, effect) => {
      const { policyId, revision, status, activeVersion, lastActiveVersion, atMs } = effect;
      const before = current(project, policyId, revision);
      if (status === 'active' && before.status !== 'active') refuseFull(project);
      if (activeVersion !== null) publish(project, policyId, activeVersion);
      move.run(status, activeVersion, lastActiveVersion, atMs, project, policyId);
    },
  };
}

function refuseVersion({ policyId, version }: StoredPolicyVersion, latest: number): void {
  if (version > limits.policyVersions) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${limits.policyVersions} versions of policy ${policyId}, got one more; create another policy`,
    );
  }
  if (version !== latest + 1)
    throw new Error(`expected version ${latest + 1} of ${policyId}, got ${version}`);
}

/** Marks a version as published. */
function publisher(prepare: Prepare): (project: number, policyId: string, version: number) => void {
  const find = prepare<{ published: number }>(
    'find policy version',
    'SELECT published FROM policy_version WHERE project = ? AND policy_id = ? AND version = ?',
  );
  const publish = prepare(
    'publish policy version',
    'UPDATE policy_version SET published = 1 WHERE project = ? AND policy_id = ? AND version = ?',
  );
  return (project, policyId, version) => {
    const row = find.get(project, policyId, version);
    if (row === undefined) throw new Error(`expected version ${version} of policy ${policyId}, got none`);
    if (row.published === 0) publish.run(project, policyId, version);
  };
}

/** Refuses one more active policy than the limit. Cost: 1 ms at the limit. */
function activeCounter(prepare: Prepare): (project: number) => void {
  const count = prepare<{ n: number }>(
    'count active policies',
    "SELECT count(*) AS n FROM policy WHERE project = ? AND status = 'active'",
  );
  return (project) => {
    if ((count.get(project)?.n ?? 0) < limits.policiesActive) return;
    throw new GovError(
      'CONFLICT',
      `expected at most ${limits.policiesActive} active policies, got one more; disable or archive another one first`,
    );
  };
}
