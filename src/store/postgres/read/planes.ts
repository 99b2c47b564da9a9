/**
 * Reads of data planes and of their reports.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { zeroTotals } from '../../../core/plane/metering.ts';
import { endOfTime } from '../../port/bounds.ts';
import { projectOf, type ProjectRow } from '../../port/project.ts';
import {
  countColumns,
  countsOf,
  epochOf,
  epochSql,
  type CountRow,
  type EpochRow,
} from '../../rules/epoch-row.ts';
import {
  planeColumns,
  planeOf,
  reportColumns,
  overdueSql,
  reportOf,
  type OverdueRow,
  type PlaneRow,
  type ReportRow,
} from '../../rules/plane-row.ts';
import type { StoredPlane, TelemetryReader } from '../../port/planes.ts';
import type { ProfileRow } from '../../rules/tenant-row.ts';
import { scoped, type Database } from '../connection/database.ts';
import type { ProjectNumber } from './leaves.ts';
import { profileSql, projectSql, readProject } from './tenants.ts';
import { read } from '../effects/texts.ts';
import { sql, step, type Sql } from '../connection/wire.ts';

type Of<Names extends keyof TelemetryReader> = Pick<TelemetryReader, Names>;

export const telemetryReads = (database: Database, numberOf: ProjectNumber): TelemetryReader => ({
  ...planeReads(database, numberOf),
  ...credentialReads(database),
  ...reportReads(database, numberOf),
  ...challengeReads(database, numberOf),
  ...epochReads(database, numberOf),
  ...countReads(database, numberOf),
});

const planeSql = planeColumns.map((column) => `t.${column}`).join(', ');
const reportSql = reportColumns.map((column) => `r.${column}`).join(', ');
const readPlane = (row: PlaneRow): StoredPlane => planeOf({ ...row, name: read(row.name) });

const selectPlanes = (condition: string) =>
  sql<PlaneRow>(
    `SELECT ${planeSql}, project_id FROM telemetry_plane t JOIN project USING (project)
     WHERE project = $1 ${condition}`,
  );
const onePlane = selectPlanes('AND t.plane_id = $2');
const planePage = selectPlanes(
  'AND (t.created_ms, t.plane_id) < ($2, $3) ORDER BY t.created_ms DESC, t.plane_id DESC LIMIT $4',
);

const planeReads = (database: Database, numberOf: ProjectNumber): Of<'plane' | 'planes'> => ({
  plane: async (projectId, planeId) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(onePlane, project, planeId)]);
    return rows[0] === undefined ? null : readPlane(rows[0]);
  },
  planes: async (projectId, { after, limit }) => {
    const project = await numberOf(projectId);
    const wanted = step(planePage, project, after?.ms ?? endOfTime, after?.id ?? '', limit);
    return (await database.read({ project }, [wanted]))[0].rows.map(readPlane);
  },
});

/** Finds a plane by the value of one of these columns: the policy shows that row alone, then its project. */
function ofCredential(columns: readonly string[]) {
  const planes = columns
    .map((column) => `SELECT * FROM telemetry_plane WHERE ${column}_digest = $1`)
    .join(' UNION ALL ');
  return {
    enter: sql(
      `SELECT set_config('gov.project', coalesce((SELECT project::text FROM (${planes}) t), ''), true)`,
    ),
    plane: sql<PlaneRow>(`SELECT ${planeSql}, project_id FROM (${planes}) t JOIN project USING (project)`),
    project: sql<ProjectRow & ProfileRow>(
      `SELECT ${projectSql}, ${profileSql} FROM (${planes}) t JOIN project p USING (project)
       JOIN project_profile f USING (project)`,
    ),
  };
}
const byKey = ofCredential(['key', 'previous']);
const byToken = ofCredential(['token']);

function credentialReads(database: Database): Of<'planeOfKey' | 'planeOfToken'> {
  const find = async ({ enter, plane, project }: typeof byKey, digest: Uint8Array) => {
    const bytes = Buffer.from(digest);
    const [, planes, projects] = await database.read({ digest }, [
      step(enter, bytes),
      step(plane, bytes),
      step(project, bytes),
    ]);
    const [found, its] = [planes.rows[0], projects.rows[0]];
    if (found === undefined || its === undefined) return null;
    return { plane: readPlane(found), project: projectOf(its), stored: readProject(its) };
  };
  return {
    planeOfKey: (digest) => find(byKey, digest),
    planeOfToken: (digest) => find(byToken, digest),
  };
}

const selectReports = (condition: string) =>
  sql<ReportRow>(
    `SELECT ${reportSql} FROM telemetry_report r WHERE r.project = $1 AND r.plane_id = $2 ${condition}`,
  );
const oneReport = selectReports('AND r.report_id = $3');
const reportAt = selectReports('AND r.epoch = $3 AND r.sequence = $4');
const reportPage = selectReports(
  'AND (r.epoch, r.sequence) < ($3, $4) ORDER BY r.epoch DESC, r.sequence DESC LIMIT $5',
);
/** One look-up per report, by key: a join would grow with the square of their number. */
const ofReport = (columns: string, sequence: string) =>
  `(SELECT ${columns} FROM telemetry_report r
    WHERE r.project = $1 AND r.plane_id = $2 AND r.epoch = $3 AND r.sequence = ${sequence} OFFSET 0)`;
