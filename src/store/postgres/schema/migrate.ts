/**
 * Numbered migrations. An operator runs them (`gov service migrate`) as the role that owns the tables. A
 * serving process never runs them. An advisory lock lets one run at a time. Each migration is one transaction
 * with its number, so a crash leaves the version before or the version after.
 * Source: PostgreSQL 18, chapters 13.3.5 (advisory locks) and 5.8 (privileges).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { Client } from 'pg';
import { GovError } from '../../../contract/problems.ts';
import { connected } from '../connection/session.ts';
import { stateOf } from '../connection/faults.ts';
import { migrations, newestVersion, type Migration } from './tables.ts';
import { grants } from './security.ts';

export interface MigrateOptions {
  /** A URL for the owner of the tables, who may create a schema in the database. */
  readonly url: string;
  /** The serving role. A missing role is created, without a password and without login. */
  readonly role: string;
}

export interface MigrationResult {
  /** 0 for an empty database. */
  readonly from: number;
  readonly to: number;
  readonly madeRole: boolean;
  /** Whether a process can sign in as the role. */
  readonly roleMayLogIn: boolean;
}

/** 'gov' */
const lockKey = 0x676f76;

/**
 * Brings a database to the newest version and grants the serving role its rights. CONFLICT for a database of
 * a newer release, STORAGE_FAULT if it is unreachable, FORBIDDEN if the owner lacks a right.
 */
export async function migrate({ url, role }: MigrateOptions): Promise<MigrationResult> {
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
    'expected a role that owns the tables, or that may create a schema in the database and a missing serving role, ' +
      `got: ${why}`,
    { cause },
  );

async function bring(client: Client, role: string): Promise<MigrationResult> {
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

/** Returns 0 for an empty database. */
async function versionOf(client: Client): Promise<number> {
  const { rows: found } = await client.query<{ at: string | null }>(
    "SELECT to_regclass('gov.version') AS at",
  );
  if (found[0]?.at === null) return 0;
  const { rows } = await client.query<{ version: number }>('SELECT version FROM gov.version');
  return rows[0]?.version ?? 0;
}

/** PostgreSQL only warns about a grant by another role; this check refuses it. */
async function assertOwner(client: Client): Promise<void> {
  const { rows } = await client.query<{ role: string; owner: boolean }>(
    `SELECT current_user AS role, pg_has_role(nspowner, 'MEMBER') AS owner FROM pg_namespace WHERE nspname = 'gov'`,
  );
  if (rows[0]?.owner !== true) throw notOwner(`${rows[0]?.role} does not own the schema gov`);
}

/** Returns false if the role exists. */
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

/** Runs statements in one transaction. */
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
