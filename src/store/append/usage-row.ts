/**
 * The units that the projects of an organization used in a month, the same in both engines.
 * Proven by `test/store/suite/tenancy/projects.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { zeroTotals, type Totals } from '../../core/planes/metering.ts';
import { usedBetween, type UsedUnits } from './quota.ts';
import { baseOf } from './period.ts';
import { countColumns, countsOf, type CountRow } from '../rules/epoch-row.ts';
import type { ProjectUsage } from '../port/tenancy.ts';

/** The columns of a project that decide its use in a month. */
export interface UsageRow {
  base: string | null;
  /** Totals before the next month with metered operations. */
  next: string | null;
  newest: string | null;
}

/** A month without a row has no units. If no later month has a row, the use ends at the newest totals. */
export function usedOf(row: UsageRow | undefined): UsedUnits {
  const { base = null, next = null, newest = null } = row ?? {};
  if (base === null || newest === null) return zeroTotals;
  const end = next === null ? (JSON.parse(newest) as { totals: Totals }).totals : baseOf(next);
  return usedBetween(baseOf(base), end);
}

/**
 * Unix milliseconds: a project that was used in the month cannot be deleted earlier. Allows clocks to differ
 * by a day.
 */
export const deletedSince = (month: string): number => Date.parse(`${month}-01T00:00:00Z`) - 24 * 3_600_000;

/** A project's columns: `usageNames` of its profile `f` and its row `p`. */
export interface UsageNames {
  project_id: string;
  name: string;
  environment: ProjectUsage['environment'];
  deleted_ms: number | null;
}

export const usageNames = 'p.project_id, f.name, f.environment, f.deleted_ms';

/** Columns of `telemetry_usage`; null if planes reported nothing. */
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

/** The number of last deleted projects that are searched. */
export const deletedLimit = limits.projectsPerOrganization;

/** The result of `TenantReader.usageOf`. `deleted` has one row above the limit if there are more. */
export const usagesOf = (found: Record<'living' | 'deleted', readonly ProjectUsage[]>) => ({
  projects: [
    ...found.living,
    ...found.deleted
      .slice(0, deletedLimit)
      .filter(({ used, planes }) => [...Object.values(used), ...Object.values(planes)].some(Boolean)),
  ],
  complete: found.deleted.length <= deletedLimit,
});
