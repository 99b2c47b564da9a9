/**
 * Creates tenants, records uses of credentials, and claims the installation's own row. A tenant is judged
 * before its first row is written. A crash before COMMIT leaves nothing of it.
 * Proven by `test/store/suite/tenancy/tenants.ts`, `test/store/suite/tenancy/projects.ts` and
 * `test/store/suite/tenancy/keys.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { NewTenant, Use } from '../../port/store.ts';
import type { Project } from '../../port/store.ts';
import { minuteOf } from '../../rules/tenant-row.ts';
import { judgeCaller } from '../../port/caller.ts';
import { judgeTenant } from '../../rules/tenants.ts';
import { callerReader } from './caller.ts';
import { homeFinder, homeMover } from './homes.ts';
import { maxProject } from '../../file/position.ts';
import type { Prepare } from '../../file/statement.ts';
import type { Writer } from '../../write/statement.ts';
import { keyWrites, organizationWrites, profileWrites } from '../../write/tenants.ts';
import { runner } from './writing.ts';

export interface TenantTasks {
  /** Refuses a tenant that cannot be created; only looks rows up. */
  judge(tenant: NewTenant): void;
  /** Writes all rows except the leaves; the logs are empty. */
  create(tenant: NewTenant): void;
  /** Returns the project whose log receives this one's changes; null if the project has no other home. */
  homeBeside(projectId: string): string | null;
  claim(text: string): string;
  used(uses: readonly Use[]): void;
}

export interface TenantTaskParts {
  readonly prepare: Prepare;
  /** Creates a project with empty logs and returns its number. */
  readonly createProject: (project: Project) => number;
}

export function tenantTasks({ prepare, createProject }: TenantTaskParts): TenantTasks {
  const run = runner(prepare);
  const to =
    (no: number): Writer<number> =>
    (made, values) =>
      run(no, made, values);
  const organizations = organizationWrites(to(0));
  const moveHomes = homeMover(prepare, run);
  return {
    judge: judgment(prepare),
    create: ({ organization: made, user, projects }) => {
      if (made !== null) organizations.addOrganization(made);
      if (user !== null) organizations.addPerson(user);
      for (const { stored, keys } of projects) {
        const no = createProject(stored.project);
        profileWrites(to(no)).addProfile(stored);
        for (const key of keys) keyWrites(to(no)).addApiKey(key);
        moveHomes(no);
      }
    },
    homeBeside: homeFinder(prepare),
    claim: claim(prepare),
    used: used(prepare, organizations),
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
  const caller = callerReader(prepare);
  return (tenant) => {
    const { by } = tenant;
    if (by !== null) judgeCaller(caller(by.credential), by);
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

/** Checks that each project is new and can get a number. */
function numberJudgment(prepare: Prepare): (projects: NewTenant['projects']) => void {
  const known = prepare('find project', 'SELECT 1 FROM project WHERE project_id = ?');
  const newest = prepare<{ no: number | null }>('newest project', 'SELECT max(project) AS no FROM project');
  return (projects) => {
    for (const { stored } of projects) {
      const { projectId } = stored.project;
      if (known.get(projectId) === undefined) continue;
      throw new GovError('CONFLICT', `expected a new project, got ${projectId}, which exists`);
    }
    if ((newest.get()?.no ?? 0) + projects.length <= maxProject) return;
    throw new GovError(
      'CONFLICT',
      `expected at most ${maxProject} projects in one database file, got one more; ` +
        'the operator of the service can move it to PostgreSQL',
    );
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

function used(
  prepare: Prepare,
  { useSession }: Pick<ReturnType<typeof organizationWrites<number>>, 'useSession'>,
): (uses: readonly Use[]) => void {
  const key = prepare(
    'note use of api key',
    `UPDATE api_key SET last_used_ms = ?
     WHERE project = (SELECT project FROM project WHERE project_id = ?) AND key_id = ?
       AND coalesce(last_used_ms, 0) < ?`,
  );
  return (uses) => {
    for (const use of uses) {
      const minute = minuteOf(use.atMs);
      if ('digest' in use) useSession(use.digest, minute);
      else key.run(minute, use.projectId, use.keyId, minute);
    }
  };
}