const unlinked = sql<ReportRow>(
  `SELECT ${reportSql} FROM (
     SELECT sequence, link FROM telemetry_report WHERE project = $1 AND plane_id = $2 AND epoch = $3
       AND link <> 'linked' ORDER BY sequence DESC LIMIT ${limits.reportsUnlinkedSeen}) u
   CROSS JOIN LATERAL ${ofReport('sequence', 'u.sequence - 1')} p
   CROSS JOIN LATERAL ${ofReport('*', 'u.sequence')} r
   WHERE u.link = 'unknown' ORDER BY r.sequence LIMIT $4`,
);

function reportReads(
  database: Database,
  numberOf: ProjectNumber,
): Of<'report' | 'reportAt' | 'reports' | 'unlinked'> {
  const select = async (
    statement: Sql<ReportRow>,
    projectId: string,
    values: readonly (string | number)[],
  ) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(statement, project, ...values)]);
    return rows.map(reportOf);
  };
  return {
    report: async (projectId, planeId, reportId) =>
      (await select(oneReport, projectId, [planeId, reportId]))[0] ?? null,
    reportAt: async (projectId, planeId, { epoch, sequence }) =>
      (await select(reportAt, projectId, [planeId, epoch, sequence]))[0] ?? null,
    reports: (projectId, planeId, { after, limit }) => {
      const from = [after?.epoch ?? Number.MAX_SAFE_INTEGER, after?.sequence ?? 0];
      return select(reportPage, projectId, [planeId, ...from, limit]);
    },
    unlinked: (projectId, planeId, epoch, limit) => select(unlinked, projectId, [planeId, epoch, limit]),
  };
}

const challenged = sql<ReportRow & { project_id: string }>(
  `SELECT ${reportSql}, p.project_id FROM telemetry_report r JOIN project p USING (project)
   WHERE r.challenge_id = $1 AND p.organization_id = $2`,
);

const expired = sql<{ n: number }>(
  "SELECT count(*) AS n FROM telemetry_report WHERE project = $1 AND plane_id = $2 AND attestation = 'expired'",
);
const overdue = sql<OverdueRow>(overdueSql('$1', '$2'));

const challengeReads = (
  database: Database,
  numberOf: ProjectNumber,
): Of<'challenged' | 'expiredChallenges' | 'overdueChallenges'> => ({
  challenged: async (organizationId, challengeId) => {
    const [, { rows }] = await database.read({ organizationId }, [
      scoped({ lookup: challengeId }),
      step(challenged, challengeId, organizationId),
    ]);
    const [row] = rows;
    return row === undefined ? null : { projectId: row.project_id, report: reportOf(row) };
  },
  expiredChallenges: async (projectId, planeId) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(expired, project, planeId)]);
    return rows[0]?.n ?? 0;
  },
  overdueChallenges: async (atMs, limit) =>
    (await database.read({ duty: 'jobs' }, [step(overdue, atMs, limit)]))[0].rows,
});

const selectEpoch = (condition: string) =>
  sql<EpochRow>(
    `SELECT ${epochSql} FROM telemetry_epoch e WHERE e.project = $1 AND e.plane_id = $2 ${condition}`,
  );
const oneEpoch = selectEpoch('AND e.epoch = $3');
const newestEpoch = selectEpoch('ORDER BY e.epoch DESC LIMIT 1');

const epochReads = (database: Database, numberOf: ProjectNumber): Of<'planeEpoch' | 'newestEpoch'> => ({
  planeEpoch: async (projectId, planeId, epoch) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(oneEpoch, project, planeId, epoch)]);
    return rows[0] === undefined ? null : epochOf(rows[0]);
  },
  newestEpoch: async (projectId, planeId) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(newestEpoch, project, planeId)]);
    return rows[0] === undefined ? null : epochOf(rows[0]);
  },
});

const largest = (bound: string): string =>
  `SELECT max(tree_size) FROM telemetry_report
   WHERE project = $1 AND plane_id = $2 AND epoch = $3 AND tree_size >= 0 AND tree_size < ${bound}`;
/** One look-up per size, no matter how many reports have it. */
const sizesBelow = sql<{ size: number }>(
  `WITH RECURSIVE sizes (size, n) AS (SELECT (${largest('$4')}), 1
     UNION ALL SELECT (${largest('sizes.size')}), n + 1 FROM sizes WHERE size IS NOT NULL AND n < $5)
   SELECT size FROM sizes WHERE size IS NOT NULL ORDER BY n LIMIT $5`,
);
const unitsOf = sql<CountRow>(
  `SELECT ${countColumns.join(', ')} FROM telemetry_usage WHERE project = $1 AND month = $2`,
);

const countReads = (database: Database, numberOf: ProjectNumber): Of<'reportedSizes' | 'planeUsage'> => ({
  reportedSizes: async (projectId, planeId, { epoch, treeSize, limit }) => {
    const project = await numberOf(projectId);
    const wanted = step(sizesBelow, project, planeId, epoch, treeSize, limit);
    return (await database.read({ project }, [wanted]))[0].rows.map(({ size }) => size);
  },
  planeUsage: async (projectId, month) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(unitsOf, project, month)]);
    return rows[0] === undefined ? zeroTotals : countsOf(rows[0]);
  },
});
