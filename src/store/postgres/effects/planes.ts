/**
 * The rows that effects on data planes read and write; `src/store/rules/planes.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { countColumns, countValues, epochValues, raiseEpochSql } from '../../rules/epoch-row.ts';
import { planeColumns, planeValues, reportColumns, reportValues } from '../../rules/plane-row.ts';
import { challengeStates, claims, type TelemetryRows } from '../../rules/planes.ts';
import type { Writing } from './writing.ts';
import { epochKey, nameKey, ownerKey, placeKey } from '../write/plane-facts.ts';
import { kept } from './texts.ts';
import { sql, step } from '../../read/queries.ts';

type Of<Names extends keyof TelemetryRows> = Pick<TelemetryRows, Names>;

export const telemetryRows = (writing: Writing): TelemetryRows => ({
  ...planeRows(writing),
  ...reportRows(writing),
  ...countRows(writing),
});

const places = (count: number): string => Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ');

const savePlane = sql(
  `INSERT INTO telemetry_plane (project, ${planeColumns.join(', ')}) VALUES (${places(planeColumns.length + 1)})
   ON CONFLICT (project, plane_id) DO UPDATE SET
     ${planeColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);

function planeRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<'planeState' | 'unrevokedPlanes' | 'ownerOf' | 'savePlane'> {
  return {
    planeState: (planeId) => facts.planes.get(planeId) ?? null,
    unrevokedPlanes: () => facts.unrevokedPlanes,
    ownerOf: (claim, text) => facts.planeOwners.get(ownerKey(claim, text)) ?? null,
    savePlane: (plane) => {
      const { planeId, revision, revokedMs, enrolled, name } = plane;
      const before = facts.planes.get(planeId);
      const more = Number(revokedMs === null) - Number(before !== undefined && before.revokedMs === null);
      facts.unrevokedPlanes += more;
      undo.add(() => (facts.unrevokedPlanes -= more));
      undo.set(facts.planes, planeId, { revision, revokedMs });
      if (enrolled !== null)
        for (const claim of claims)
          undo.set(facts.planeOwners, ownerKey(claim, enrolled[claim]), { planeId, isOwn: true });
      write(step(savePlane, project, ...planeValues({ ...plane, name: kept(name) })));
    },
  };
}

const insertReport = sql(
  `INSERT INTO telemetry_report (project, ${reportColumns.join(', ')}) VALUES (${places(reportColumns.length + 1)})`,
);
const raiseEpoch = sql(raiseEpochSql(places(7)));
const linkReport = sql(
  'UPDATE telemetry_report SET link = $5 WHERE project = $1 AND plane_id = $2 AND epoch = $3 AND sequence = $4',
);
const answerChallenge = sql(
  `UPDATE telemetry_report SET attestation = $4, answer_digest = $5, answer_status = $6, answer = $7, answer_ms = $8
   WHERE project = $1 AND plane_id = $2 AND report_id = $3`,
);

const expireChallenge = sql(
  "UPDATE telemetry_report SET attestation = 'expired' WHERE project = $1 AND plane_id = $2 AND report_id = $3",
);

function reportRows({
  project,
  facts,
  undo,
  write,
}: Writing): Of<
  'linkAt' | 'challengeState' | 'addReport' | 'linkReport' | 'answerChallenge' | 'expireChallenge'
> {
  return {
    linkAt: (place) => facts.links.get(placeKey(place)) ?? null,
    challengeState: (name) => facts.challenges.get(nameKey(name)) ?? null,
    addReport: (report) => {
      undo.set(facts.links, placeKey(report), report.link);
      undo.set(facts.challenges, nameKey(report), challengeStates[report.attestation]);
      write(step(insertReport, project, ...reportValues(report)));
      write(step(raiseEpoch, ...epochValues(project, report)));
    },
    linkReport: (effect) => {
      const { planeId, epoch, sequence, link } = effect;
      undo.set(facts.links, placeKey(effect), link);
      write(step(linkReport, project, planeId, epoch, sequence, link));
    },
    answerChallenge: (effect) => {
      const { planeId, reportId, attestation, answer } = effect;
      undo.set(facts.challenges, nameKey(effect), 'answered');
      const values = [attestation, Buffer.from(answer.digest), answer.status, answer.result, answer.atMs];
      write(step(answerChallenge, project, planeId, reportId, ...values));
    },
    expireChallenge: ({ planeId, reportId }) => {
      undo.set(facts.challenges, nameKey({ planeId, reportId }), 'expired');
      write(step(expireChallenge, project, planeId, reportId));
    },
  };
}

const columns = countColumns.join(', ');
const saveMonth = sql(
  `INSERT INTO telemetry_month (project, plane_id, epoch, month, ${columns})
   VALUES (${places(4 + countColumns.length)}) ON CONFLICT (project, plane_id, epoch, month) DO UPDATE SET
     ${countColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);
/**
 * Two statements: `change` may be negative, and an inserted row would then fail the CHECK although the sum
 * does not.
 */
const beginUnits = sql(
  `INSERT INTO telemetry_usage (project, month, ${columns}) VALUES ($1, $2, ${countColumns.map(() => '0').join(', ')})
   ON CONFLICT DO NOTHING`,
);
const addUnits = sql(
  `UPDATE telemetry_usage SET ${countColumns.map((column, at) => `${column} = ${column} + $${at + 3}`).join(', ')}
   WHERE project = $1 AND month = $2`,
);

function countRows({ project, facts, undo, write }: Writing): Of<'monthsOf' | 'saveMonth' | 'addUnits'> {
  return {
    monthsOf: (epoch) => facts.months.get(epochKey(epoch)) ?? [],
    saveMonth: (epoch, month) => {
      const key = epochKey(epoch);
      const others = (facts.months.get(key) ?? []).filter((each) => each.month !== month.month);
      undo.set(facts.months, key, [...others, month]);
      const values = [epoch.planeId, epoch.epoch, month.month, ...countValues(month.totals)];
      write(step(saveMonth, project, ...values));
    },
    addUnits: (month, change) => {
      write(step(beginUnits, project, month));
      write(step(addUnits, project, month, ...countValues(change)));
    },
  };
}
