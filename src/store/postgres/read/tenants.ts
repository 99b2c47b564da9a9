/**
 * Reads of tenants: organizations, people, sessions, projects, keys and usage. Each enters the scope of its
 * argument, such as a credential: row-level security then shows that tenant alone.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import { endOfIds, endOfTime } from '../../port/bounds.ts';
import type { ApiKeyRow, StoredProject, TelemetryReader, TenantReader } from '../../port/store.ts';
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
import type { Database } from '../connection/database.ts';
import type { ProjectNumber } from './leaves.ts';
import { usageReads } from './usage.ts';
import { read, readOrNull } from '../effects/texts.ts';
import { sql, step } from '../connection/wire.ts';

type Of<Names extends keyof TenantReader> = Pick<TenantReader, Names>;

/** All reads of tenants except those of data planes (`planes.ts`). */
type Tenants = Omit<TenantReader, keyof TelemetryReader>;

export const tenantReads = (database: Database, numberOf: ProjectNumber): Tenants => ({
  ...peopleReads(database),
  ...projectReads(database),
  ...usageReads(database, numberOf),
  ...keyReads(database, numberOf),
});

const columns = (names: readonly string[], table: string): string =>
  names.map((name) => `${table}.${name}`).join(', ');

const organizationOfId = sql<OrganizationRow>(
  `SELECT ${organizationColumns.join(', ')} FROM organization WHERE organization_id = $1`,
);
const personNamed = sql<PersonRow>(
  `SELECT ${personColumns.join(', ')} FROM person WHERE issuer = $1 AND subject = $2`,
);
/** The credential names its tenant: the policy shows its row alone, then its organization. */
const enterSession = sql(
  `SELECT set_config('gov.organization',
     coalesce((SELECT organization_id FROM session WHERE digest = $1), ''), true)`,
);
const sessionOfDigest = sql<SessionRow>(`SELECT ${sessionColumns.join(', ')} FROM session WHERE digest = $1`);
const personOfSession = sql<PersonRow>(
  `SELECT ${columns(personColumns, 'p')} FROM session s
   JOIN person p ON p.user_id = s.user_id AND p.organization_id = s.organization_id WHERE s.digest = $1`,
);
const organizationOfSession = sql<OrganizationRow>(
  `SELECT ${columns(organizationColumns, 'o')} FROM session s
   JOIN organization o ON o.organization_id = s.organization_id WHERE s.digest = $1`,
);
export const installed = sql<{ text: string }>('SELECT text FROM installation');

const readOrganization = (row: OrganizationRow) => organizationOf({ ...row, name: read(row.name) });
const readPerson = (row: PersonRow) =>
  personOf({ ...row, name: read(row.name), email: readOrNull(row.email) });

const peopleReads = (database: Database): Of<'organization' | 'user' | 'session' | 'installation'> => ({
  organization: async (organizationId) => {
    const wanted = step(organizationOfId, organizationId);
    const [{ rows }] = await database.read({ organizationId }, [wanted]);
    return rows[0] === undefined ? null : readOrganization(rows[0]);
  },
  user: async (issuer, subject) => {
    const [{ rows }] = await database.read({ issuer, subject }, [step(personNamed, issuer, subject)]);
    return rows[0] === undefined ? null : readPerson(rows[0]);
  },
  session: async (digest) => {
    const bytes = Buffer.from(digest);
    const [, sessions, people, organizations] = await database.read({ digest }, [
      step(enterSession, bytes),
      step(sessionOfDigest, bytes),
      step(personOfSession, bytes),
      step(organizationOfSession, bytes),
    ]);
    const [session, user, organization] = [sessions.rows[0], people.rows[0], organizations.rows[0]];
    if (session === undefined || user === undefined || organization === undefined) return null;
    return {
      session: sessionOf(session),
      user: readPerson(user),
      organization: readOrganization(organization),
    };
  },
  installation: async () => {
    const [{ rows }] = await database.read({ duty: 'installation' }, [step(installed)]);
    return rows[0]?.text ?? null;
  },
});

export const projectSql = `p.project_id, p.organization_id, p.environment, p.audit_origin, p.metering_origin`;
export const profileSql = 'f.name, f.settings, f.quotas, f.created_ms, f.updated_ms, f.deleted_ms';
const newestFirst = 'ORDER BY f.created_ms DESC, p.project_id DESC';

const projectsOf = sql<NamedRow>(
  `SELECT ${projectSql}, f.name, f.created_ms, f.updated_ms FROM project_profile f JOIN project p USING (project)
   WHERE f.organization_id = $1 AND f.deleted_ms IS NULL ${newestFirst}`,
);
const projectOfOrganization = sql<ProjectRow & ProfileRow>(
  `SELECT ${projectSql}, ${profileSql} FROM project p JOIN project_profile f USING (project)
   WHERE p.project_id = $2 AND p.organization_id = $1`,
);

