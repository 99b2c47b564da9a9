/** What the projects of an organization used in a month, as both engines answer it. Proven by `test/store/suite/tenancy/projects.ts`. */
import { limits } from '../../contract/limits.ts';
import { zeroTotals, type Totals } from '../../core/plane/metering.ts';
import { baseOf, usedBetween, type Used } from '../append/quota.ts';
import { countColumns, countsOf, type CountRow } from './epoch-row.ts';
import type { ProjectUsage } from '../port/tenancy.ts';

/** What of a project tells what it used in a month. */
export interface UsageRow {
  base: string | null;
  /** Totals before the next month in which something was metered. */
  next: string | null;
  newest: string | null;
}

/** Nothing was metered in a month without a row; one that no other month followed goes on. */
export function usedOf(row: UsageRow | undefined): Used {
  const { base = null, next = null, newest = null } = row ?? {};
  if (base === null || newest === null) return zeroTotals;
  const end = next === null ? (JSON.parse(newest) as { totals: Totals }).totals : baseOf(next);
  return usedBetween(baseOf(base), end);
}

/** Unix milliseconds from which on projects may have been deleted that were used in a month; clocks may differ by a day. */
export const deletedSince = (month: string): number => Date.parse(`${month}-01T00:00:00Z`) - 24 * 3_600_000;

/** Of a project, as `usageNames` of its profile `f` and its row `p`. */
export interface UsageNames {
  project_id: string;
  name: string;
  environment: ProjectUsage['environment'];
  deleted_ms: number | null;
}

export const usageNames = 'p.project_id, f.name, f.environment, f.deleted_ms';

/** Of `telemetry_usage`, null where planes reported nothing. */
export type PlaneCounts = CountRow | Record<keyof CountRow, null>;
export const planeCounts = countColumns.map((column) => `t.${column}`).join(', ');

export const planesOf = (row: PlaneCounts | undefined): ProjectUsage['planes'] =>
  row === undefined || row.audit_event === null ? zeroTotals : countsOf(row);

export const usageRow = (
  row: UsageNames,
  { used, planes }: Pick<ProjectUsage, 'used' | 'planes'>,
): ProjectUsage => ({
  projectId: row.project_id,
  name: row.name,
  environment: row.environment,
  deletedMs: row.deleted_ms,
  used,
  planes,
});

/** How many of those that were deleted last are looked at. */
export const deletedLimit = limits.projectsPerOrganization;

/** As `TenantReader.usageOf`; `deleted` has one more than the limit where there are more. */
export const usagesOf = (found: Record<'living' | 'deleted', readonly ProjectUsage[]>) => ({
  projects: [
    ...found.living,
    ...found.deleted
      .slice(0, deletedLimit)
      .filter(({ used, planes }) => [...Object.values(used), ...Object.values(planes)].some(Boolean)),
  ],
  complete: found.deleted.length <= deletedLimit,
});
