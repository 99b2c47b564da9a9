/**
 * Rows of many tenants, straight into the tables of either engine: each project with a log of one leaf, a run, a key,
 * kept answers, a job. They are there to be walked past, so their hashes are none.
 */

/** How an engine writes what the two write differently. */
export interface Dialect {
  /** Rows `i` from 1 to `count`. */
  readonly series: (count: number) => string;
  readonly bytes: (text: string) => string;
  readonly position: (project: string) => string;
}

export interface OtherTenants {
  /** `org_o<n>`, numbered from 0. */
  readonly organizations: number;
  readonly projectsEach: number;
  /** Numbers of their projects, and of what is numbered over all projects, begin after it. */
  readonly after: number;
}

/** Statements in order, by table. */
export function otherTenants(dialect: Dialect, { organizations, projectsEach, after }: OtherTenants) {
  const { series, bytes, position } = dialect;
  const no = `(${after} + i)`;
  const organization = `'org_o' || ((i - 1) / ${projectsEach})`;
  const each = series(organizations * projectsEach);
  const text = '\'{"text":"0123456789012345678901234567890123456789012345678901234567890123456789"}\'';
  const rows: Readonly<Record<string, readonly [columns: string, values: string, from?: string]>> = {
    organization: [
      'organization_id, name, customer_id, home_production, home_sandbox, created_ms',
      `'org_o' || (i - 1), 'name', NULL, 'prj_o' || i, 'prj_o' || i, i`,
      series(organizations),
    ],
    person: [
      'user_id, organization_id, issuer, subject, email, name, created_ms',
      `'usr_o' || i, 'org_o' || (i - 1), 'https://issuer.test', 'o' || i, NULL, 'name', i`,
      series(organizations),
    ],
    session: [
      'digest, kind, user_id, organization_id, created_ms, last_used_ms, expires_ms, ended_ms',
      `${bytes("'session' || i")}, 'browser', 'usr_o' || i, 'org_o' || (i - 1), 0, 0, 9000000000000000, NULL`,
      series(organizations),
    ],
    project: [
      'project, project_id, organization_id, environment, audit_origin, metering_origin',
      `${no}, 'prj_o' || i, ${organization}, 'production', 'o/' || i || '/audit', 'o/' || i || '/metering/0'`,
    ],
    project_profile: [
      'project, organization_id, environment, name, name_key, settings, quotas, created_ms, updated_ms, deleted_ms',
      `${no}, ${organization}, 'production', 'p' || i, 'p' || i, '{}', '{}', i, i, NULL`,
    ],
    api_key: [
      'project, key_id, digest, prefix, last4, name, scopes, created_ms, created_by, updated_ms',
      `${no}, 'key_o' || i, ${bytes("'key' || i")}, 'gov_live_abcd', 'wxyz', 'name', '["*"]', i, 'operator', i`,
    ],
    head: [
      'project, tree, size, root, last_ms',
      `${no}, t, 1, ${bytes("'root'")}, 0`,
      `${each}, (SELECT 0 AS t UNION ALL SELECT 1) AS trees`,
    ],
    leaf: ['position, record', `${position(no)}, ${text}`],
    body: ['position, disclosures', `${position(no)}, ${text}`],
    meter: [
      'position, first_index, leaf_count, nonce, record',
      `${position(no)}, 0, 1, ${bytes("'n'")}, ${text}`,
    ],
    tile: [
      'project, tree, level, n, part, hashes',
      `${no}, t, 0, 0, 0, ${bytes("'root'")}`,
      `${each}, (SELECT 0 AS t UNION ALL SELECT 1) AS trees`,
    ],
    checkpoint: [
      'project, tree, size, root, note',
      `${no}, t, 1, ${bytes("'root'")}, ${text}`,
      `${each}, (SELECT 0 AS t UNION ALL SELECT 1) AS trees`,
    ],
    event_type: ['project, type_no, name', `${no}, ${no}, 'tool.call'`],
    run: [
      'run_no, project, run_id, events, first_index, last_index, first_ms, last_ms, last_server_ms, ai_system_id',
      `${no}, ${no}, 'run-0', 1, 0, 0, i, i, i, NULL`,
    ],
    run_event: ['project, run_no, run_seq, idx, type_no, at_ms', `${no}, ${no}, 0, 0, ${no}, i`],
    run_type: ['project, run_no, type_no, events', `${no}, ${no}, ${no}, 1`],
    type_total: ['project, type_no, events', `${no}, ${no}, 1`],
    client_event: ['project, client_event_id, idx, fingerprint', `${no}, 'c0', 0, 'f'`],
    idempotency: [
      'project, key, fingerprint, at_ms, status, headers, body',
      `${no}, 'k0', 'f', 9000000000000000, 201, '{}', ${text}`,
    ],
    job: [
      'project, job_id, type, run_id, request, created_ms, status, attempt, attempts_before, due_ms, completed_ms, result',
      `${no}, 'job_0', 'proof', 'run-0', ${text}, i, 'completed', 1, 0, i, 9000000000000000, ${text}`,
    ],
    decided: ['project, type, idx, run_id, id', `${no}, 1, 0, 'run-0', 'pev_0'`],
    period: ['project, month, base', `${no}, '2026-01', '{}'`],
  };
  return Object.entries(rows).map(([table, [columns, values, from = each]]) => ({
    table,
    statement: `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`,
  }));
}

export const postgresDialect: Dialect = {
  series: (count) => `generate_series(1, ${count}::int8) AS i`,
  bytes: (text) => `sha256((${text})::bytea)`,
  position: (project) => `(${project}::int8 << 36)`,
};

/** Digests are told apart, and as long as real ones. */
export const sqliteDialect = (positionBits: number): Dialect => ({
  series: (count) =>
    `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count}) SELECT i FROM s) AS series`,
  bytes: (text) => `CAST(substr(${text} || '................................', 1, 32) AS BLOB)`,
  position: (project) => `(${project} << ${positionBits})`,
});
