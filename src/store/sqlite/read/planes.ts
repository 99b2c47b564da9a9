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
import type { TelemetryReader } from '../../port/planes.ts';
import { storedProjectOf, type ProfileRow } from '../../rules/tenant-row.ts';
import type { Connection, Value } from '../../file/connection.ts';
import type { ProjectNumber } from './leaves.ts';
import { profileSql, projectSql } from './tenants.ts';

export const telemetryReads = (db: Connection, numberOf: ProjectNumber): TelemetryReader => ({
  ...planeReads(db, numberOf),
  ...credentialReads(db),
  ...reportReads(db, numberOf),
  ...challengeReads(db, numberOf),
  ...countReads(db, numberOf),
});

type Of<Names extends keyof TelemetryReader> = Pick<TelemetryReader, Names>;

const planeSql = planeColumns.map((column) => `t.${column}`).join(', ');
const reportSql = reportColumns.map((column) => `r.${column}`).join(', ');

function planeReads(db: Connection, numberOf: ProjectNumber): Of<'plane' | 'planes'> {
  const select = (condition: string) =>
    db.prepare<Value[], PlaneRow>(
      `SELECT ${planeSql}, project_id FROM telemetry_plane t JOIN project USING (project)
       WHERE t.project = ? ${condition}`,
    );
  const one = select('AND t.plane_id = ?');
  const page = select(
    'AND (t.created_ms, t.plane_id) < (?, ?) ORDER BY t.created_ms DESC, t.plane_id DESC LIMIT ?',
  );
  return {
    plane: async (projectId, planeId) => {
      const row = one.get(numberOf(projectId), planeId);
      return row === undefined ? null : planeOf(row);
    },
    planes: async (projectId, { after, limit }) =>
      page.all(numberOf(projectId), after?.ms ?? endOfTime, after?.id ?? '', limit).map(planeOf),
  };
}

type OwnedRow = PlaneRow & Pick<ProjectRow, 'organization_id'>;

/** These look-ups name no tenant: the credential decides the tenant. */
function credentialReads(db: Connection): Of<'planeOfKey' | 'planeOfToken'> {
  const select = (column: string) =>
    db.prepare<Value[], OwnedRow>(
      `SELECT ${planeSql}, project_id, organization_id FROM telemetry_plane t JOIN project USING (project)
       WHERE t.${column} = ?`,
    );
  const current = select('key_digest');
  const previous = select('previous_digest');
  const token = select('token_digest');
  const profile = db.prepare<Value[], ProjectRow & ProfileRow>(
    `SELECT ${projectSql}, ${profileSql} FROM project JOIN project_profile f USING (project)
     WHERE project.project_id = ? AND project.organization_id = ?`,
  );
  const found = (row: OwnedRow | undefined) => {
    if (row === undefined) return null;
    const its = profile.get(row.project_id, row.organization_id);
    return its === undefined
      ? null
      : { plane: planeOf(row), project: projectOf(its), stored: storedProjectOf(its) };
  };
  const ofKey = db.transaction((digest: Uint8Array) => found(current.get(digest) ?? previous.get(digest)));
  const ofToken = db.transaction((digest: Uint8Array) => found(token.get(digest)));
  return { planeOfKey: async (digest) => ofKey(digest), planeOfToken: async (digest) => ofToken(digest) };
}

