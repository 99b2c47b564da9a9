/**
 * Reads of the monthly usage of projects.
 * Proven by `test/store/suite/tenancy/projects.ts` and `test/store/suite/tenancy/quota.ts`.
 */
import type { ProjectUsage, TenantReader } from '../../port/store.ts';
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
import { scoped, type Database } from '../connection/database.ts';
import type { ProjectNumber } from './leaves.ts';
import { positionBits } from '../schema/tables.ts';
import { read } from '../effects/texts.ts';
import { sql, step } from '../../read/queries.ts';

/** One statement, so that it sees all or nothing of an append that begins a month. */
const usageIn = sql<UsageRow>(
  `SELECT (SELECT base FROM period WHERE project = $1 AND month = $2) AS base,
     (SELECT base FROM period WHERE project = $1 AND month > $2 ORDER BY month LIMIT 1) AS next,
     m.record AS newest
   FROM (SELECT ($1::int8 << ${positionBits}) + size - 1 AS position FROM head
     WHERE project = $1 AND tree = 1 OFFSET 0) h LEFT JOIN meter m ON m.position = h.position`,
);
const planesIn = sql<PlaneCounts>(
  `SELECT ${planeCounts} FROM telemetry_usage t WHERE t.project = $1 AND t.month = $2`,
);
const usersOf = (condition: string) =>
  sql<UsageNames & { project: number }>(
    `SELECT p.project, ${usageNames} FROM project_profile f JOIN project p USING (project)
     WHERE f.organization_id = $1 AND ${condition}`,
  );
const livingUsers = usersOf('f.deleted_ms IS NULL ORDER BY f.created_ms DESC, p.project_id DESC');
const deletedUsers = usersOf('f.deleted_ms >= $2 ORDER BY f.deleted_ms DESC, p.project_id DESC LIMIT $3');

/** Projects per round trip. */
const projectsAtOnce = 200;

export const usageReads = (
  database: Database,
  numberOf: ProjectNumber,
): Pick<TenantReader, 'usage' | 'usageOf'> => ({
  usage: async (projectId, month) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(usageIn, project, month)]);
    return usedOf(rows[0]);
  },
  usageOf: async (organizationId, month) => {
    const [living, deleted] = await database.read({ organizationId }, [
      step(livingUsers, organizationId),
      step(deletedUsers, organizationId, deletedSince(month), deletedLimit + 1),
    ]);
    const all = [...living.rows, ...deleted.rows];
    const usages: ProjectUsage[] = [];
    for (let from = 0; from < all.length; from += projectsAtOnce) {
      const some = all.slice(from, from + projectsAtOnce);
      const steps = some.flatMap(({ project }) => [
        scoped({ project }),
        step(usageIn, project, month),
        step(planesIn, project, month),
      ]);
      const results = await database.read({ organizationId }, steps);
      some.forEach((row, at) => {
        const rows = results[3 * at + 1]?.rows as UsageRow[] | undefined; // rows of `usageIn`
        const counts = results[3 * at + 2]?.rows as PlaneCounts[] | undefined; // rows of `planesIn`
        const units = { used: usedOf(rows?.[0]), planes: planesOf(counts?.[0]) };
        usages.push(usageRow({ ...row, name: read(row.name) }, units));
      });
    }
    const count = living.rows.length;
    return usagesOf({ living: usages.slice(0, count), deleted: usages.slice(count) });
  },
});
