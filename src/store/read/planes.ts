/**
 * Reads of data planes and of their reports.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { zeroTotals } from '../../core/planes/metering.ts';
import { endOfTime } from '../port/bounds.ts';
import { projectOf, type ProjectRow } from '../port/project.ts';
import { selected } from '../rules/columns.ts';
import {
  countColumns,
  countsOf,
  epochOf,
  epochSql,
  type CountRow,
  type EpochRow,
} from '../rules/epoch-row.ts';
import {
  planeColumns,
  planeOf,
  reportColumns,
  reportOf,
  type PlaneRow,
  type ReportRow,
} from '../rules/plane-row.ts';
import type { OverdueChallenge, StoredPlane, TelemetryReader } from '../port/planes.ts';
import type { ProfileRow } from '../rules/tenant-row.ts';
import { both, each, enter, firstOf, rowsOf, step, type Queries } from './queries.ts';
import { profileSql, projectSql, readProject } from './tenants.ts';

type ReaderPart<Names extends keyof TelemetryReader> = Pick<TelemetryReader, Names>;

export const telemetryReads = (queries: Queries): TelemetryReader => ({
  ...planeReads(queries),
  ...credentialReads(queries),
  ...reportReads(queries),
  ...challengeReads(queries),
  ...countReads(queries),
});

const planeSql = selected(planeColumns, { from: 't' });
const reportSql = selected(reportColumns, { from: 'r' });
const readPlane = (queries: Queries, row: PlaneRow): StoredPlane =>
  planeOf({ ...row, name: queries.text(row.name) });

const selectPlanes = (condition: string) =>
  both<PlaneRow>(
    `SELECT ${planeSql}, project_id FROM telemetry_plane t JOIN project USING (project)
     WHERE t.project = $1 ${condition}`,
  );
const onePlane = selectPlanes('AND t.plane_id = $2');
const planePage = selectPlanes(
  'AND (t.created_ms, t.plane_id) < ($2, $3) ORDER BY t.created_ms DESC, t.plane_id DESC LIMIT $4',
);

const planeReads = (queries: Queries): ReaderPart<'plane' | 'planes'> => ({
  plane: async (projectId, planeId) =>
    firstOf(await rowsOf(queries, projectId, onePlane, planeId), (row) => readPlane(queries, row)),
  planes: async (projectId, { after, limit }) => {
    const position = [after?.ms ?? endOfTime, after?.id ?? ''];
    const rows = await rowsOf(queries, projectId, planePage, ...position, limit);
    return rows.map((row) => readPlane(queries, row));
  },
});

/** Finds a plane by the value of one of these columns: the policy shows that row alone, then its project. */
function ofCredential(columns: readonly string[]) {
  const planesWith = (wanted: string): string =>
    columns
      .map((column) => `SELECT ${wanted} FROM telemetry_plane WHERE ${column}_digest = $1`)
      .join(' UNION ALL ');
  return {
    enter: enter(
      `SELECT set_config('gov.project', coalesce((SELECT project::text FROM (${planesWith('project')}) t), ''), true)`,
    ),
    plane: both<Omit<PlaneRow, 'project_id'>>(planesWith(selected(planeColumns))),
    project: both<ProjectRow & ProfileRow>(
      `SELECT ${projectSql}, ${profileSql} FROM (${planesWith('project')}) t JOIN project p USING (project)
       JOIN project_profile f USING (project)`,
    ),
  };
}
const byKey = ofCredential(['key', 'previous']);
const byToken = ofCredential(['token']);

function credentialReads(queries: Queries): ReaderPart<'planeOfKey' | 'planeOfToken'> {
  const find = async (by: typeof byKey, digest: Uint8Array) => {
    const bytes = Buffer.from(digest);
    const [, planes, projects] = await queries.read({ digest }, [
      step(by.enter, bytes),
      step(by.plane, bytes),
      step(by.project, bytes),
    ]);
    const [found, its] = [planes.rows[0], projects.rows[0]];
    if (found === undefined || its === undefined) return null;
    return {
      plane: readPlane(queries, { ...found, project_id: its.project_id }),
      project: projectOf(its),
      stored: readProject(queries, its),
    };
  };
  return {
    planeOfKey: (digest) => find(byKey, digest),
    planeOfToken: (digest) => find(byToken, digest),
  };
}

const selectReports = (condition: string) =>
  both<ReportRow>(
    `SELECT ${reportSql} FROM telemetry_report r WHERE r.project = $1 AND r.plane_id = $2 ${condition}`,
  );
const oneReport = selectReports('AND r.report_id = $3');
const reportAt = selectReports('AND r.epoch = $3 AND r.sequence = $4');
const reportPage = selectReports(
  'AND (r.epoch, r.sequence) < ($3, $4) ORDER BY r.epoch DESC, r.sequence DESC LIMIT $5',
);

const suspects = `FROM telemetry_report WHERE project = $1 AND plane_id = $2 AND epoch = $3 AND link <> 'linked'
  ORDER BY sequence DESC LIMIT ${limits.reportsUnlinkedSeen}`;
const ofReport = (columns: string, sequence: string) =>
  `(SELECT ${columns} FROM telemetry_report r
    WHERE r.project = $1 AND r.plane_id = $2 AND r.epoch = $3 AND r.sequence = ${sequence} OFFSET 0)`;
/**
 * One look-up per report, by key. In PostgreSQL a join would grow with the square of their number, and SQLite
 * has no LATERAL.
 */
