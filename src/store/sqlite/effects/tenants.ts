/**
 * The rows of effects on tenants: on the current project and its organization. `src/store/rules/tenants.ts`
 * judges the effects.
 * Proven by `test/store/suite/tenancy/keys.ts`, `test/store/suite/tenancy/projects.ts` and
 * `test/store/suite/tenancy/tenants.ts`.
 */
import type { ApiKeyRow } from '../../port/store.ts';
import { keyColumns, keyValues, quotasOf, sessionColumns, type ProfileRow } from '../../rules/tenant-row.ts';
import { nameKey, type TenantRows } from '../../rules/tenants.ts';
import { callerReader } from './caller.ts';
import type { Current } from './current.ts';
import { homeRows } from './homes.ts';
import { insertInto, type Prepare } from '../../file/statement.ts';
import { telemetryRows } from './planes.ts';

/** Inserts a new key. */
export function keyInsert(prepare: Prepare): (project: number, key: ApiKeyRow) => void {
  const insert = insertInto(prepare, 'api_key', ['project', ...keyColumns]);
  return (project, key) => {
    insert.run(project, ...keyValues(key));
  };
}

type Of<Names extends keyof TenantRows> = Pick<TenantRows, Names>;

export const tenantRows = (prepare: Prepare, current: Current): TenantRows => ({
  caller: callerReader(prepare),
  ...keyRows(prepare, current),
  ...profileRows(prepare, current),
  ...homeRows(prepare, current),
  ...organizationRows(prepare),
  ...telemetryRows(prepare, current),
});

function keyRows(
  prepare: Prepare,
  current: Current,
): Of<'unrevokedKeys' | 'addApiKey' | 'apiKey' | 'changeApiKey' | 'revokeApiKey'> {
  const add = keyInsert(prepare);
  const count = prepare<{ n: number }>(
    'count api keys',
    'SELECT count(*) AS n FROM api_key WHERE project = ? AND revoked_ms IS NULL',
  );
  const find = prepare<Pick<ApiKeyRow, 'revokedMs' | 'updatedMs'>>(
    'find api key',
    'SELECT revoked_ms AS revokedMs, updated_ms AS updatedMs FROM api_key WHERE project = ? AND key_id = ?',
  );
  const change = prepare(
    'change api key',
    `UPDATE api_key SET name = ?, description = ?, scopes = ?, expires_ms = ?, updated_ms = ?
     WHERE project = ? AND key_id = ?`,
  );
  const revoke = prepare(
    'revoke api key',
    'UPDATE api_key SET revoked_ms = ?, updated_ms = ? WHERE project = ? AND key_id = ?',
  );
  return {
    unrevokedKeys: () => count.get(current.project)?.n ?? 0,
    addApiKey: (key) => add(current.project, key),
    apiKey: (keyId) => find.get(current.project, keyId) ?? null,
    changeApiKey: ({ keyId, name, description, scopes, expiresMs, atMs }) => {
      const values = [name, description, JSON.stringify(scopes), expiresMs, atMs];
      change.run(...values, current.project, keyId);
    },
    revokeApiKey: ({ keyId, revokedMs, atMs }) => {
      revoke.run(revokedMs, atMs, current.project, keyId);
    },
  };
}

function profileRows(prepare: Prepare, current: Current): Of<'profile' | 'isNameTaken' | 'saveProfile'> {
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
  const save = prepare(
    'save project profile',
    `UPDATE project_profile SET name = ?, name_key = ?, settings = ?, quotas = ?, deleted_ms = ?, updated_ms = ?
     WHERE project = ?`,
  );
  return {
    profile: () => {
      const row = find.get(current.project);
      if (row === undefined) return null;
      const { name, settings, quotas, deleted_ms: deletedMs } = row;
      return { name, settings, quotas: quotasOf(quotas), deletedMs };
    },
    isNameTaken: (key) => namesake.get(key, current.project) !== undefined,
    saveProfile: ({ name, settings, quotas, deletedMs }, updatedMs) => {
      const texts = [name, nameKey(name), settings, JSON.stringify(quotas)];
      save.run(...texts, deletedMs, updatedMs, current.project);
    },
  };
}

function organizationRows(prepare: Prepare): Of<'openSession' | 'endSession' | 'setCustomer'> {
  const open = insertInto(prepare, 'session', sessionColumns);
  const end = prepare('end session', 'UPDATE session SET ended_ms = ? WHERE digest = ? AND ended_ms IS NULL');
  const customer = prepare(
    'set customer',
    'UPDATE organization SET customer_id = ? WHERE organization_id = ?',
  );
  return {
    openSession: ({ digest, kind, userId, organizationId, createdMs, lastUsedMs, expiresMs, endedMs }) => {
      open.run(digest, kind, userId, organizationId, createdMs, lastUsedMs, expiresMs, endedMs);
    },
    endSession: ({ digest, atMs }) => end.run(atMs, digest).changes === 1,
    setCustomer: ({ organizationId, customerId }) => {
      customer.run(customerId, organizationId);
    },
  };
}
