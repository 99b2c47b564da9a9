/**
 * Facts for effects on data planes, looked up with the other facts of a commit (`facts.ts`).
 * `src/store/rules/planes.ts` judges the effects.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import type { Effect } from '../../port/store.ts';
import { countColumns, countsOf, type CountRow } from '../../rules/epoch-row.ts';
import {
  challengeStates,
  claims,
  type Claim,
  type EpochName,
  type PlaneState,
  type ReportName,
  type ReportPlace,
} from '../../rules/planes.ts';
import type { StoredReport } from '../../port/planes.ts';
import { arrayOf, textArray } from '../connection/arrays.ts';
import { scoped } from '../connection/database.ts';
import type { Lookup } from './known.ts';
import type { Facts } from './known.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import type { TelemetryFacts } from './known.ts';

export const noTelemetryFacts = (): TelemetryFacts => ({
  planes: new Map(),
  unrevokedPlanes: 0,
  planeOwners: new Map(),
  links: new Map(),
  challenges: new Map(),
  months: new Map(),
});

export const epochKey = ({ planeId, epoch }: EpochName): string => `${planeId}/${epoch}`;
export const placeKey = (place: ReportPlace): string => `${epochKey(place)}/${place.sequence}`;
export const ownerKey = (claim: Claim, text: string): string => `${claim}/${text}`;
export const nameKey = ({ planeId, reportId }: ReportName): string => `${planeId}/${reportId}`;

const planeStates = sql<PlaneState & { planeId: string }>(
  `SELECT plane_id AS "planeId", revision, revoked_ms AS "revokedMs" FROM telemetry_plane
   WHERE project = $1 AND plane_id = ANY($2::text[])`,
);
const countPlanes = sql<{ n: number }>(
  'SELECT count(*) AS n FROM telemetry_plane WHERE project = $1 AND revoked_ms IS NULL',
);
const planeWith = (column: string) =>
  sql<{ plane_id: string; project: number }>(
    `SELECT plane_id, project FROM telemetry_plane WHERE ${column} = $1`,
  );
const planesWith: Readonly<Record<Claim, ReturnType<typeof planeWith>>> = {
  origin: planeWith('origin'),
  auditOrigin: planeWith('audit_origin'),
  verifierKey: planeWith('verifier_key'),
};
const reportsAt = sql<ReportPlace & { link: StoredReport['link'] }>(
  `SELECT u.plane_id AS "planeId", u.epoch, u.sequence, r.link
   FROM unnest($2::text[], $3::int8[], $4::int8[]) AS u(plane_id, epoch, sequence)
   CROSS JOIN LATERAL (SELECT link FROM telemetry_report WHERE project = $1 AND plane_id = u.plane_id
     AND epoch = u.epoch AND sequence = u.sequence OFFSET 0) r`,
);
const reportsNamed = sql<ReportName & Pick<StoredReport, 'attestation'>>(
  `SELECT u.plane_id AS "planeId", u.report_id AS "reportId", r.attestation
   FROM unnest($2::text[], $3::text[]) AS u(plane_id, report_id)
   CROSS JOIN LATERAL (SELECT attestation FROM telemetry_report WHERE project = $1
     AND plane_id = u.plane_id AND report_id = u.report_id OFFSET 0) r`,
);
const monthsOfEpoch = sql<CountRow & { month: string }>(
  `SELECT month, ${countColumns.join(', ')} FROM telemetry_month
   WHERE project = $1 AND plane_id = $2 AND epoch = $3`,
);

/** Returns the look-ups that these effects need, in their order. */
export function telemetryLookups(project: number, effects: readonly Effect[]): Lookup[] {
  const lookups: Lookup[] = [];
  const look = <Row>(wanted: Step<Row>, take: (row: Row, facts: Facts) => void): void => {
    lookups.push({
      step: wanted,
      take: (rows, facts) => {
        for (const row of rows) take(row as Row, facts); // rows of this statement
      },
    });
  };
  const saved = effects.flatMap((effect) => (effect.kind === 'savePlane' ? [effect.plane] : []));
  const reports = effects.flatMap((effect) => (effect.kind === 'saveReport' ? [effect.report] : []));
  const links = effects.filter((effect) => effect.kind === 'linkReport');
  const settled = effects.filter(
    (effect) => effect.kind === 'answerChallenge' || effect.kind === 'expireChallenge',
  );
  const planes = [...saved, ...reports].map(({ planeId }) => planeId);
  if (planes.length > 0)
    look(step(planeStates, project, textArray(planes)), ({ planeId, ...state }, facts) =>
      facts.planes.set(planeId, state),
    );
  if (saved.length > 0) look(step(countPlanes, project), ({ n }, facts) => (facts.unrevokedPlanes = n));
  const places: ReportPlace[] = [...reports, ...links];
  if (places.length > 0)
    look(step(reportsAt, project, ...placeArrays(places)), (row, facts) =>
      facts.links.set(placeKey(row), row.link),
    );
  const names: ReportName[] = [...reports, ...settled];
  if (names.length > 0)
    look(step(reportsNamed, project, ...nameArrays(names)), (row, facts) =>
      facts.challenges.set(nameKey(row), challengeStates[row.attestation]),
    );
  for (const [key, { planeId, epoch }] of new Map(reports.map((each) => [epochKey(each), each]))) {
    look(step(monthsOfEpoch, project, planeId, epoch), (row, { months }) =>
      months.set(key, [...(months.get(key) ?? []), { month: row.month, totals: countsOf(row) }]),
    );
  }
  return [
    ...lookups,
    ...ownerLookups(
      project,
      saved.flatMap(({ enrolled }) => enrolled ?? []),
    ),
  ];
}

const placeArrays = (places: readonly ReportPlace[]) => [
  textArray(places.map(({ planeId }) => planeId)),
  arrayOf(
    'int8',
    places.map(({ epoch }) => epoch),
  ),
  arrayOf(
    'int8',
    places.map(({ sequence }) => sequence),
  ),
];

const nameArrays = (names: readonly ReportName[]) => [
  textArray(names.map(({ planeId }) => planeId)),
  textArray(names.map(({ reportId }) => reportId)),
];

/** Looks up planes of any project: enters the scope of each text, then leaves it. */
function ownerLookups(own: number, planes: readonly Readonly<Record<Claim, string>>[]): Lookup[] {
  const enter = (text: string): Lookup => ({ step: scoped({ lookup: text }), take: () => {} });
  const wanted = new Map(
    planes.flatMap((plane) =>
      claims.map((claim) => [ownerKey(claim, plane[claim]), { claim, text: plane[claim] }] as const),
    ),
  );
  const lookups = [...wanted].flatMap(([key, { claim, text }]): Lookup[] => [
    enter(text),
    {
      step: step(planesWith[claim], text),
      take: ([row], { planeOwners }) => {
        if (row === undefined) return;
        const { plane_id: planeId, project } = row as { plane_id: string; project: number }; // a row of this statement
        planeOwners.set(key, { planeId, isOwn: project === own });
      },
    },
  ]);
  return lookups.length === 0 ? [] : [...lookups, enter('')];
}