/** `OFFSET 0` makes the planner go by the ids of projects, for any statistics of their profiles. */
const everySql = (condition: string) =>
  `SELECT ${projectSql}, ${profileSql}
   FROM project p, LATERAL (SELECT * FROM project_profile f WHERE f.project = p.project OFFSET 0) f
   WHERE ${condition} ORDER BY p.project_id DESC`;
const everyPage = sql<ProjectRow & ProfileRow>(`${everySql('p.project_id < $1')} LIMIT $2`);
const everyPageOf = sql<ProjectRow & ProfileRow>(
  `${everySql('p.organization_id = $1 AND p.project_id < $2')} LIMIT $3`,
);

export const readProject = (row: ProjectRow & ProfileRow): StoredProject =>
  storedProjectOf({ ...row, name: read(row.name) });

const projectReads = (database: Database): Of<'projects' | 'everyProject' | 'storedProject'> => ({
  projects: async (organizationId) => {
    const [{ rows }] = await database.read({ organizationId }, [step(projectsOf, organizationId)]);
    return rows.map((row) => namedProjectOf({ ...row, name: read(row.name) }));
  },
  everyProject: async ({ organizationId }, { after = endOfIds, limit }) => {
    const wanted =
      organizationId === undefined
        ? step(everyPage, after, limit)
        : step(everyPageOf, organizationId, after, limit);
    const [{ rows }] = await database.read({ duty: 'operator' }, [wanted]);
    return rows.map(readProject);
  },
  storedProject: async (organizationId, projectId) => {
    const wanted = step(projectOfOrganization, organizationId, projectId);
    const [{ rows }] = await database.read({ organizationId }, [wanted]);
    return rows[0] === undefined ? null : readProject(rows[0]);
  },
});

const enterKey = sql(
  `SELECT set_config('gov.project', coalesce((SELECT project::text FROM api_key WHERE digest = $1), ''), true)`,
);
const keySql = columns(keyColumns, 'k');
const keyOfDigest = sql<KeyRow>(
  `SELECT ${keySql}, project_id FROM api_key k JOIN project USING (project) WHERE k.digest = $1`,
);
/** If the project has no profile, as on a plane, `name` is null. */
const projectOfKey = sql<ProjectRow & (ProfileRow | { name: null })>(
  `SELECT ${projectSql}, ${profileSql} FROM api_key k JOIN project p USING (project)
   LEFT JOIN project_profile f USING (project) WHERE k.digest = $1`,
);
const selectKeys = (condition: string) =>
  sql<KeyRow>(
    `SELECT ${keySql}, project_id FROM api_key k JOIN project USING (project) WHERE project = $1 ${condition}`,
  );
const oneKey = selectKeys('AND k.key_id = $2');
const page = 'AND (k.created_ms, k.key_id) < ($2, $3)';
const order = 'ORDER BY k.created_ms DESC, k.key_id DESC LIMIT $4';
const keyPage = selectKeys(`${page} ${order}`);
/** The same condition as `isRevoked`. */
const livingPage = selectKeys(
  `${page} AND (k.revoked_ms IS NULL OR (k.revoked_ms > $5 AND k.revoked_ms > k.updated_ms)) ${order}`,
);

const readKey = (row: KeyRow): ApiKeyRow =>
  keyOf({ ...row, name: read(row.name), description: readOrNull(row.description) });

const keyReads = (database: Database, numberOf: ProjectNumber): Of<'apiKey' | 'apiKeyOf' | 'apiKeys'> => ({
  apiKey: async (digest) => {
    const bytes = Buffer.from(digest);
    const [, keys, projects] = await database.read({ digest }, [
      step(enterKey, bytes),
      step(keyOfDigest, bytes),
      step(projectOfKey, bytes),
    ]);
    const [key, row] = [keys.rows[0], projects.rows[0]];
    if (key === undefined || row === undefined) return null;
    return {
      key: readKey(key),
      project: projectOf(row),
      stored: row.name === null ? null : readProject(row),
    };
  },
  apiKeyOf: async (projectId, keyId) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(oneKey, project, keyId)]);
    return rows[0] === undefined ? null : readKey(rows[0]);
  },
  apiKeys: async (projectId, { liveAtMs }, { after, limit }) => {
    const project = await numberOf(projectId);
    const values = [project, after?.ms ?? endOfTime, after?.id ?? '', limit];
    const wanted = liveAtMs === undefined ? step(keyPage, ...values) : step(livingPage, ...values, liveAtMs);
    return (await database.read({ project }, [wanted]))[0].rows.map(readKey);
  },
});
