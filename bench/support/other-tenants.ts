/**
 * Rows of many tenants, inserted directly into the tables of either engine: each project has a log of one leaf,
 * a run, a key, stored responses and a job. Queries only skip these rows, so their hashes are not valid.
 */

/** SQL that differs between the engines. */
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
  /** Numbers of their projects, and of rows that are numbered over all projects, begin after it. */
  readonly after: number;
}

/** The columns of one row of a table, for row `i`. `from`: additional sources of rows. */
interface Made {
  readonly columns: string;
  readonly values: string;
  readonly from?: string;
}

/** Statements in order, by table. */
export function otherTenants(dialect: Dialect, others: OtherTenants): { table: string; statement: string }[] {
  const each = dialect.series(others.organizations * others.projectsEach);
  const all = { ...people(dialect, others), ...projects(dialect, others), ...logs(dialect, others, each) };
  return Object.entries({ ...all, ...runs(others) }).map(([table, { columns, values, from = each }]) => ({
    table,
    statement: `INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`,
  }));
}

const text = '\'{"text":"0123456789012345678901234567890123456789012345678901234567890123456789"}\'';
const numberOf = ({ after }: OtherTenants): string => `(${after} + i)`;

function people({ series, bytes }: Dialect, { organizations }: OtherTenants): Record<string, Made> {
  const from = series(organizations);
  return {
    organization: {
      columns: 'organization_id, name, customer_id, home_production, home_sandbox, created_ms',
      values: `'org_o' || (i - 1), 'name', NULL, 'prj_o' || i, 'prj_o' || i, i`,
      from,
    },
    person: {
      columns: 'user_id, organization_id, issuer, subject, email, name, created_ms',
      values: `'usr_o' || i, 'org_o' || (i - 1), 'https://issuer.test', 'o' || i, NULL, 'name', i`,
      from,
    },
    session: {
      columns: 'digest, kind, user_id, organization_id, created_ms, last_used_ms, expires_ms, ended_ms',
      values: `${bytes("'session' || i")}, 'browser', 'usr_o' || i, 'org_o' || (i - 1), 0, 0, 9000000000000000, NULL`,
      from,
    },
  };
}

function projects({ bytes }: Dialect, others: OtherTenants): Record<string, Made> {
  const no = numberOf(others);
  const organization = `'org_o' || ((i - 1) / ${others.projectsEach})`;
  return {
    project: {
      columns: 'project, project_id, organization_id, environment, audit_origin, metering_origin',
      values: `${no}, 'prj_o' || i, ${organization}, 'production', 'o/' || i || '/audit', 'o/' || i || '/metering/0'`,
    },
    project_profile: {
      columns:
        'project, organization_id, environment, name, name_key, settings, quotas, created_ms, updated_ms, deleted_ms',
      values: `${no}, ${organization}, 'production', 'p' || i, 'p' || i, '{}', '{}', i, i, NULL`,
    },
    api_key: {
      columns: 'project, key_id, digest, prefix, last4, name, scopes, created_ms, created_by, updated_ms',
      values: `${no}, 'key_o' || i, ${bytes("'key' || i")}, 'gov_live_abcd', 'wxyz', 'name', '["*"]', i, 'operator', i`,
    },
    period: { columns: 'project, month, base', values: `${no}, '2026-01', '{}'` },
  };
}

function logs({ bytes, position }: Dialect, others: OtherTenants, each: string): Record<string, Made> {
  const no = numberOf(others);
  const from = `${each}, (SELECT 0 AS t UNION ALL SELECT 1) AS trees`;
  const root = bytes("'root'");
  return {
    head: { columns: 'project, tree, size, root, last_ms', values: `${no}, t, 1, ${root}, 0`, from },
    leaf: { columns: 'position, record', values: `${position(no)}, ${text}` },
    body: { columns: 'position, disclosures', values: `${position(no)}, ${text}` },
    meter: {
      columns: 'position, first_index, leaf_count, nonce, record',
      values: `${position(no)}, 0, 1, ${bytes("'n'")}, ${text}`,
    },
    tile: { columns: 'project, tree, level, n, part, hashes', values: `${no}, t, 0, 0, 0, ${root}`, from },
    checkpoint: { columns: 'project, tree, size, root, note', values: `${no}, t, 1, ${root}, ${text}`, from },
  };
}

function runs(others: OtherTenants): Record<string, Made> {
  const no = numberOf(others);
  const far = '9000000000000000';
  return {
    event_type: { columns: 'project, type_no, name', values: `${no}, ${no}, 'tool.call'` },
    run: {
      columns:
        'run_no, project, run_id, events, first_index, last_index, first_ms, last_ms, last_server_ms, ai_system_id',
      values: `${no}, ${no}, 'run-0', 1, 0, 0, i, i, i, NULL`,
    },
    run_event: {
      columns: 'project, run_no, run_seq, idx, type_no, at_ms',
      values: `${no}, ${no}, 0, 0, ${no}, i`,
    },
    run_type: { columns: 'project, run_no, type_no, events', values: `${no}, ${no}, ${no}, 1` },
    type_total: { columns: 'project, type_no, events', values: `${no}, ${no}, 1` },
    client_event: { columns: 'project, client_event_id, idx, fingerprint', values: `${no}, 'c0', 0, 'f'` },
    idempotency: {
      columns: 'project, key, fingerprint, at_ms, status, headers, body',
      values: `${no}, 'k0', 'f', ${far}, 201, '{}', ${text}`,
    },
    job: {
      columns: `project, job_id, type, run_id, request, created_ms, status, attempt, attempts_before, due_ms,
        completed_ms, result`,
      values: `${no}, 'job_0', 'proof', 'run-0', ${text}, i, 'completed', 1, 0, i, ${far}, ${text}`,
    },
    decided: { columns: 'project, type, idx, run_id, id', values: `${no}, 1, 0, 'run-0', 'pev_0'` },
  };
}

export const postgresDialect: Dialect = {
  series: (count) => `generate_series(1, ${count}::int8) AS i`,
  bytes: (text) => `sha256((${text})::bytea)`,
  position: (project) => `(${project}::int8 << 36)`,
};

/** Digests are distinct and as long as real ones. */
export const sqliteDialect = (positionBits: number): Dialect => ({
  series: (count) =>
    `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${count}) SELECT i FROM s) AS series`,
  bytes: (text) => `CAST(substr(${text} || '................................', 1, 32) AS BLOB)`,
  position: (project) => `(${project} << ${positionBits})`,
});
