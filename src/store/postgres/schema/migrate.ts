/**
 * Numbered migrations, run by hand (`gov service migrate`) under the role that owns the tables, never by a
 * process that serves. An advisory lock lets one run at a time; each migration is one transaction together with
 * its number, so a crash leaves the version before or the version after. Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { Client } from 'pg';
import { GovError } from '../../../contract/problems.ts';
import { connected } from '../connection/session.ts';
import { stateOf } from '../connection/faults.ts';
import { migrations, newestVersion, type Migration } from './tables.ts';
import { grants } from './security.ts';

export interface MigrateOptions {
  /** As the owner of the tables, who may make a schema in the database. */
  readonly url: string;
  /** The role that processes serve as: made where it is absent, without a password and without login. */
  readonly role: string;
}

export interface Migrated {
  /** 0 where nothing was there. */
  readonly from: number;
  readonly to: number;
  readonly madeRole: boolean;
  /** Whether a process could sign in as the role. */
  readonly roleMayLogIn: boolean;
}

/** 'gov' */
const lockKey = 0x676f76;

/**
 * Brings a database to the newest version and grants the role what it needs. CONFLICT for a database that a newer
 * program wrote, STORAGE_FAULT where it cannot be reached, FORBIDDEN where the owner may not do it.
 */
export async function migrate({ url, role }: MigrateOptions): Promise<Migrated> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role)) {
    throw new GovError(
      'VALIDATION_ERROR',
      `expected a role name of lower-case letters, digits and _, got ${role}`,
    );
  }
  const client = new Client({ connectionString: url, application_name: 'gov migrate' });
  await connected(client);
  try {
    return await bring(client, role);
  } catch (error) {
    if (stateOf(error) !== '42501') throw error;
    throw notOwner(error instanceof Error ? error.message : String(error), error);
  } finally {
    await client.end();
  }
}

const notOwner = (why: string, cause?: unknown): GovError =>
  new GovError(
    'FORBIDDEN',
    'expected a role that owns the tables, or may make a schema in the database and, where it is absent, the role ' +
      `that serves, but: ${why}`,
    { cause },
  );

async function bring(client: Client, role: string): Promise<Migrated> {
  await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
  const from = await versionOf(client);
  if (from > newestVersion) {
    throw new GovError(
      'CONFLICT',
      `expected database version ${newestVersion} or older, got ${from}; use a newer release of gov`,
    );
  }
  if (from > 0) await assertOwner(client);
  const madeRole = await makeRole(client, role);
  for (const migration of migrations) if (migration.version > from) await step(client, migration);
  await together(client, `SET LOCAL search_path = gov; ${grants(`"${role}"`)}`);
  const { rows } = await client.query<{ login: boolean }>(
    'SELECT rolcanlogin AS login FROM pg_roles WHERE rolname = $1',
    [role],
  );
  return { from, to: newestVersion, madeRole, roleMayLogIn: rows[0]?.login ?? false };
}

/** 0 where nothing was made yet. */
async function versionOf(client: Client): Promise<number> {
  const { rows: found } = await client.query<{ at: string | null }>(
    "SELECT to_regclass('gov.version') AS at",
  );
  if (found[0]?.at === null) return 0;
  const { rows } = await client.query<{ version: number }>('SELECT version FROM gov.version');
  return rows[0]?.version ?? 0;
}

/** PostgreSQL itself only warns of a grant by another role. */
async function assertOwner(client: Client): Promise<void> {
  const { rows } = await client.query<{ role: string; owner: boolean }>(
    `SELECT current_user AS role, pg_has_role(nspowner, 'MEMBER') AS owner FROM pg_namespace WHERE nspname = 'gov'`,
  );
  if (rows[0]?.owner !== true) throw notOwner(`${rows[0]?.role} does not own the schema gov`);
}

/** False where it is there already. */
async function makeRole(client: Client, role: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount !== 0) return false;
  await client.query(`CREATE ROLE "${role}" NOLOGIN NOSUPERUSER NOBYPASSRLS`);
  return true;
}

const step = (client: Client, { version, sql }: Migration): Promise<void> =>
  together(
    client,
    `CREATE SCHEMA IF NOT EXISTS gov;
     SET LOCAL search_path = gov;
     CREATE TABLE IF NOT EXISTS version (
       one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL
     );
     ${sql};
     INSERT INTO version (version) VALUES (${version})
       ON CONFLICT (one) DO UPDATE SET version = excluded.version`,
  );

/** Statements in one transaction. */
async function together(client: Client, statements: string): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(statements);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
