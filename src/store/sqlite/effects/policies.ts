/**
 * Reads of policies, their versions, and the risk router's configuration.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { ActivePolicy, StoredPolicy, StoredPolicyVersion, StoreReader } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { newestReader } from '../read/newest.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { ProjectNumber } from '../read/leaves.ts';

const policyColumns = `policy_id AS policyId, name, description, status, active_version AS activeVersion,
  last_active_version AS lastActiveVersion, latest_version AS latestVersion, revision, created_ms AS createdMs,
  created_by AS createdBy, updated_ms AS updatedMs`;

const versionColumns = `v.policy_id AS policyId, v.version, v.condition, v.normalized, v.action, v.severity,
  v.policy_hash AS policyHash, v.created_ms AS createdMs, v.created_by AS createdBy, v.published`;

type VersionRow = Omit<StoredPolicyVersion, 'published'> & { readonly published: number };

const versionOf = (row: VersionRow): StoredPolicyVersion => ({ ...row, published: row.published === 1 });

type PolicyReads = Pick<
  StoreReader,
  | 'policy'
  | 'policies'
  | 'policyVersion'
  | 'policyVersions'
  | 'policiesInForce'
  | 'policiesInReview'
  | 'riskConfig'
>;

export function policyReads(db: Connection, numberOf: ProjectNumber): PolicyReads {
  const config = db.prepare<Value[], string>('SELECT config FROM risk_config WHERE project = ?').pluck();
  const newest = newestReader(db);
  // one read transaction, for the same reason as `atOnce`
  const configured = db.transaction((project: number) => ({
    config: config.get(project) ?? null,
    configIndex: newest(project, 'gov.config/1'),
  }));
  return {
    ...policyRows(db, numberOf),
    ...versionRows(db, numberOf),
    ...evaluatedRows(db, numberOf),
    riskConfig: async (projectId) => configured(numberOf(projectId)),
  };
}

function policyRows(db: Connection, numberOf: ProjectNumber): Pick<PolicyReads, 'policy' | 'policies'> {
  const one = db.prepare<Value[], StoredPolicy>(
    `SELECT ${policyColumns} FROM policy WHERE project = ? AND policy_id = ?`,
  );
  const selectPage = (ofStatus: string) =>
    db.prepare<Value[], StoredPolicy>(
      `SELECT ${policyColumns} FROM policy WHERE project = ? ${ofStatus} AND (created_ms, policy_id) < (?, ?)
       ORDER BY created_ms DESC, policy_id DESC LIMIT ?`,
    );
  const page = selectPage('');
  const pageOfStatus = selectPage('AND status = ?');
  return {
    policy: async (projectId, policyId) => one.get(numberOf(projectId), policyId) ?? null,
    policies: async (projectId, { status }, { after, limit }) => {
      const project = numberOf(projectId);
      const position = [after?.ms ?? endOfTime, after?.id ?? ''];
      return status === undefined
        ? page.all(project, ...position, limit)
        : pageOfStatus.all(project, status, ...position, limit);
    },
  };
}

function versionRows(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<PolicyReads, 'policyVersion' | 'policyVersions'> {
  const one = db.prepare<Value[], VersionRow>(
    `SELECT ${versionColumns} FROM policy_version v WHERE project = ? AND policy_id = ? AND version = ?`,
  );
  const page = db.prepare<Value[], VersionRow>(
    `SELECT ${versionColumns} FROM policy_version v WHERE project = ? AND policy_id = ? AND version < ?
     ORDER BY version DESC LIMIT ?`,
  );
  return {
    policyVersion: async (projectId, policyId, version) => {
      const row = one.get(numberOf(projectId), policyId, version);
      return row === undefined ? null : versionOf(row);
    },
    policyVersions: async (projectId, policyId, { after = endOfVersions, limit }) =>
      page.all(numberOf(projectId), policyId, after, limit).map(versionOf),
  };
}

const endOfVersions = Number.MAX_SAFE_INTEGER;

type ActiveRow = Omit<ActivePolicy, 'published'> & { readonly published: number };

/** Reads the policies that evaluations use. Cost: about 5 µs a policy. */
function evaluatedRows(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<PolicyReads, 'policiesInForce' | 'policiesInReview'> {
  const select = (status: 'active' | 'review', version: string) =>
    db.prepare<Value[], ActiveRow>(
      `SELECT p.name, ${versionColumns} FROM policy p
       JOIN policy_version v ON v.project = p.project AND v.policy_id = p.policy_id AND v.version = p.${version}
       WHERE p.project = ? AND p.status = '${status}'`,
    );
  const active = select('active', 'active_version');
  const inReview = select('review', 'latest_version');
  const newest = newestReader(db);
  const sorted = (rows: ActiveRow[]): ActivePolicy[] =>
    rows
      .map((row) => ({ ...row, published: row.published === 1 }))
      .toSorted((one, other) => (one.policyId < other.policyId ? -1 : 1));
  // one read transaction: the index is that of the policy change that put these policies in force
  const atOnce = db.transaction((project: number) => ({
    rows: active.all(project),
    policyIndex: newest(project, 'gov.policy/1'),
  }));
  return {
    policiesInForce: async (projectId) => {
      const { rows, policyIndex } = atOnce(numberOf(projectId));
      return { policies: sorted(rows), policyIndex };
    },
    policiesInReview: async (projectId) => sorted(inReview.all(numberOf(projectId))),
  };
}
