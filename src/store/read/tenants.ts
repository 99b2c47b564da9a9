/**
 * Reads of tenants: organizations, people, sessions, projects and keys. Each enters the scope of its
 * argument, such as a credential: row-level security then shows that tenant alone.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import { endOfIds, endOfTime } from '../port/bounds.ts';
import type { ApiKeyRow, StoredProject, TelemetryReader, TenantReader } from '../port/store.ts';
import type { StoredSession, StoredUser } from '../port/tenancy.ts';
import { projectOf, type ProjectRow } from '../port/project.ts';
import { decoder, selected, type Raw } from '../rules/columns.ts';
import {
  keyColumns,
  namedProjectOf,
  organizationColumns,
  organizationOf,
  personColumns,
  sessionColumns,
  storedProjectOf,
  type NamedRow,
  type OrganizationRow,
  type ProfileRow,
} from '../rules/tenant-row.ts';
import { both, each, enter, firstOf, rowsOf, step, type Queries } from './queries.ts';

type ReaderPart<Names extends keyof TenantReader> = Pick<TenantReader, Names>;

/** All reads of tenants except those of data planes (`planes.ts`) and of usage, whose plans differ. */
type Tenants = Omit<TenantReader, keyof TelemetryReader | 'usage' | 'usageOf'>;

export const tenantReads = (queries: Queries): Tenants => ({
  ...peopleReads(queries),
  ...projectReads(queries),
  ...keyReads(queries),
});

const organizationOfId = both<OrganizationRow>(
  `SELECT ${selected(organizationColumns)} FROM organization WHERE organization_id = $1`,
);
const personNamed = both<StoredUser>(
  `SELECT ${selected(personColumns)} FROM person WHERE issuer = $1 AND subject = $2`,
);
const personOfId = both<StoredUser>(
  `SELECT ${selected(personColumns)} FROM person WHERE organization_id = $1 AND user_id = $2`,
);
/** The credential names its tenant: the policy shows its row alone, then its organization. */
const enterSession = enter(
  `SELECT set_config('gov.organization',
     coalesce((SELECT organization_id FROM session WHERE digest = $1), ''), true)`,
);
const sessionOfDigest = both<StoredSession>(
  `SELECT ${selected(sessionColumns)} FROM session WHERE digest = $1`,
);
/** Look-ups by key, one after the other: SQLite takes three times as long for a join that finds nothing. */
const ofSession = (column: string) => `${column} = (SELECT ${column} FROM session WHERE digest = $1)`;
const personOfSession = both<StoredUser>(
  `SELECT ${selected(personColumns)} FROM person WHERE ${ofSession('user_id')} AND ${ofSession('organization_id')}`,
);
const organizationOfSession = both<OrganizationRow>(
  `SELECT ${selected(organizationColumns)} FROM organization WHERE ${ofSession('organization_id')}`,
);
export const installed = both<{ text: string }>('SELECT text FROM installation');

function peopleReads(
  queries: Queries,
): ReaderPart<'organization' | 'user' | 'userOf' | 'session' | 'installation'> {
  const organizationRow = decoder(organizationColumns, queries.text);
  const readOrganization = (row: OrganizationRow) => organizationOf(organizationRow(row));
  const readPerson = decoder(personColumns, queries.text);
  return {
    organization: async (organizationId) => {
      const wanted = step(organizationOfId, organizationId);
      const [{ rows }] = await queries.read({ organizationId }, [wanted]);
      return firstOf(rows, readOrganization);
    },
    user: async (issuer, subject) => {
      const [{ rows }] = await queries.read({ issuer, subject }, [step(personNamed, issuer, subject)]);
      return firstOf(rows, readPerson);
    },
    userOf: async (organizationId, userId) => {
      const [{ rows }] = await queries.read({ organizationId }, [step(personOfId, organizationId, userId)]);
      return firstOf(rows, readPerson);
    },
    session: async (digest) => {
      const bytes = Buffer.from(digest);
      const [, sessions, people, organizations] = await queries.read({ digest }, [
        step(enterSession, bytes),
        step(sessionOfDigest, bytes),
        step(personOfSession, bytes),
        step(organizationOfSession, bytes),
      ]);
      const [session, user, organization] = [sessions.rows[0], people.rows[0], organizations.rows[0]];
      if (session === undefined || user === undefined || organization === undefined) return null;
      return { session, user: readPerson(user), organization: readOrganization(organization) };
    },
    installation: async () => {
      const [{ rows }] = await queries.read({ duty: 'installation' }, [step(installed)]);
      return rows[0]?.text ?? null;
    },
  };
}

export const projectSql = `p.project_id, p.organization_id, p.environment, p.audit_origin, p.metering_origin`;
export const profileSql = 'f.name, f.settings, f.quotas, f.created_ms, f.updated_ms, f.deleted_ms';

const projectsOf = both<NamedRow>(
  `SELECT ${projectSql}, f.name, f.created_ms, f.updated_ms FROM project_profile f JOIN project p USING (project)
   WHERE f.organization_id = $1 AND f.deleted_ms IS NULL ORDER BY f.created_ms DESC, p.project_id DESC`,
);
const profiled = `SELECT ${projectSql}, ${profileSql} FROM project p JOIN project_profile f USING (project)`;
const projectOfOrganization = both<ProjectRow & ProfileRow>(
  `${profiled} WHERE p.project_id = $2 AND p.organization_id = $1`,
);

