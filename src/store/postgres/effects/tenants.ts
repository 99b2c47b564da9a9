/**
 * The rows that effects on tenants read and write; `src/store/rules/tenants.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/keys.ts` and `test/store/suite/tenancy/projects.ts`.
 */
import type { Homes } from '../../rules/homes.ts';
import type { ApiKeyRow, StoredSession } from '../../port/store.ts';
import { keyColumns, keyValues, sessionColumns } from '../../rules/tenant-row.ts';
import { nameKey, type TenantRows } from '../../rules/tenants.ts';
import { callerName, changeCallerKeys, endCallerSession } from './caller.ts';
import type { Writing } from './writing.ts';
import { telemetryRows } from './planes.ts';
import { kept, keptOrNull } from './texts.ts';
import { sql, step, type Sql, type Step } from '../../read/queries.ts';

/** Returns a statement that inserts one row. */
export const insertInto = (table: string, columns: readonly string[]): Sql =>
  sql(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
  );

const insertKey = insertInto('api_key', ['project', ...keyColumns]);
const changeable = keyColumns.filter((column) => column !== 'key_id' && column !== 'created_ms');
const replaceKey = sql(
  `${insertKey.text} ON CONFLICT (project, key_id) DO UPDATE SET
   ${changeable.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);

const keyStep = (statement: Sql, project: number, key: ApiKeyRow): Step => {
  const texts = { name: kept(key.name), description: keptOrNull(key.description) };
  return step(statement, project, ...keyValues({ ...key, ...texts, digest: Buffer.from(key.digest) }));
};
export const addKey = (project: number, key: ApiKeyRow): Step => keyStep(insertKey, project, key);
/** Inserts the key, or replaces the one with this id. */
export const putKey = (project: number, key: ApiKeyRow): Step => keyStep(replaceKey, project, key);

type Of<Names extends keyof TenantRows> = Pick<TenantRows, Names>;

export const tenantRows = (writing: Writing): TenantRows => ({
  caller: (credential) => writing.facts.callers.get(callerName(credential))?.state ?? null,
  ...keyRows(writing),
  ...profileRows(writing),
  ...homeRows(writing),
  ...organizationRows(writing),
  ...telemetryRows(writing),
});

const changeKey = sql(
  `UPDATE api_key SET name = $3, description = $4, scopes = $5, expires_ms = $6, updated_ms = $7
   WHERE project = $1 AND key_id = $2`,
);
const revokeKey = sql(
  'UPDATE api_key SET revoked_ms = $3, updated_ms = $4 WHERE project = $1 AND key_id = $2',
);

function keyRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'unrevokedKeys' | 'addApiKey' | 'apiKey' | 'changeApiKey' | 'revokeApiKey'> {
  const changing = { callers: facts.callers, undo };
  const count = (more: number): void => {
    facts.unrevoked += more;
    undo.add(() => (facts.unrevoked -= more));
  };
  return {
    unrevokedKeys: () => facts.unrevoked,
    addApiKey: (key) => {
      const { keyId, revokedMs, updatedMs } = key;
      if (revokedMs === null) count(1);
      undo.set(facts.keys, keyId, { revokedMs, updatedMs });
      write(addKey(project, key));
    },
    apiKey: (keyId) => facts.keys.get(keyId) ?? null,
    changeApiKey: ({ keyId, name, description, scopes, expiresMs, atMs }) => {
      const texts = [kept(name), keptOrNull(description), JSON.stringify(scopes)];
      changeCallerKeys(changing, keyId, { scopes, expiresMs, updatedMs: atMs });
      write(step(changeKey, project, keyId, ...texts, expiresMs, atMs));
    },
    revokeApiKey: ({ keyId, revokedMs, atMs }) => {
      if (facts.keys.get(keyId)?.revokedMs === null) count(-1);
      undo.set(facts.keys, keyId, { revokedMs, updatedMs: atMs });
      changeCallerKeys(changing, keyId, { revokedMs, updatedMs: atMs });
      write(step(revokeKey, project, keyId, revokedMs, atMs));
    },
  };
}

const saveProfile = sql(
  `UPDATE project_profile SET name = $2, name_key = $3, settings = $4, quotas = $5, deleted_ms = $6, updated_ms = $7
   WHERE project = $1`,
);

const profileRows = ({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'profile' | 'isNameTaken' | 'saveProfile'> => ({
  profile: () => facts.profile,
  isNameTaken: (key) => facts.names.has(key),
  saveProfile: (profile, updatedMs) => {
    const before = facts.profile;
    facts.profile = profile;
    undo.add(() => (facts.profile = before));
    const { name, settings, quotas, deletedMs } = profile;
    changeCallerKeys({ callers: facts.callers, undo }, null, { deletedMs });
    const texts = [kept(name), nameKey(name), settings, JSON.stringify(quotas)];
    write(step(saveProfile, project, ...texts, deletedMs, updatedMs));
  },
});

const saveHomes = sql(
  'UPDATE organization SET home_production = $2, home_sandbox = $3 WHERE organization_id = $1',
);

export const homesStep = (organizationId: string, { production, sandbox }: Homes): Step =>
  step(saveHomes, organizationId, production, sandbox);

const homeRows = ({ facts, undo, write }: Writing): Of<'membership' | 'living' | 'saveHomes'> => ({
  membership: () => facts.membership,
  living: () => {
    const { membership, others, profile } = facts;
    return membership === null || profile?.deletedMs !== null ? others : [...others, membership];
  },
  saveHomes: (organizationId, home) => {
    const before = facts.membership;
    facts.membership = before === null ? null : { ...before, home };
    undo.add(() => (facts.membership = before));
    write(homesStep(organizationId, home));
  },
});

const insertSession = insertInto('session', sessionColumns);
const endSession = sql('UPDATE session SET ended_ms = $2 WHERE digest = $1 AND ended_ms IS NULL');
const setCustomer = sql('UPDATE organization SET customer_id = $2 WHERE organization_id = $1');

const sessionValues = (session: StoredSession) => {
  const { digest, kind, userId, organizationId, createdMs, lastUsedMs, expiresMs, endedMs } = session;
  return [Buffer.from(digest), kind, userId, organizationId, createdMs, lastUsedMs, expiresMs, endedMs];
};

const organizationRows = ({
  facts,
  undo,
  write,
}: Writing): Of<'openSession' | 'endSession' | 'setCustomer'> => ({
  openSession: (session) => {
    if (session.endedMs === null) undo.include(facts.sessions, Buffer.from(session.digest).toString('hex'));
    write(step(insertSession, ...sessionValues(session)));
  },
  endSession: ({ digest, atMs }) => {
    const bytes = Buffer.from(digest);
    if (!undo.remove(facts.sessions, bytes.toString('hex'))) return false;
    endCallerSession({ callers: facts.callers, undo }, { digest, atMs });
    write(step(endSession, bytes, atMs));
    return true;
  },
  setCustomer: ({ organizationId, customerId }) => write(step(setCustomer, organizationId, customerId)),
});
