/**
 * Writes to the rows of tenants: effects of requests (`../tenants.ts` judges), new tenants, uses of credentials, the
 * installation's own row. Proven by `test/store/suite/tenants.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type {
  ApiKeyRow,
  NewTenant,
  Project,
  StoredOrganization,
  StoredProject,
  StoredUser,
  Use,
} from '../port.ts';
import {
  keyColumns,
  keyValues,
  minuteOf,
  organizationColumns,
  personColumns,
  quotasOf,
  sessionColumns,
  type ProfileRow,
} from '../tenantrow.ts';
import { judgeTenant, nameKey, type TenantRows } from '../tenants.ts';
import type { Value } from './connection.ts';
import type { Current } from './effects.ts';
import { maxProject } from './position.ts';
import type { Prepare, Statement } from './statement.ts';

const insertInto = (prepare: Prepare, table: string, columns: readonly string[]): Statement =>
  prepare(
    `insert ${table}`,
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );

/** Inserts a key that is new. */
export function keyInsert(prepare: Prepare): (project: number, key: ApiKeyRow) => void {
  const insert = insertInto(prepare, 'api_key', ['project', ...keyColumns]);
  return (project, key) => {
    insert.run(project, ...keyValues(key));
  };
}

type Of<Names extends keyof TenantRows> = Pick<TenantRows, Names>;

export const tenantRows = (prepare: Prepare, current: Current): TenantRows => ({
  ...keyRows(prepare, current),
  ...profileRows(prepare, current),
  ...organizationRows(prepare),
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
  const find = prepare<{ revokedMs: number | null }>(
    'find api key',
    'SELECT revoked_ms AS revokedMs FROM api_key WHERE project = ? AND key_id = ?',
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
    endSession: ({ digest, atMs }) => {
      end.run(atMs, digest);
    },
    setCustomer: ({ organizationId, customerId }) => {
      customer.run(customerId, organizationId);
    },
  };
}

export interface TenantTasks {
  /** Refuses a tenant that cannot be made, by look-ups alone. */
  judge(tenant: NewTenant): void;
  /** All rows but the logs, which are empty then. */
  create(tenant: NewTenant): void;
  claim(text: string): string;
  used(uses: readonly Use[]): void;
}

export interface TenantTaskParts {
  readonly prepare: Prepare;
  /** A new project with empty logs; answers its number. */
  readonly createProject: (project: Project) => number;
}

export function tenantTasks({ prepare, createProject }: TenantTaskParts): TenantTasks {
  const organization = organizationInsert(prepare);
  const person = personInsert(prepare);
  const profile = profileInsert(prepare);
  const addKey = keyInsert(prepare);
  return {
    judge: judgment(prepare),
    create: ({ organization: made, user, projects }) => {
      if (made !== null) organization(made);
      if (user !== null) person(user);
      for (const { stored, keys } of projects) {
        const no = createProject(stored.project);
        profile(no, stored);
        for (const key of keys) addKey(no, key);
      }
    },
    claim: claim(prepare),
    used: used(prepare),
  };
}

function judgment(prepare: Prepare): (tenant: NewTenant) => void {
  const person = prepare('find person', 'SELECT 1 FROM person WHERE issuer = ? AND subject = ?');
  const count = prepare<{ n: number }>(
    'count projects',
    'SELECT count(*) AS n FROM project_profile WHERE organization_id = ? AND deleted_ms IS NULL',
  );
  const name = prepare(
    'find project name',
    `SELECT 1 FROM project_profile
     WHERE organization_id = ? AND environment = ? AND name_key = ? AND deleted_ms IS NULL`,
  );
  const refuseNumbers = numberJudgment(prepare);
  return (tenant) => {
    const { organization, user, projects } = tenant;
    const organizationId = organization?.organizationId ?? projects[0]?.stored.project.organizationId ?? null;
    judgeTenant(tenant, {
      userExists: user !== null && person.get(user.issuer, user.subject) !== undefined,
      projects: count.get(organizationId)?.n ?? 0,
      isNameTaken: (environment, key) => name.get(organizationId, environment, key) !== undefined,
    });
    refuseNumbers(projects);
  };
}

/** Whether each project is new, and gets a number. */
function numberJudgment(prepare: Prepare): (projects: NewTenant['projects']) => void {
  const known = prepare('find project', 'SELECT 1 FROM project WHERE project_id = ?');
  const newest = prepare<{ no: number | null }>('newest project', 'SELECT max(project) AS no FROM project');
  return (projects) => {
    for (const { stored } of projects) {
      const { projectId } = stored.project;
      if (known.get(projectId) === undefined) continue;
      throw new GovError('CONFLICT', `expected a new project, but ${projectId} exists`);
    }
    if ((newest.get()?.no ?? 0) + projects.length <= maxProject) return;
    throw new GovError(
      'CONFLICT',
      `expected at most ${maxProject} projects in one database file, got one more; ` +
        'the operator of the service may move it to PostgreSQL',
    );
  };
}

function organizationInsert(prepare: Prepare): (made: StoredOrganization) => void {
  const insert = insertInto(prepare, 'organization', organizationColumns);
  return ({ organizationId, name, customerId, home, createdMs }) => {
    insert.run(organizationId, name, customerId, home.production, home.sandbox, createdMs);
  };
}

function personInsert(prepare: Prepare): (made: StoredUser) => void {
  const insert = insertInto(prepare, 'person', personColumns);
  return ({ userId, organizationId, issuer, subject, email, name, createdMs }) => {
    insert.run(userId, organizationId, issuer, subject, email, name, createdMs);
  };
}

function profileInsert(prepare: Prepare): (project: number, made: StoredProject) => void {
  const insert = insertInto(prepare, 'project_profile', [
    ...['project', 'organization_id', 'environment', 'name', 'name_key', 'settings', 'quotas'],
    ...['created_ms', 'updated_ms', 'deleted_ms'],
  ]);
  return (no, { project, name, settings, quotas, createdMs, updatedMs, deletedMs }) => {
    const values: Value[] = [project.organizationId, project.environment, name, nameKey(name), settings];
    insert.run(no, ...values, JSON.stringify(quotas), createdMs, updatedMs, deletedMs);
  };
}

function claim(prepare: Prepare): (text: string) => string {
  const keep = prepare('claim installation', 'INSERT INTO installation VALUES (1, ?) ON CONFLICT DO NOTHING');
  const find = prepare<{ text: string }>('find installation', 'SELECT text FROM installation');
  return (text) => {
    keep.run(text);
    return find.get()?.text ?? text;
  };
}

function used(prepare: Prepare): (uses: readonly Use[]) => void {
  const key = prepare(
    'note use of api key',
    `UPDATE api_key SET last_used_ms = ?
     WHERE project = (SELECT project FROM project WHERE project_id = ?) AND key_id = ?
       AND coalesce(last_used_ms, 0) < ?`,
  );
  const session = prepare(
    'note use of session',
    'UPDATE session SET last_used_ms = ? WHERE digest = ? AND last_used_ms < ? AND ended_ms IS NULL',
  );
  return (uses) => {
    for (const use of uses) {
      const minute = minuteOf(use.atMs);
      if ('digest' in use) session.run(minute, use.digest, minute);
      else key.run(minute, use.projectId, use.keyId, minute);
    }
  };
}
