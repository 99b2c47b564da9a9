/**
 * Reads of policies, their versions, and the risk router's configuration.
 * Proven by `test/store/suite/governance/policies.ts`.
 */
import { endOfTime } from '../port/bounds.ts';
import type { ActivePolicy, StoredPolicy, StoredPolicyVersion, StoreReader } from '../port/store.ts';
import { decoder, selected, type Raw } from '../rules/columns.ts';
import { typeNumbers } from '../rules/decided.ts';
import { policyColumns, versionColumns } from '../rules/policy-row.ts';
import { both, each, firstOf, rowsOf, step, type Queries } from './queries.ts';

type VersionRow = Raw<StoredPolicyVersion>;
type ActiveRow = Raw<ActivePolicy>;

const policyMembers = selected(policyColumns);
const versionMembers = selected(versionColumns, { from: 'v' });

const onePolicy = both<Raw<StoredPolicy>>(
  `SELECT ${policyMembers} FROM policy WHERE project = $1 AND policy_id = $2`,
);
const policyPage = (ofStatus: string) =>
  both<Raw<StoredPolicy>>(
    `SELECT ${policyMembers} FROM policy WHERE project = $1 ${ofStatus} AND (created_ms, policy_id) < ($2, $3)
     ORDER BY created_ms DESC, policy_id DESC LIMIT $4`,
  );
const page = policyPage('');
const pageOfStatus = policyPage('AND status = $5');

const oneVersion = both<VersionRow>(
  `SELECT ${versionMembers} FROM policy_version v WHERE project = $1 AND policy_id = $2 AND version = $3::int8`,
);
const versionPage = both<VersionRow>(
  `SELECT ${versionMembers} FROM policy_version v WHERE project = $1 AND policy_id = $2 AND version < $3::int8
   ORDER BY version DESC LIMIT $4`,
);

/** `OFFSET 0` makes PostgreSQL look each version up by its key, for any statistics; SQLite has no LATERAL. */
const evaluated = (status: 'active' | 'review', version: string) =>
  each<ActiveRow>({
    postgres: `SELECT p.name, ${versionMembers} FROM policy p
     CROSS JOIN LATERAL (SELECT * FROM policy_version
       WHERE project = $1 AND policy_id = p.policy_id AND version = p.${version} OFFSET 0) v
     WHERE p.project = $1 AND p.status = '${status}'`,
    sqlite: `SELECT p.name, ${versionMembers} FROM policy p
     JOIN policy_version v ON v.project = p.project AND v.policy_id = p.policy_id AND v.version = p.${version}
     WHERE p.project = $1 AND p.status = '${status}'`,
  });
const active = evaluated('active', 'active_version');
const inReview = evaluated('review', 'latest_version');
const newestLeaf = (type: 'gov.policy/1' | 'gov.config/1') =>
  both<{ idx: number }>(
    `SELECT idx FROM decided WHERE project = $1 AND type = ${typeNumbers[type]} ORDER BY idx DESC LIMIT 1`,
  );
const newestChange = newestLeaf('gov.policy/1');
const newestConfig = newestLeaf('gov.config/1');
const config = both<{ config: string }>('SELECT config FROM risk_config WHERE project = $1');

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

export function policyReads(queries: Queries): PolicyReads {
  const policyOf = decoder(policyColumns, queries.text);
  const versionOf = decoder(versionColumns, queries.text);
  const sorted = (rows: readonly ActiveRow[]): ActivePolicy[] =>
    rows
      .map((row) => ({ ...versionOf(row), name: queries.text(row.name) }))
      .toSorted((one, other) => (one.policyId < other.policyId ? -1 : 1));
  return {
    policy: async (projectId, policyId) =>
      firstOf(await rowsOf(queries, projectId, onePolicy, policyId), policyOf),
    policies: async (projectId, { status }, { after, limit }) => {
      const values = [after?.ms ?? endOfTime, after?.id ?? '', limit];
      const rows =
        status === undefined
          ? await rowsOf(queries, projectId, page, ...values)
          : await rowsOf(queries, projectId, pageOfStatus, ...values, status);
      return rows.map(policyOf);
    },
    policyVersion: async (projectId, policyId, version) =>
      firstOf(await rowsOf(queries, projectId, oneVersion, policyId, version), versionOf),
    policyVersions: async (projectId, policyId, { after = endOfTime, limit }) =>
      (await rowsOf(queries, projectId, versionPage, policyId, after, limit)).map(versionOf),
    policiesInForce: async (projectId) => {
      const project = await queries.numberOf(projectId);
      // one snapshot: the index is that of the policy change that put these policies in force
      const [{ rows }, newest] = await queries.readAtOnce({ project }, [
        step(active, project),
        step(newestChange, project),
      ]);
      return { policies: sorted(rows), policyIndex: newest.rows[0]?.idx ?? null };
    },
    policiesInReview: async (projectId) => sorted(await rowsOf(queries, projectId, inReview)),
    riskConfig: async (projectId) => {
      const project = await queries.numberOf(projectId);
      // one snapshot, for the same reason
      const [{ rows }, newest] = await queries.readAtOnce({ project }, [
        step(config, project),
        step(newestConfig, project),
      ]);
      return { config: rows[0]?.config ?? null, configIndex: newest.rows[0]?.idx ?? null };
    },
  };
}
