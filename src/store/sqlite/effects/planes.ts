/**
 * The rows of effects on data planes of the current project; `src/store/rules/planes.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import type { MonthTotals } from '../../rules/plane-usage.ts';
import { countColumns, countsOf, type CountRow } from '../../rules/epoch-row.ts';
import { challengeStates, type PlaneState, type TelemetryRows } from '../../rules/planes.ts';
import type { StoredReport } from '../../port/planes.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';
import { telemetryWrites } from '../../write/planes.ts';
import type { Writer } from '../../write/statement.ts';

type TelemetryPart<Names extends keyof TelemetryRows> = Pick<TelemetryRows, Names>;

export const telemetryRows = (prepare: Prepare, current: Current, write: Writer<unknown>): TelemetryRows => ({
  ...telemetryWrites(write),
  ...planeRows(prepare, current),
  ...reportRows(prepare, current),
  ...countRows(prepare, current),
});

function planeRows(
  prepare: Prepare,
  current: Current,
): TelemetryPart<'planeState' | 'unrevokedPlanes' | 'ownerOf'> {
  const find = prepare<PlaneState>(
    'find plane',
    'SELECT revision, revoked_ms AS revokedMs FROM telemetry_plane WHERE project = ? AND plane_id = ?',
  );
  const count = prepare<{ n: number }>(
    'count planes',
    'SELECT count(*) AS n FROM telemetry_plane WHERE project = ? AND revoked_ms IS NULL',
  );
  // The origins and keys of a plane are unique over all projects.
  const owner = (column: string) =>
    prepare<{ planeId: string; project: number }>(
      `find plane of ${column}`,
      `SELECT plane_id AS planeId, project FROM telemetry_plane WHERE ${column} = ?`,
    );
  const owners = {
    origin: owner('origin'),
    auditOrigin: owner('audit_origin'),
    verifierKey: owner('verifier_key'),
  };
  return {
    planeState: (planeId) => find.get(current.project, planeId) ?? null,
    unrevokedPlanes: () => count.get(current.project)?.n ?? 0,
    ownerOf: (claim, text) => {
      const row = owners[claim].get(text);
      return row === undefined ? null : { planeId: row.planeId, isOwn: row.project === current.project };
    },
  };
}

function reportRows(prepare: Prepare, current: Current): TelemetryPart<'linkAt' | 'challengeState'> {
  const link = prepare<{ link: StoredReport['link'] }>(
    'find link of report',
    'SELECT link FROM telemetry_report WHERE project = ? AND plane_id = ? AND epoch = ? AND sequence = ?',
  );
  const challenge = prepare<{ attestation: StoredReport['attestation'] }>(
    'find challenge of report',
    'SELECT attestation FROM telemetry_report WHERE project = ? AND plane_id = ? AND report_id = ?',
  );
  return {
    linkAt: ({ planeId, epoch, sequence }) =>
      link.get(current.project, planeId, epoch, sequence)?.link ?? null,
    challengeState: ({ planeId, reportId }) => {
      const row = challenge.get(current.project, planeId, reportId);
      return row === undefined ? null : challengeStates[row.attestation];
    },
  };
}

function countRows(prepare: Prepare, current: Current): TelemetryPart<'monthsOf'> {
  const months = prepare<CountRow & { month: string }>(
    'find months of epoch',
    `SELECT month, ${countColumns.join(', ')} FROM telemetry_month WHERE project = ? AND plane_id = ? AND epoch = ?`,
  );
  return {
    monthsOf: ({ planeId, epoch }) =>
      months
        .all(current.project, planeId, epoch)
        .map((row): MonthTotals => ({ month: row.month, totals: countsOf(row) })),
  };
}