/** `OFFSET 0` makes PostgreSQL go by the ids of projects, for any statistics of their profiles. */
const everyPageWhere = (condition: string, limit: string) => {
  const page = `WHERE ${condition} ORDER BY p.project_id DESC LIMIT ${limit}`;
  return each<ProjectRow & ProfileRow>({
    postgres: `SELECT ${projectSql}, ${profileSql} FROM project p,
       LATERAL (SELECT * FROM project_profile f WHERE f.project = p.project OFFSET 0) f ${page}`,
    sqlite: `${profiled} ${page}`,
  });
};
const everyPage = everyPageWhere('p.project_id < $1', '$2');
const everyPageOf = everyPageWhere('p.organization_id = $1 AND p.project_id < $2', '$3');

export const readProject = (queries: Queries, row: ProjectRow & ProfileRow): StoredProject =>
  storedProjectOf({ ...row, name: queries.text(row.name) });

const projectReads = (queries: Queries): ReaderPart<'projects' | 'everyProject' | 'storedProject'> => ({
  projects: async (organizationId) => {
    const [{ rows }] = await queries.read({ organizationId }, [step(projectsOf, organizationId)]);
    return rows.map((row) => namedProjectOf({ ...row, name: queries.text(row.name) }));
  },
  everyProject: async ({ organizationId }, { after = endOfIds, limit }) => {
    const wanted =
      organizationId === undefined
        ? step(everyPage, after, limit)
        : step(everyPageOf, organizationId, after, limit);
    const [{ rows }] = await queries.read({ duty: 'operator' }, [wanted]);
    return rows.map((row) => readProject(queries, row));
  },
  storedProject: async (organizationId, projectId) => {
    const wanted = step(projectOfOrganization, organizationId, projectId);
    const [{ rows }] = await queries.read({ organizationId }, [wanted]);
    return firstOf(rows, (row) => readProject(queries, row));
  },
});

const enterKey = enter(
  `SELECT set_config('gov.project', coalesce((SELECT project::text FROM api_key WHERE digest = $1), ''), true)`,
);
type KeyRow = Raw<Omit<ApiKeyRow, 'projectId'>>;
const keyOfDigest = both<KeyRow>(`SELECT ${selected(keyColumns)} FROM api_key WHERE digest = $1`);
/** If the project has no profile, as on a plane, `name` is null. */
const projectOfKey = both<ProjectRow & (ProfileRow | { name: null })>(
  `SELECT ${projectSql}, ${profileSql} FROM api_key k JOIN project p USING (project)
   LEFT JOIN project_profile f USING (project) WHERE k.digest = $1`,
);
const selectKeys = (condition: string) =>
  both<KeyRow & { readonly projectId: string }>(
    `SELECT ${selected(keyColumns, { from: 'k' })}, project_id AS "projectId" FROM api_key k JOIN project USING (project) WHERE k.project = $1 ${condition}`,
  );
const oneKey = selectKeys('AND k.key_id = $2');
const page = 'AND (k.created_ms, k.key_id) < ($2, $3)';
const order = 'ORDER BY k.created_ms DESC, k.key_id DESC LIMIT $4';
const keyPage = selectKeys(`${page} ${order}`);
/** The same condition as `isRevoked`. */
const livingPage = selectKeys(
  `${page} AND (k.revoked_ms IS NULL OR (k.revoked_ms > $5 AND k.revoked_ms > k.updated_ms)) ${order}`,
);

function keyReads(queries: Queries): ReaderPart<'apiKey' | 'apiKeyOf' | 'apiKeys'> {
  const decoded = decoder(keyColumns, queries.text);
  const readKey = ({ projectId, ...row }: KeyRow & { readonly projectId: string }): ApiKeyRow => ({
    ...decoded(row),
    projectId,
  });
  return {
    apiKey: async (digest) => {
      const bytes = Buffer.from(digest);
      const [, keys, projects] = await queries.read({ digest }, [
        step(enterKey, bytes),
        step(keyOfDigest, bytes),
        step(projectOfKey, bytes),
      ]);
      const [key, row] = [keys.rows[0], projects.rows[0]];
      if (key === undefined || row === undefined) return null;
      return {
        key: readKey({ ...key, projectId: row.project_id }),
        project: projectOf(row),
        stored: row.name === null ? null : readProject(queries, row),
      };
    },
    apiKeyOf: async (projectId, keyId) => firstOf(await rowsOf(queries, projectId, oneKey, keyId), readKey),
    apiKeys: async (projectId, { liveAtMs }, { after, limit }) => {
      const values = [after?.ms ?? endOfTime, after?.id ?? '', limit];
      const rows =
        liveAtMs === undefined
          ? await rowsOf(queries, projectId, keyPage, ...values)
          : await rowsOf(queries, projectId, livingPage, ...values, liveAtMs);
      return rows.map(readKey);
    },
  };
}
