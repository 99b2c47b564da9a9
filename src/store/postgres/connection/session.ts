/**
 * What a connection depends on: settings, set at its start *and read back*, and a role bound by row-level
 * security.
 * Source: PostgreSQL 18, chapters 19 (server configuration) and 5.9 (row security policies).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { Client } from 'pg';
import { GovError } from '../../../contract/problems.ts';

/** The settings that the client sends at the start of a connection and reads back. */
const settings: Readonly<Record<string, string>> = {
  synchronous_commit: 'on', // COMMIT returns after the log is on the disk, here and on a synchronous standby
  row_security: 'on',
  search_path: 'gov',
  default_transaction_isolation: 'read committed',
  idle_in_transaction_session_timeout: '30s',
  lock_timeout: '5s',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  jit: 'off',
  // Every statement uses a key or an index that leads with the tenant. Plans are made once, and statistics
  // that lag behind a bulk load cannot turn one into a scan.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** The settings as `options` of a connection. */
export const startupOptions = Object.entries(settings)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
  .join(' ');

/** Connects. STORAGE_FAULT with the reason on failure; no message of PostgreSQL shows a password. */
export async function connected(client: Client): Promise<void> {
  try {
    await client.connect();
  } catch (cause) {
    // an abandoned handshake would keep the process alive until the server ends it
    client.end().catch(() => {});
    const reason = reasonOf(cause);
    const detail = reason.includes('client password must be a string')
      ? `expected a password for ${client.user}, got none; give it in GOV_DATABASE, PGPASSWORD or ~/.pgpass`
      : `expected a connection, got: ${reason}`;
    throw new GovError('STORAGE_FAULT', `PostgreSQL: ${detail}`, { cause });
  }
}

/**
 * Connects once, so that a start reports the exact reason of a failure. Errors of the pool go to callers, who
 * see less.
 */
export async function tryConnection({ url, waitMs }: { url: string; waitMs: number }): Promise<void> {
  const client = new Client({
    connectionString: url,
    options: startupOptions,
    connectionTimeoutMillis: waitMs,
    application_name: 'gov',
  });
  client.on('error', () => {});
  await connected(client);
  await client.end();
}

/** For a name with several addresses, the reasons are inside an error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

interface SessionRow {
  readonly role: string;
  readonly free: boolean;
  readonly owner: boolean | null;
  readonly fsync: string;
}

/**
 * Reads back what a connection depends on. STORAGE_FAULT for a setting that differs; CONFLICT for the role.
 */
export async function verify(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string; unit: string | null }>(
    'SELECT name, current_setting(name) AS setting, unit FROM pg_settings WHERE name = ANY($1)',
    [Object.keys(settings)],
  );
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  for (const [name, value] of Object.entries(settings)) {
    if (found.get(name) === value) continue;
    refuse(`setting ${name} = ${value}`, String(found.get(name)), 'remove it from the options of the URL');
  }
  const { rows: roles } = await client.query<SessionRow>(
    `SELECT current_user AS role, current_setting('fsync') AS fsync, rolsuper OR rolbypassrls AS free,
       (SELECT pg_has_role(nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'gov') AS owner
     FROM pg_roles WHERE rolname = current_user`,
  );
  const served = roles[0];
  if (served?.fsync !== 'on') {
    refuse('fsync = on', String(served?.fsync), 'turn it on: without it a crash loses acknowledged writes');
  }
  if (served?.owner === null) refuse('tables of gov', 'none', 'run gov service migrate first');
  if (served?.free === true || served?.owner === true) {
    throw new GovError(
      'CONFLICT',
      `expected an ordinary role that row-level security binds, got ${served.role}, which is ` +
        `${served.free ? 'a superuser or bypasses it' : 'the owner of the tables'}; serve as the role that ` +
        'gov service migrate grants to',
    );
  }
}

function refuse(expected: string, got: string, advice: string): never {
  throw new GovError('STORAGE_FAULT', `PostgreSQL: expected ${expected}, got ${got}; ${advice}`);
}
