/**
 * Reads of tenants: organizations, people, sessions, projects, keys and usage.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import { endOfIds, endOfTime } from '../../port/bounds.ts';
import type { StoredProject, TelemetryReader, TenantReader } from '../../port/store.ts';
import { projectOf, type ProjectRow } from '../../port/project.ts';
import {
  keyColumns,
  keyOf,
  organizationColumns,
  organizationOf,
  personColumns,
  personOf,
  sessionColumns,
  sessionOf,
  namedProjectOf,
  storedProjectOf,
  type KeyRow,
  type NamedRow,
  type OrganizationRow,
  type PersonRow,
  type ProfileRow,
  type SessionRow,
} from '../../rules/tenant-row.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { ProjectNumber } from './leaves.ts';
import { usageReads } from './usage.ts';

/** All reads of tenants except those of data planes (`planes.ts`). */
type Tenants = Omit<TenantReader, keyof TelemetryReader>;

export const tenantReads = (db: Connection, numberOf: ProjectNumber): Tenants => ({
  ...peopleReads(db),
  ...projectReads(db),
  ...usageReads(db, numberOf),
  ...keyReads(db, numberOf),
});

type Of<Names extends keyof TenantReader> = Pick<TenantReader, Names>;

const columns = (names: readonly string[], table: string): string =>
  names.map((name) => `${table}.${name}`).join(', ');

const organizationSql = columns(organizationColumns, 'organization');
const personSql = columns(personColumns, 'person');
const sessionSql = columns(sessionColumns, 'session');

function peopleReads(db: Connection): Of<'organization' | 'user' | 'session' | 'installation'> {
  const organization = db.prepare<Value[], OrganizationRow>(
    `SELECT ${organizationSql} FROM organization WHERE organization_id = ?`,
  );
  // These look-ups name no tenant: the person or the token that signs in decides it.
  const person = db.prepare<Value[], PersonRow>(
    `SELECT ${personSql} FROM person WHERE issuer = ? AND subject = ?`,
  );
  const session = db.prepare<Value[], SessionRow>(`SELECT ${sessionSql} FROM session WHERE digest = ?`);
  const personOfId = db.prepare<Value[], PersonRow>(
    `SELECT ${personSql} FROM person WHERE user_id = ? AND organization_id = ?`,
  );
  const signedIn = db.transaction((digest: Uint8Array) => {
    const row = session.get(digest);
    const user = row === undefined ? undefined : personOfId.get(row.user_id, row.organization_id);
    const its = row === undefined ? undefined : organization.get(row.organization_id);
    if (row === undefined || user === undefined || its === undefined) return null;
    return { session: sessionOf(row), user: personOf(user), organization: organizationOf(its) };
  });
  const installation = db.prepare<Value[], string>('SELECT text FROM installation').pluck();
  return {
    organization: async (organizationId) => {
      const row = organization.get(organizationId);
      return row === undefined ? null : organizationOf(row);
    },
    user: async (issuer, subject) => {
      const row = person.get(issuer, subject);
      return row === undefined ? null : personOf(row);
    },
    session: async (digest) => signedIn(digest),
    installation: async () => installation.get() ?? null,
  };
}

export const projectSql = `project.project_id, project.organization_id, project.environment, project.audit_origin,
  project.metering_origin`;
export const profileSql = 'f.name, f.settings, f.quotas, f.created_ms, f.updated_ms, f.deleted_ms';

function projectReads(db: Connection): Of<'projects' | 'everyProject' | 'storedProject'> {
  const all = db.prepare<Value[], NamedRow>(
    `SELECT ${projectSql}, f.name, f.created_ms, f.updated_ms FROM project_profile f JOIN project USING (project)
     WHERE f.organization_id = ? AND f.deleted_ms IS NULL ORDER BY f.created_ms DESC, project_id DESC`,
  );
  const one = profileReader(db);
  const page = (condition: string) =>
    db.prepare<Value[], ProjectRow & ProfileRow>(
      `SELECT ${projectSql}, ${profileSql} FROM project JOIN project_profile f USING (project)
       WHERE ${condition} ORDER BY project_id DESC LIMIT ?`,
    );
  const every = page('project_id < ?');
  const everyOf = page('project.organization_id = ? AND project_id < ?');
  return {
    projects: async (organizationId) => all.all(organizationId).map(namedProjectOf),
    everyProject: async ({ organizationId }, { after = endOfIds, limit }) =>
      (organizationId === undefined
        ? every.all(after, limit)
        : everyOf.all(organizationId, after, limit)
      ).map(storedProjectOf),
    storedProject: async (organizationId, projectId) => one(organizationId, projectId),
  };
}

/**
 * Reads a project with its profile. Null if it has no profile, as on a plane, or belongs to another
 * organization.
 */
function profileReader(db: Connection): (organizationId: string, projectId: string) => StoredProject | null {
  const select = db.prepare<Value[], ProjectRow & ProfileRow>(
    `SELECT ${projectSql}, ${profileSql} FROM project JOIN project_profile f USING (project)
     WHERE project.project_id = ? AND project.organization_id = ?`,
  );
  return (organizationId, projectId) => {
    const row = select.get(projectId, organizationId);
    return row === undefined ? null : storedProjectOf(row);
  };
}

function keyReads(db: Connection, numberOf: ProjectNumber): Of<'apiKey' | 'apiKeyOf' | 'apiKeys'> {
  const keySql = columns(keyColumns, 'k');
  // The look-up names no tenant: the credential decides it.
  const byDigest = db.prepare<Value[], KeyRow & ProjectRow>(
    `SELECT ${keySql}, ${projectSql} FROM api_key k JOIN project USING (project) WHERE k.digest = ?`,
  );
  const profile = profileReader(db);
  const found = db.transaction((digest: Uint8Array) => {
    const row = byDigest.get(digest);
    if (row === undefined) return null;
    const project = projectOf(row);
    return { key: keyOf(row), project, stored: profile(project.organizationId, project.projectId) };
  });
  const select = (condition: string) =>
    db.prepare<Value[], KeyRow>(
      `SELECT ${keySql}, project_id FROM api_key k JOIN project USING (project) WHERE k.project = ? ${condition}`,
    );
  const one = select('AND k.key_id = ?');
  const page = 'AND (k.created_ms, k.key_id) < (?, ?)';
  const order = 'ORDER BY k.created_ms DESC, k.key_id DESC LIMIT ?';
  const all = select(`${page} ${order}`);
  // the same condition as `isRevoked`
  const living = select(
    `${page} AND (k.revoked_ms IS NULL OR (k.revoked_ms > ? AND k.revoked_ms > k.updated_ms)) ${order}`,
  );
  return {
    apiKey: async (digest) => found(digest),
    apiKeyOf: async (projectId, keyId) => {
      const row = one.get(numberOf(projectId), keyId);
      return row === undefined ? null : keyOf(row);
    },
    apiKeys: async (projectId, { liveAtMs }, { after, limit }) => {
      const from = [numberOf(projectId), after?.ms ?? endOfTime, after?.id ?? ''];
      const rows = liveAtMs === undefined ? all.all(...from, limit) : living.all(...from, liveAtMs, limit);
      return rows.map(keyOf);
    },
  };
}
