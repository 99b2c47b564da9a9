/**
 * Every statement that carries its tenant (`../tenantstatements.test.ts`) goes by a key or an index that leads with it:
 * its plan, made for any values by the role that serves, has no scan of a whole table. Needs PostgreSQL 16 for such
 * plans.
 */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { namedStatements } from '../../../src/store/postgres/wire.ts';
import { missing, server } from './described.ts';
import { fillTenants } from './filled.ts';

/** What belongs to no tenant: settings, work of all projects. */
const acrossTenants: readonly RegExp[] = [
  /^SELECT (?:set_config|pg_|nextval|version FROM version|move_head|text FROM installation)/,
  /^(?:BEGIN|COMMIT|ROLLBACK|DECLARE|FETCH|CLOSE)/,
  /^SELECT project AS no FROM project/,
  /^SELECT project, project_id.* WHERE project_id = \$1$/s,
  /^WITH due AS/,
  /WHERE p\.project_id < \$1 ORDER BY/, // the operator lists all
  /^SELECT p\.project_id(?:, h\.size)? FROM (?:grown g|project p) JOIN/,
  /^(?:UPDATE job SET request = NULL|DELETE FROM (?:idempotency|graph_part|session))/,
];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Total Cost': number;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

/** A project or organization, or what leads to one: a credential, a person, an id that was found there. */
const ofTenant = /\b(?:project|"?position"?|organization_id|project_id|digest|user_id)\b|issuer.*subject/;

/** A walk over the 200 rows of one tenant costs about 1,000, one over the 60,000 of all some 3,000 or more. */
const dear = 2000;

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];

describe.skipIf(missing !== null)('a statement', () => {
  const tenants = namedStatements().filter(({ text }) => !acrossTenants.some((each) => each.test(text)));

  it('goes by an index that leads with the tenant, whatever the values', async ({ skip }) => {
    const database = await server.database();
    const client = new Client({
      connectionString: database.serving,
      // as the connections of the engine, which make no other plans
      options: ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin']
        .map((name) => `-c enable_${name}=off`)
        .join(' '),
    });
    await client.connect();
    const { rows: versions } = await client.query<{ v: number }>(
      "SELECT current_setting('server_version_num')::int AS v",
    );
    const isOld = versions[0]!.v < 160_000;
    const found: string[] = [];
    if (!isOld) {
      const superuser = new Client({ connectionString: database.superuser });
      await superuser.connect();
      await fillTenants(superuser);
      await superuser.end();
      await client.query("SET search_path = gov; SET gov.project = '1'");
      for (const { text } of tenants.filter((each) => !each.text.startsWith('INSERT'))) {
        const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
          `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
        );
        const plan = rows[0]!['QUERY PLAN'][0]!.Plan;
        if (plan['Total Cost'] > (text.includes('count(*)') ? 10_000 : dear))
          found.push(`cost ${plan['Total Cost']}: ${text}`);
        for (const node of nodes(plan)) {
          if (node['Relation Name'] === undefined || /^(?:ModifyTable|LockRows)$/.test(node['Node Type']))
            continue;
          if (!ofTenant.test(node['Index Cond'] ?? ''))
            found.push(`${node['Node Type']} ${node['Relation Name']}: ${text}`);
        }
      }
    }
    await client.end();
    await database.drop();
    skip(isOld, 'PostgreSQL 16 makes generic plans');
    expect(found).toEqual([]);
  }, 60_000);
});
