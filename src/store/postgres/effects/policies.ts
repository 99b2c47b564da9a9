/**
 * Reads of policies, their versions, and the risk router's configuration.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import type { ActivePolicy, StoredPolicy, StoredPolicyVersion, StoreReader } from '../../port/store.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Database } from '../connection/database.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { read, readOrNull } from './texts.ts';
import { sql, step } from '../connection/wire.ts';

const policyColumns = `policy_id AS "policyId", name, description, status, active_version AS "activeVersion",
  last_active_version AS "lastActiveVersion", latest_version AS "latestVersion", revision,
  created_ms AS "createdMs", created_by AS "createdBy", updated_ms AS "updatedMs"`;

const versionColumns = `v.policy_id AS "policyId", v.version, v.condition, v.normalized, v.action, v.severity,
  v.policy_hash AS "policyHash", v.created_ms AS "createdMs", v.created_by AS "createdBy", v.published = 1 AS published`;

const onePolicy = sql<StoredPolicy>(
  `SELECT ${policyColumns} FROM policy WHERE project = $1 AND policy_id = $2`,
);
const policyPage = (ofStatus: string) =>
  sql<StoredPolicy>(
    `SELECT ${policyColumns} FROM policy WHERE project = $1 ${ofStatus} AND (created_ms, policy_id) < ($2, $3)
     ORDER BY created_ms DESC, policy_id DESC LIMIT $4`,
  );
const page = policyPage('');
const pageOfStatus = policyPage('AND status = $5');

const oneVersion = sql<StoredPolicyVersion>(
  `SELECT ${versionColumns} FROM policy_version v WHERE project = $1 AND policy_id = $2 AND version = $3::int8`,
);
const versionPage = sql<StoredPolicyVersion>(
  `SELECT ${versionColumns} FROM policy_version v WHERE project = $1 AND policy_id = $2 AND version < $3::int8
   ORDER BY version DESC LIMIT $4`,
);

const evaluated = (status: 'active' | 'review', version: string) =>
  sql<ActivePolicy>(
    `SELECT p.name, ${versionColumns} FROM policy p
     CROSS JOIN LATERAL (SELECT * FROM policy_version
       WHERE project = $1 AND policy_id = p.policy_id AND version = p.${version} OFFSET 0) v
     WHERE p.project = $1 AND p.status = '${status}'`,
  );
const active = evaluated('active', 'active_version');
const inReview = evaluated('review', 'latest_version');
const newestLeaf = (type: 'gov.policy/1' | 'gov.config/1') =>
  sql<{ idx: number }>(
    `SELECT idx FROM decided WHERE project = $1 AND type = ${typeNumbers[type]} ORDER BY idx DESC LIMIT 1`,
  );
const newestChange = newestLeaf('gov.policy/1');
const newestConfig = newestLeaf('gov.config/1');
const config = sql<{ config: string }>('SELECT config FROM risk_config WHERE project = $1');

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

export function policyReads(database: Database, numberOf: ProjectNumber): PolicyReads {
  return {
    policy: async (projectId, policyId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(onePolicy, project, policyId)]);
      return rows[0] === undefined ? null : policyOf(rows[0]);
    },
    policies: async (projectId, { status }, { after, limit }) => {
      const project = await numberOf(projectId);
      const values = [project, after?.ms ?? endOfTime, after?.id ?? '', limit];
      const wanted = status === undefined ? step(page, ...values) : step(pageOfStatus, ...values, status);
      return (await database.read({ project }, [wanted]))[0].rows.map(policyOf);
    },
    policyVersion: async (projectId, policyId, version) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(oneVersion, project, policyId, version)]);
      return rows[0] ?? null;
    },
    policyVersions: async (projectId, policyId, { after = endOfTime, limit }) => {
      const project = await numberOf(projectId);
      const wanted = step(versionPage, project, policyId, after, limit);
      return (await database.read({ project }, [wanted]))[0].rows;
    },
    policiesInForce: async (projectId) => {
      const project = await numberOf(projectId);
      // one snapshot: the index is that of the policy change that put these policies in force
      const [{ rows }, newest] = await database.readAtOnce({ project }, [
        step(active, project),
        step(newestChange, project),
      ]);
      return { policies: sorted(rows), policyIndex: newest.rows[0]?.idx ?? null };
    },
    policiesInReview: async (projectId) => {
      const project = await numberOf(projectId);
      return sorted((await database.read({ project }, [step(inReview, project)]))[0].rows);
    },
    riskConfig: async (projectId) => {
      const project = await numberOf(projectId);
      // one snapshot, for the same reason
      const [{ rows }, newest] = await database.readAtOnce({ project }, [
        step(config, project),
        step(newestConfig, project),
      ]);
      return { config: rows[0]?.config ?? null, configIndex: newest.rows[0]?.idx ?? null };
    },
  };
}

const policyOf = (row: StoredPolicy): StoredPolicy => ({
  ...row,
  name: read(row.name),
  description: readOrNull(row.description),
});

const sorted = (rows: readonly ActivePolicy[]): ActivePolicy[] =>
  rows
    .map((row) => ({ ...row, name: read(row.name) }))
    .toSorted((one, other) => (one.policyId < other.policyId ? -1 : 1));
