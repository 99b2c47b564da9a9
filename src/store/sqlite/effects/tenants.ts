/**
 * The rows of effects on tenants: on the current project and its organization. `src/store/rules/tenants.ts`
 * judges the effects.
 * Proven by `test/store/suite/tenancy/keys.ts`, `test/store/suite/tenancy/projects.ts` and
 * `test/store/suite/tenancy/tenants.ts`.
 */
import type { ApiKeyRow } from '../../port/store.ts';
import { quotasOf, type ProfileRow } from '../../rules/tenant-row.ts';
import type { TenantRows } from '../../rules/tenants.ts';
import { callerReader } from './caller.ts';
import type { Current } from './current.ts';
import { homeRows } from './homes.ts';
import type { Prepare } from '../../file/statement.ts';
import { telemetryRows } from './planes.ts';
import type { Writer } from '../../write/statement.ts';
import { keyWrites, organizationWrites, profileWrites } from '../../write/tenants.ts';

type TenantPart<Names extends keyof TenantRows> = Pick<TenantRows, Names>;

export function tenantRows(prepare: Prepare, current: Current, write: Writer<number>): TenantRows {
  const organizations = organizationWrites(write);
  return {
    caller: callerReader(prepare),
    ...keyRows(prepare, current, write),
    ...profileRows(prepare, current, write),
    ...organizations,
    ...homeRows(prepare, current, write),
    ...telemetryRows(prepare, current, write),
    endSession: (effect) => organizations.endSession(effect) === 1,
  };
}

function keyRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): TenantPart<'unrevokedKeys' | 'addApiKey' | 'apiKey' | 'changeApiKey' | 'revokeApiKey'> {
  const count = prepare<{ n: number }>(
    'count api keys',
    'SELECT count(*) AS n FROM api_key WHERE project = ? AND revoked_ms IS NULL',
  );
  const find = prepare<Pick<ApiKeyRow, 'revokedMs' | 'updatedMs'>>(
    'find api key',
    'SELECT revoked_ms AS revokedMs, updated_ms AS updatedMs FROM api_key WHERE project = ? AND key_id = ?',
  );
  return {
    ...keyWrites(write),
    unrevokedKeys: () => count.get(current.project)?.n ?? 0,
    apiKey: (keyId) => find.get(current.project, keyId) ?? null,
  };
}

function profileRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): TenantPart<'profile' | 'isNameTaken' | 'saveProfile'> {
  const find = prepare<Pick<ProfileRow, 'name' | 'settings' | 'quotas' | 'deleted_ms'>>(
    'find project profile',
    'SELECT name, settings, quotas, deleted_ms FROM project_profile WHERE project = ?',
  );
  const namesake = prepare(
    'find namesake',
    `SELECT 1 FROM project_profile own JOIN project_profile other
       ON other.organization_id = own.organization_id AND other.environment = own.environment
         AND other.name_key = ? AND other.deleted_ms IS NULL AND other.project <> own.project
     WHERE own.project = ?`,
  );
  return {
    ...profileWrites(write),
    profile: () => {
      const row = find.get(current.project);
      if (row === undefined) return null;
      const { name, settings, quotas, deleted_ms: deletedMs } = row;
      return { name, settings, quotas: quotasOf(quotas), deletedMs };
    },
    isNameTaken: (key) => namesake.get(key, current.project) !== undefined,
  };
}
