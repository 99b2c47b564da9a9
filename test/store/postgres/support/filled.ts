/** Rows of many tenants, straight into the tables: enough that a plan for one of them shows what it costs. */
import type { Client } from 'pg';

const tenants = 300;

/** 200 rows a table and tenant, a run of 100 events each; an organization for each 10 projects. Cost: 5 s. */
export async function fillTenants(client: Client): Promise<void> {
  const each = `FROM generate_series(1, ${tenants}) AS p, generate_series(0, 199) AS i`;
  const at = '(p::int8 << 36) + i';
  const text = "repeat('x', 300)";
  const projects = `FROM generate_series(1, ${tenants}) AS p`;
  const rows: Record<string, string> = {
    organization: `SELECT DISTINCT 'org' || p / 10, 'n', NULL, 'prj_' || p / 10, 'prj_' || p / 10, 0 ${projects}`,
    person: `SELECT 'usr' || p || ' ' || i, 'org' || p / 10, 'issuer', p || ' ' || i, NULL, 'n', 0 ${each} WHERE i < 20`,
    session: `SELECT sha256((p || ' ' || i)::bytea), 'cli', 'usr' || p || ' ' || i, 'org' || p / 10, 0, 0, i, NULL ${each}
      WHERE i < 20`,
    project: `SELECT p, 'prj_' || p, 'org' || p / 10, 'production', 'a' || p, 'm' || p ${projects}`,
    project_profile: `SELECT p, 'org' || p / 10, 'production', 'n', 'n' || p, '{}', '{}', p, p, NULL ${projects}`,
    period: `SELECT p, 'm' || i, '{}' ${each} WHERE i < 12`,
    grown: `SELECT p ${projects}`,
    head: `SELECT p, t, 200, decode(repeat('00', 32), 'hex'), 0 ${projects}, (VALUES (0), (1)) AS v(t)`,
    leaf: `SELECT ${at}, ${text} ${each}`,
    body: `SELECT ${at}, ${text} ${each}`,
    meter: `SELECT ${at}, i, 1, '', ${text} ${each}`,
    tile: `SELECT p, i % 2, 0, i / 16, i / 2 % 8, decode(repeat('00', 1024), 'hex') ${each}`,
    checkpoint: `SELECT p, i % 2, i, '', ${text} ${each}`,
    event_type: `SELECT p, i, 'type.' || i ${each} WHERE i < 20`,
    run: `SELECT p, i, 'run' || i, 2, i, i, i, i, i, NULL ${each}`,
    run_event: `SELECT p, 1 + i % 19, i / 100, i % 100, i, i ${each}`,
    run_block: `SELECT p, i % 5, i / 50, i, i, i, i ${each}`,
    run_type: `SELECT p, i, i % 20, 2 ${each}`,
    client_event: `SELECT p, 'c' || i, i, 'f' ${each}`,
    intake_fact: `SELECT p, 't:' || i, 'run' || i / 4, i % 100 ${each}`,
    document: `SELECT p, 'k' || i % 5, 'd' || i, p || 'k' || i, 'd' || i / 9, 's', i, i, 1, '{}' ${each}`,
    idempotency: `SELECT p, 'k' || i, 'f', i, 201, '{}', ${text} ${each}`,
    proof: `SELECT p, 'prf' || i, 'run' || i / 2, i, 'x', 'x', '[]', 1, NULL, i ${each}`,
    graph: `SELECT p, 'grp' || i, 'run' || i / 2, i, 1, NULL, 'x', '{}' ${each}`,
    graph_part: `SELECT p, 'grp' || i / 2, 'nodes', i % 2, '', i ${each}`,
    run_graph: `SELECT p, 'run' || i, NULL, NULL, NULL, NULL ${each}`,
    job: `SELECT p, 'job' || i, 'proof', 'run' || i, ${text}, i, 'completed', 1, 0, i, NULL, i, i, 'x', 'rpl' || i ${each}`,
    decided: `SELECT p, 1 + i % 7, i, 'run' || i / 4, 'id' || i ${each}`,
    run_snapshot: `SELECT p, 'run' || i ${each}`,
    policy: `SELECT p, 'pol' || i, 'n', NULL, 'active', 1, NULL, 1, 1, i, 'k', i ${each}`,
    policy_version: `SELECT p, 'pol' || i, 1, '{}', '{}', 'deny', NULL, 'h', i, 'k', 1, 0 ${each}`,
    approval: `SELECT p, 'apr' || i, 'pev' || i, 'run' || i / 2, 'r', i, 'k', i, NULL, NULL, NULL, NULL, NULL, NULL, NULL ${each}`,
    api_key: `SELECT p, 'key' || i, decode(md5(p || ' ' || i), 'hex'), '', '', '', NULL, '[]', i, 'k', i, NULL, NULL,
      NULL, NULL ${each}`,
  };
  const digest = (name: string): string => `sha256((p || '${name}' || i)::bytea)`;
  Object.assign(rows, {
    telemetry_plane: `SELECT p, 'dpl' || i, 'n', i, 'k', ${digest('t')}, i, NULL, i, 'o' || p || ' ' || i, 'a' || p || ' ' || i,
      p || ' ' || i, 'k', '[]', '', '',
      ${digest('k')}, 's', ${digest('p')}, 's', i, NULL, 1 ${each}`,
    telemetry_report: `SELECT p, 'dpl' || i / 50, i / 25 % 2, 1 + i % 25, 'urp' || i, ${digest('r')}, i, '2026-01', i, '{}',
      'linked', '', 'pending', p || ' ' || i, '{}', i, NULL, NULL, NULL, NULL, ${text} ${each}`,
    telemetry_epoch: `SELECT p, 'dpl' || i / 2, i % 2, 1, 2, 1, 1 ${each}`,
    telemetry_month: `SELECT p, 'dpl' || i / 4, i / 2 % 2, 'm' || i % 2, i, i, i, i ${each}`,
    telemetry_usage: `SELECT p, 'm' || i, i, i, i, i ${each} WHERE i < 12`,
  });
  await client.query('SET search_path = gov');
  for (const [table, select] of Object.entries(rows)) await client.query(`INSERT INTO ${table} ${select}`);
  await client.query('ANALYZE');
}
