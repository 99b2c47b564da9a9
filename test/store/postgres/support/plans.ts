/**
 * The plans that PostgreSQL makes for the engine's statements, for any values, as the role that serves: what of them
 * does not go by a key or an index that leads with the tenant. Needs PostgreSQL 16.
 */
import { Client } from 'pg';
import { startupOptions } from '../../../../src/store/postgres/connection/session.ts';
import { namedStatements } from '../../../../src/store/read/queries.ts';

/** What belongs to no tenant: settings, work of all projects. */
const acrossTenants: readonly RegExp[] = [
  /^SELECT (?:set_config|pg_|nextval|version FROM version|move_head|text FROM (?:installation|master_key))/,
  /^(?:BEGIN|COMMIT|ROLLBACK|DECLARE|FETCH|CLOSE)/,
  /^SELECT project AS no, audit_origin AS audit, metering_origin AS metering FROM project/,
  /^SELECT project, project_id.* WHERE project_id = \$1$/s,
  /WHERE p\.project_id < \$1 ORDER BY/, // the operator lists all
  /^SELECT p\.project_id(?:, h\.size)? FROM (?:grown g|project p) JOIN/,
  /^SELECT p\.project_id, e\.export_id(?:, e\.size_bytes)? FROM export_job e .* WHERE e\.removed = 0 AND/s,
  /^SELECT p\.project_id AS "projectId", r\.plane_id .* WHERE r\.attestation = 'pending' AND r\.challenge_expires_ms <=/s,
  /^SELECT d\.project, .* WHERE d\.kind = \$1 AND d\.key = \$2$/s, // a key finds its document
  /^SELECT p\.project_id AS "projectId", .* FROM project p CROSS JOIN document d/s,
  /^WITH RECURSIVE turn AS .* FROM document WHERE due_ms IS NOT NULL/s, // one step a project
  /^SELECT min\(due_ms\) AS due_ms FROM document/,
  /^UPDATE subject_key k SET secret = .* FROM erased_key e/s,
  /^(?:UPDATE job SET request = NULL|DELETE FROM (?:idempotency|graph_part|session|intake_fact))/,
];

/** Those that carry a tenant and are planned by more than their values. */
export const plannedStatements = (): readonly string[] =>
  namedStatements()
    .map(({ text }) => text)
    .filter((text) => !text.startsWith('INSERT') && !acrossTenants.some((each) => each.test(text)));

interface Plan {
  readonly 'Node Type': string;
  readonly 'Total Cost': number;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

/**
 * A project or organization, or what leads to one: a credential, a person, the name or key of a log, a challenge, an id
 * that was found there.
 */
const ofTenant =
  /\b(?:project|"?position"?|organization_id|project_id|\w*digest|user_id|\w*origin|verifier_key|challenge_id)\b|issuer.*subject/;

/** In a scope of project 1. Null where PostgreSQL makes no such plans. */
export async function strayed(serving: string, dear: number): Promise<string[] | null> {
  const client = new Client({ connectionString: serving, options: startupOptions });
  await client.connect();
  try {
    const { rows: versions } = await client.query<{ v: number }>(
      "SELECT current_setting('server_version_num')::int AS v",
    );
    if ((versions[0]?.v ?? 0) < 160_000) return null;
    await client.query("SET gov.project = '1'");
    const found: string[] = [];
    for (const text of plannedStatements()) {
      const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
      );
      const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
      if (plan === undefined) throw new Error(`no plan: ${text}`);
      const cost = plan['Total Cost'];
      if (cost > (text.includes('count(*)') ? 5 : 1) * dear) found.push(`cost ${cost}: ${text}`);
      for (const node of nodes(plan)) {
        const { 'Relation Name': relation, 'Node Type': type, 'Index Cond': condition = '' } = node;
        if (relation === undefined || type === 'ModifyTable' || type === 'LockRows') continue;
        if (!ofTenant.test(condition)) found.push(`${type} ${relation}: ${text}`);
      }
    }
    return found;
  } finally {
    await client.end();
  }
}
