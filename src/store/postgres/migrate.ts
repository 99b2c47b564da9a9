/**
 * Numbered migrations, run by hand (`gov service migrate`) under the role that owns the tables, never by a
 * process that serves. An advisory lock lets one run at a time; each migration is one transaction together with
 * its number, so a crash leaves the version before or the version after. Proven by `test/store/postgres/database.test.ts`.
 */
import { Client } from 'pg';
import { GovError } from '../../contract/problems.ts';
import { migrations, newestVersion } from './schema.ts';

export interface MigrateOptions {
  /** As the owner of the tables, who may make a schema in the database. */
  readonly url: string;
  /** The role that processes serve as: made where it is absent, without a password and without login. */
  readonly role: string;
}

export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** 'gov' */
const lockKey = 0x676f76;

/** Brings a database to the newest version. CONFLICT for one that a newer program wrote. */
export async function migrate({ url, role }: MigrateOptions): Promise<Migrated> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role)) {
    throw new GovError(
      'VALIDATION_ERROR',
      `expected a role name of lower-case letters, digits and _, got ${role}`,
    );
  }
  const client = new Client({ connectionString: url, application_name: 'gov migrate' });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lockKey]);
    const from = await versionOf(client);
    if (from > newestVersion) {
      throw new GovError(
        'CONFLICT',
        `expected database version ${newestVersion} or older, got ${from}; use a newer release of gov`,
      );
    }
    await makeRole(client, role);
    for (const { version, sql } of migrations(`"${role}"`)) {
      if (version > from) await step(client, { version, sql, role });
    }
    return { from, to: newestVersion };
  } finally {
    await client.end();
  }
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

async function makeRole(client: Client, role: string): Promise<void> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount === 0) await client.query(`CREATE ROLE "${role}" NOLOGIN NOSUPERUSER NOBYPASSRLS`);
}

async function step(
  client: Client,
  { version, sql, role }: { version: number; sql: string; role: string },
): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('CREATE SCHEMA IF NOT EXISTS gov');
    await client.query('SET LOCAL search_path = gov');
    await client.query(
      `CREATE TABLE IF NOT EXISTS version (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL)`,
    );
    await client.query(`GRANT SELECT ON version TO "${role}"`);
    await client.query(sql);
    await client.query(
      'INSERT INTO version (version) VALUES ($1) ON CONFLICT (one) DO UPDATE SET version = excluded.version',
      [version],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
