/**
 * Reads of the monthly usage of projects.
 * Proven by `test/store/suite/tenancy/projects.ts` and `test/store/suite/tenancy/quota.ts`.
 */
import type { TenantReader } from '../../port/store.ts';
import {
  deletedLimit,
  deletedSince,
  planeCounts,
  planesOf,
  usageNames,
  usageRow,
  usagesOf,
  usedOf,
  type PlaneCounts,
  type UsageNames,
  type UsageRow,
} from '../../append/usage-row.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { positionBits } from '../../file/position.ts';
import type { ProjectNumber } from './leaves.ts';

const usageSql = `(SELECT base FROM period n WHERE n.project = p.project AND n.month = ?) AS base,
    (SELECT base FROM period n WHERE n.project = p.project AND n.month > ? ORDER BY n.month LIMIT 1) AS next,
    (SELECT record FROM meter WHERE position = (p.project << ${positionBits}) + head.size - 1) AS newest
  FROM project p JOIN head ON head.project = p.project AND head.tree = 1`;

export function usageReads(db: Connection, numberOf: ProjectNumber): Pick<TenantReader, 'usage' | 'usageOf'> {
  const ofProject = db.prepare<Value[], UsageRow>(`SELECT ${usageSql} WHERE p.project = ?`);
  const ofOrganization = (condition: string) =>
    db.prepare<Value[], UsageRow & UsageNames & PlaneCounts>(
      `SELECT ${usageNames}, ${planeCounts}, ${usageSql} JOIN project_profile f ON f.project = p.project
       LEFT JOIN telemetry_usage t ON t.project = p.project AND t.month = ?
       WHERE f.organization_id = ? AND ${condition}`,
    );
  const living = ofOrganization('f.deleted_ms IS NULL ORDER BY f.created_ms DESC, project_id DESC');
  const deleted = ofOrganization('f.deleted_ms >= ? ORDER BY f.deleted_ms DESC, project_id DESC LIMIT ?');
  const counted = (row: UsageRow & UsageNames & PlaneCounts) =>
    usageRow(row, { used: usedOf(row), planes: planesOf(row) });
  return {
    usage: async (projectId, month) => {
      return usedOf(ofProject.get(month, month, numberOf(projectId)));
    },
    usageOf: async (organizationId, month) => {
      const since = deletedSince(month);
      return usagesOf({
        living: living.all(month, month, month, organizationId).map(counted),
        deleted: deleted.all(month, month, month, organizationId, since, deletedLimit + 1).map(counted),
      });
    },
  };
}
