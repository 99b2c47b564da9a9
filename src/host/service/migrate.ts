/**
 * `gov service migrate`: creates or updates the tables and roles of a database, as the role that owns them. A
 * second run changes nothing. Proven by `test/host/service/migrate.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { migrate, type MigrationResult } from '../../store/postgres/store.ts';
import type { Variables } from '../config/layers.ts';
import { databaseOf } from '../config/secrets.ts';

export interface ServiceMigrateOptions {
  /** See `--database`, with the owner's role. Absent: GOV_DATABASE. */
  readonly database?: string | undefined;
  /** The role of serving processes. */
  readonly role?: string | undefined;
  readonly env?: Variables;
}

export interface ServiceMigrationResult extends MigrationResult {
  readonly role: string;
}

const servingRole = 'gov_serving';

/** Migrates as `migrate` does. VALIDATION_ERROR where no database is named. */
export async function serviceMigrate({
  database,
  role = servingRole,
  env = process.env,
}: ServiceMigrateOptions): Promise<ServiceMigrationResult> {
  const url = databaseOf(database, env, { value: null, from: '--database' });
  if (url === null) {
    throw new GovError(
      'VALIDATION_ERROR',
      'expected the URL of a PostgreSQL database, as its owner, in --database or GOV_DATABASE; ' +
        'SQLite is migrated when the service starts',
    );
  }
  return { role, ...(await migrate({ url, role })) };
}
