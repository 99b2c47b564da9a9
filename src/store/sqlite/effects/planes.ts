/**
 * The rows of effects on data planes of the current project; `src/store/rules/planes.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import type { MonthTotals } from '../../rules/plane-usage.ts';
import {
  countColumns,
  countsOf,
  countValues,
  epochValues,
  raiseEpochSql,
  type CountRow,
} from '../../rules/epoch-row.ts';
import { planeColumns, planeValues, reportColumns, reportValues } from '../../rules/plane-row.ts';
import { challengeStates, type PlaneState, type TelemetryRows } from '../../rules/planes.ts';
import type { StoredReport } from '../../port/planes.ts';
import type { Current } from './current.ts';
import { insertInto, type Prepare } from '../../file/statement.ts';

type Of<Names extends keyof TelemetryRows> = Pick<TelemetryRows, Names>;

export const telemetryRows = (prepare: Prepare, current: Current): TelemetryRows => ({
  ...planeRows(prepare, current),
  ...reportRows(prepare, current),
  ...laterRows(prepare, current),
  ...countRows(prepare, current),
});

const places = (count: number): string => Array(count).fill('?').join(', ');

function planeRows(
  prepare: Prepare,
  current: Current,
): Of<'planeState' | 'unrevokedPlanes' | 'ownerOf' | 'savePlane'> {
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
  const save = prepare(
    'save plane',
    `INSERT INTO telemetry_plane (project, ${planeColumns.join(', ')}) VALUES (${places(planeColumns.length + 1)})
     ON CONFLICT (project, plane_id) DO UPDATE SET
       ${planeColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  return {
    planeState: (planeId) => find.get(current.project, planeId) ?? null,
    unrevokedPlanes: () => count.get(current.project)?.n ?? 0,
    ownerOf: (claim, text) => {
      const row = owners[claim].get(text);
      return row === undefined ? null : { planeId: row.planeId, isOwn: row.project === current.project };
    },
    savePlane: (plane) => {
      save.run(current.project, ...planeValues(plane));
    },
  };
}

function reportRows(prepare: Prepare, current: Current): Of<'linkAt' | 'challengeState' | 'addReport'> {
  const link = prepare<{ link: StoredReport['link'] }>(
    'find link of report',
    'SELECT link FROM telemetry_report WHERE project = ? AND plane_id = ? AND epoch = ? AND sequence = ?',
  );
  const challenge = prepare<{ attestation: StoredReport['attestation'] }>(
    'find challenge of report',
    'SELECT attestation FROM telemetry_report WHERE project = ? AND plane_id = ? AND report_id = ?',
  );
  const insert = insertInto(prepare, 'telemetry_report', ['project', ...reportColumns]);
  const raise = prepare('raise epoch', raiseEpochSql(places(7)));
  return {
    linkAt: ({ planeId, epoch, sequence }) =>
      link.get(current.project, planeId, epoch, sequence)?.link ?? null,
    challengeState: ({ planeId, reportId }) => {
      const row = challenge.get(current.project, planeId, reportId);
      return row === undefined ? null : challengeStates[row.attestation];
    },
    addReport: (report) => {
      insert.run(current.project, ...reportValues(report));
      raise.run(...epochValues(current.project, report));
    },
  };
}

function laterRows(
  prepare: Prepare,
  current: Current,
): Of<'linkReport' | 'answerChallenge' | 'expireChallenge'> {
  const link = prepare(
    'link report',
    'UPDATE telemetry_report SET link = ? WHERE project = ? AND plane_id = ? AND epoch = ? AND sequence = ?',
  );
  const answer = prepare(
    'answer challenge',
    `UPDATE telemetry_report SET attestation = ?, answer_digest = ?, answer_status = ?, answer = ?, answer_ms = ?
     WHERE project = ? AND plane_id = ? AND report_id = ?`,
  );
  const expire = prepare(
    'expire challenge',
    `UPDATE telemetry_report SET attestation = 'expired' WHERE project = ? AND plane_id = ? AND report_id = ?`,
  );
  return {
    expireChallenge: ({ planeId, reportId }) => {
      expire.run(current.project, planeId, reportId);
    },
    linkReport: (effect) => {
      link.run(effect.link, current.project, effect.planeId, effect.epoch, effect.sequence);
    },
    answerChallenge: ({ planeId, reportId, attestation, answer: given }) => {
      const values = [attestation, Buffer.from(given.digest), given.status, given.result, given.atMs];
      answer.run(...values, current.project, planeId, reportId);
    },
  };
}

function countRows(prepare: Prepare, current: Current): Of<'monthsOf' | 'saveMonth' | 'addUnits'> {
  const columns = countColumns.join(', ');
  const months = prepare<CountRow & { month: string }>(
    'find months of epoch',
    `SELECT month, ${columns} FROM telemetry_month WHERE project = ? AND plane_id = ? AND epoch = ?`,
  );
  const save = prepare(
    'save month of epoch',
    `INSERT INTO telemetry_month (project, plane_id, epoch, month, ${columns})
     VALUES (${places(4 + countColumns.length)}) ON CONFLICT (project, plane_id, epoch, month) DO UPDATE SET
       ${countColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  const find = prepare<{ found: number }>(
    'find units of planes',
    'SELECT 1 AS found FROM telemetry_usage WHERE project = ? AND month = ?',
  );
  const begin = insertInto(prepare, 'telemetry_usage', ['project', 'month', ...countColumns]);
  // SQLite binds a number as a double; without the CAST the sum would be a double too
  const add = prepare(
    'add units of planes',
    `UPDATE telemetry_usage SET ${countColumns.map((column) => `${column} = ${column} + CAST(? AS INTEGER)`).join(', ')}
     WHERE project = ? AND month = ?`,
  );
  return {
    monthsOf: ({ planeId, epoch }) =>
      months
        .all(current.project, planeId, epoch)
        .map((row): MonthTotals => ({ month: row.month, totals: countsOf(row) })),
    saveMonth: ({ planeId, epoch }, { month, totals }) => {
      save.run(current.project, planeId, epoch, month, ...countValues(totals));
    },
    addUnits: (month, change) => {
      if (find.get(current.project, month) === undefined)
        begin.run(current.project, month, ...countValues(change));
      else add.run(...countValues(change), current.project, month);
    },
  };
}