function reportReads(
  db: Connection,
  numberOf: ProjectNumber,
): Of<'report' | 'reportAt' | 'reports' | 'unlinked'> {
  const select = (condition: string) =>
    db.prepare<Value[], ReportRow>(
      `SELECT ${reportSql} FROM telemetry_report r WHERE r.project = ? AND r.plane_id = ? ${condition}`,
    );
  const one = select('AND r.report_id = ?');
  const at = select('AND r.epoch = ? AND r.sequence = ?');
  const page = select('AND (r.epoch, r.sequence) < (?, ?) ORDER BY r.epoch DESC, r.sequence DESC LIMIT ?');
  const unlinked = select(
    `AND r.epoch = ? AND r.link = 'unknown' AND r.sequence IN (
       SELECT sequence FROM telemetry_report WHERE project = ? AND plane_id = ? AND epoch = ? AND link <> 'linked'
       ORDER BY sequence DESC LIMIT ${limits.reportsUnlinkedSeen}) AND EXISTS (
       SELECT 1 FROM telemetry_report p WHERE p.project = r.project AND p.plane_id = r.plane_id
         AND p.epoch = r.epoch AND p.sequence = r.sequence - 1)
     ORDER BY r.sequence LIMIT ?`,
  );
  const read = (row: ReportRow | undefined) => (row === undefined ? null : reportOf(row));
  return {
    report: async (projectId, planeId, reportId) => read(one.get(numberOf(projectId), planeId, reportId)),
    reportAt: async (projectId, planeId, { epoch, sequence }) =>
      read(at.get(numberOf(projectId), planeId, epoch, sequence)),
    reports: async (projectId, planeId, { after, limit }) => {
      const from = [after?.epoch ?? Number.MAX_SAFE_INTEGER, after?.sequence ?? 0];
      return page.all(numberOf(projectId), planeId, ...from, limit).map(reportOf);
    },
    unlinked: async (projectId, planeId, epoch, limit) => {
      const place = [numberOf(projectId), planeId, epoch];
      return unlinked.all(...place, ...place, limit).map(reportOf);
    },
  };
}

function challengeReads(
  db: Connection,
  numberOf: ProjectNumber,
): Of<'challenged' | 'expiredChallenges' | 'overdueChallenges'> {
  const select = db.prepare<Value[], ReportRow & { project_id: string }>(
    `SELECT ${reportSql}, p.project_id FROM telemetry_report r JOIN project p USING (project)
     WHERE r.challenge_id = ? AND p.organization_id = ?`,
  );
  const expired = db
    .prepare<Value[], number>(
      `SELECT count(*) FROM telemetry_report
       WHERE project = ? AND plane_id = ? AND attestation = 'expired'`,
    )
    .pluck();
  const overdue = db.prepare<Value[], OverdueRow>(overdueSql('?', '?'));
  return {
    challenged: async (organizationId, challengeId) => {
      const row = select.get(challengeId, organizationId);
      return row === undefined ? null : { projectId: row.project_id, report: reportOf(row) };
    },
    expiredChallenges: async (projectId, planeId) => expired.get(numberOf(projectId), planeId) ?? 0,
    overdueChallenges: async (atMs, limit) => overdue.all(atMs, limit),
  };
}

function countReads(
  db: Connection,
  numberOf: ProjectNumber,
): Of<'reportedSizes' | 'planeEpoch' | 'newestEpoch' | 'planeUsage'> {
  const size = db
    .prepare<Value[], number | null>(
      `SELECT max(tree_size) FROM telemetry_report
       WHERE project = ? AND plane_id = ? AND epoch = ? AND tree_size < ?`,
    )
    .pluck();
  const epoch = (condition: string) =>
    db.prepare<Value[], EpochRow>(
      `SELECT ${epochSql} FROM telemetry_epoch e WHERE e.project = ? AND e.plane_id = ? ${condition}`,
    );
  const one = epoch('AND e.epoch = ?');
  const newest = epoch('ORDER BY e.epoch DESC LIMIT 1');
  const usage = db.prepare<Value[], CountRow>(
    `SELECT ${countColumns.join(', ')} FROM telemetry_usage WHERE project = ? AND month = ?`,
  );
  const read = (row: EpochRow | undefined) => (row === undefined ? null : epochOf(row));
  return {
    reportedSizes: async (projectId, planeId, { epoch: of, treeSize, limit }) => {
      const sizes: number[] = [];
      // one look-up per size, no matter how many reports have it
      for (let below: number | null = treeSize; sizes.length < limit;) {
        below = size.get(numberOf(projectId), planeId, of, below) ?? null;
        if (below === null) break;
        sizes.push(below);
      }
      return sizes;
    },
    planeEpoch: async (projectId, planeId, of) => read(one.get(numberOf(projectId), planeId, of)),
    newestEpoch: async (projectId, planeId) => read(newest.get(numberOf(projectId), planeId)),
    planeUsage: async (projectId, month) => {
      const row = usage.get(numberOf(projectId), month);
      return row === undefined ? zeroTotals : countsOf(row);
    },
  };
}
