/**
 * `gov service migrate`: tables and roles of a database, made or brought to this release by the role that owns them.
 * Again without effect. Proven by `test/host/service/migrate.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { migrate, type Migrated } from '../../store/postgres/store.ts';
import type { Variables } from '../process/layers.ts';
import { databaseOf } from '../data/config-secrets.ts';

export interface ServiceMigrateOptions {
  /** As `--database`, with the owner's role; GOV_DATABASE otherwise. */
  readonly database?: string | undefined;
  /** The role that processes serve as. */
  readonly role?: string | undefined;
  readonly env?: Variables;
}

export interface ServiceMigrated extends Migrated {
  readonly role: string;
}

const servingRole = 'gov_serving';

/** As `migrate`; VALIDATION_ERROR where no database is named. */
export async function serviceMigrate({
  database,
  role = servingRole,
  env = process.env,
}: ServiceMigrateOptions): Promise<ServiceMigrated> {
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