const unlinked = each<ReportRow>({
  postgres: `SELECT ${reportSql} FROM (SELECT sequence, link ${suspects}) u
     CROSS JOIN LATERAL ${ofReport('sequence', 'u.sequence - 1')} p
     CROSS JOIN LATERAL ${ofReport('*', 'u.sequence')} r
     WHERE u.link = 'unknown' ORDER BY r.sequence LIMIT $4`,
  sqlite: `SELECT ${reportSql} FROM telemetry_report r WHERE r.project = $1 AND r.plane_id = $2 AND r.epoch = $3
       AND r.link = 'unknown' AND r.sequence IN (SELECT sequence ${suspects}) AND EXISTS (
       SELECT 1 FROM telemetry_report p WHERE p.project = r.project AND p.plane_id = r.plane_id
         AND p.epoch = r.epoch AND p.sequence = r.sequence - 1)
     ORDER BY r.sequence LIMIT $4`,
});

const reportReads = (queries: Queries): ReaderPart<'report' | 'reportAt' | 'reports' | 'unlinked'> => ({
  report: async (projectId, planeId, reportId) =>
    firstOf(await rowsOf(queries, projectId, oneReport, planeId, reportId), reportOf),
  reportAt: async (projectId, planeId, { epoch, sequence }) =>
    firstOf(await rowsOf(queries, projectId, reportAt, planeId, epoch, sequence), reportOf),
  reports: async (projectId, planeId, { after, limit }) => {
    const from = [after?.epoch ?? Number.MAX_SAFE_INTEGER, after?.sequence ?? 0];
    return (await rowsOf(queries, projectId, reportPage, planeId, ...from, limit)).map(reportOf);
  },
  unlinked: async (projectId, planeId, epoch, limit) =>
    (await rowsOf(queries, projectId, unlinked, planeId, epoch, limit)).map(reportOf),
});

const enterChallenge = enter("SELECT set_config('gov.lookup', $1, true)");
const challenged = both<ReportRow & { project_id: string }>(
  `SELECT ${reportSql}, p.project_id FROM telemetry_report r JOIN project p USING (project)
   WHERE r.challenge_id = $1 AND p.organization_id = $2`,
);
const expired = both<{ n: number }>(
  "SELECT count(*) AS n FROM telemetry_report WHERE project = $1 AND plane_id = $2 AND attestation = 'expired'",
);
/** Of all projects; uses an index of the open challenges. */
const overdue = both<OverdueChallenge>(
  `SELECT p.project_id AS "projectId", r.plane_id AS "planeId", r.report_id AS "reportId",
     r.challenge_id AS "challengeId", r.challenge_expires_ms AS "expiresMs"
   FROM telemetry_report r JOIN project p USING (project)
   WHERE r.attestation = 'pending' AND r.challenge_expires_ms <= $1
   ORDER BY r.challenge_expires_ms LIMIT $2`,
);

const challengeReads = (
  queries: Queries,
): ReaderPart<'challenged' | 'expiredChallenges' | 'overdueChallenges'> => ({
  challenged: async (organizationId, challengeId) => {
    const [, { rows }] = await queries.read({ organizationId }, [
      step(enterChallenge, challengeId),
      step(challenged, challengeId, organizationId),
    ]);
    return firstOf(rows, (row) => ({ projectId: row.project_id, report: reportOf(row) }));
  },
  expiredChallenges: async (projectId, planeId) =>
    (await rowsOf(queries, projectId, expired, planeId))[0]?.n ?? 0,
  overdueChallenges: async (atMs, limit) =>
    (await queries.read({ duty: 'jobs' }, [step(overdue, atMs, limit)]))[0].rows,
});

const selectEpoch = (condition: string) =>
  both<EpochRow>(
    `SELECT ${epochSql} FROM telemetry_epoch e WHERE e.project = $1 AND e.plane_id = $2 ${condition}`,
  );
const oneEpoch = selectEpoch('AND e.epoch = $3');
const newestEpoch = selectEpoch('ORDER BY e.epoch DESC LIMIT 1');

const largest = (bound: string): string =>
  `SELECT max(tree_size) FROM telemetry_report
   WHERE project = $1 AND plane_id = $2 AND epoch = $3 AND tree_size >= 0 AND tree_size < ${bound}`;
/** One look-up per size, no matter how many reports have it. */
const sizesBelow = both<{ size: number }>(
  `WITH RECURSIVE sizes (size, n) AS (SELECT (${largest('$4')}), 1
     UNION ALL SELECT (${largest('sizes.size')}), n + 1 FROM sizes WHERE size IS NOT NULL AND n < $5)
   SELECT size FROM sizes WHERE size IS NOT NULL ORDER BY n LIMIT $5`,
);
const unitsOf = both<CountRow>(
  `SELECT ${countColumns.join(', ')} FROM telemetry_usage WHERE project = $1 AND month = $2`,
);

const countReads = (
  queries: Queries,
): ReaderPart<'planeEpoch' | 'newestEpoch' | 'reportedSizes' | 'planeUsage'> => ({
  planeEpoch: async (projectId, planeId, epoch) =>
    firstOf(await rowsOf(queries, projectId, oneEpoch, planeId, epoch), epochOf),
  newestEpoch: async (projectId, planeId) =>
    firstOf(await rowsOf(queries, projectId, newestEpoch, planeId), epochOf),
  reportedSizes: async (projectId, planeId, { epoch, treeSize, limit }) => {
    const rows = await rowsOf(queries, projectId, sizesBelow, planeId, epoch, treeSize, limit);
    return rows.map(({ size }) => size);
  },
  planeUsage: async (projectId, month) =>
    firstOf(await rowsOf(queries, projectId, unitsOf, month), countsOf) ?? zeroTotals,
});
