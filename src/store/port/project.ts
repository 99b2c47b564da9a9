/**
 * The row of a project, the same in the tables of both engines.
 * Proven by `test/store/suite/tenancy/projects.ts`.
 */
import type { Project } from './log.ts';

export interface ProjectRow {
  project_id: string;
  organization_id: string;
  environment: Project['environment'];
  audit_origin: string;
  metering_origin: string;
}

export const projectOf = (row: ProjectRow): Project => ({
  projectId: row.project_id,
  organizationId: row.organization_id,
  environment: row.environment,
  auditOrigin: row.audit_origin,
  meteringOrigin: row.metering_origin,
});
