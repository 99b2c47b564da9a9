/**
 * Rows of the homes of organizations; `src/store/rules/homes.ts` defines which projects are homes.
 * Proven by `test/store/suite/tenancy/homes.ts`.
 */
import { homeBeside, membershipOf, type LivingProject, type MembershipRow } from '../../rules/homes.ts';
import { moveHomes, type TenantRows } from '../../rules/tenants.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';
import type { Writer } from '../../write/statement.ts';
import { organizationWrites } from '../../write/tenants.ts';
import type { Run } from './writing.ts';

const membershipSql = `SELECT p.project_id, p.organization_id, p.environment, o.home_production, o.home_sandbox
  FROM project p JOIN organization o ON o.organization_id = p.organization_id`;

export function homeRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): Pick<TenantRows, 'membership' | 'living' | 'saveHomes'> {
  const membership = prepare<MembershipRow>('find home', `${membershipSql} WHERE p.project = ?`);
  const living = prepare<LivingProject>(
    'find living projects',
    `SELECT project_id AS projectId, f.environment FROM project_profile f JOIN project USING (project)
     WHERE f.organization_id = (SELECT organization_id FROM project WHERE project = ?) AND f.deleted_ms IS NULL
     ORDER BY f.created_ms, project_id`,
  );
  return {
    membership: () => {
      const row = membership.get(current.project);
      return row === undefined ? null : membershipOf(row);
    },
    living: () => living.all(current.project),
    saveHomes: organizationWrites(write).saveHomes,
  };
}

/** Makes a new project the home if its organization has none. */
export function homeMover(prepare: Prepare, run: Run): (project: number) => void {
  const current: Current = { project: 0 };
  const rows = homeRows(prepare, current, (made, values) => run(current.project, made, values));
  return (project) => {
    current.project = project;
    moveHomes(rows);
  };
}

/** Returns the home that receives a project's changes; null if the project is its own home or has none. */
export function homeFinder(prepare: Prepare): (projectId: string) => string | null {
  const membership = prepare<MembershipRow>(
    'find home of project',
    `${membershipSql} WHERE p.project = (SELECT project FROM project WHERE project_id = ?)`,
  );
  return (projectId) => {
    const row = membership.get(projectId);
    return homeBeside(row === undefined ? null : membershipOf(row));
  };
}
