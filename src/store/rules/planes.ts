/**
 * The checks of changes of data planes, the same for both engines.
 * Each change is judged by the rows that earlier requests left, then written.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { meteredTypes } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { unitChanges, unitsAt, withReported, type MonthTotals } from './plane-usage.ts';
import type { MeteredCounts, StoredPlane, StoredReport, TelemetryEffect } from '../port/planes.ts';

type EffectOf<Kind extends TelemetryEffect['kind']> = Extract<TelemetryEffect, { kind: Kind }>;

export type PlaneState = Pick<StoredPlane, 'revision' | 'revokedMs'>;

/** Properties that permanently belong to one plane: its logs are billed and cosigned only once. */
export const claims = ['origin', 'auditOrigin', 'verifierKey'] as const;
export type Claim = (typeof claims)[number];

export interface PlaneOwner {
  readonly planeId: string;
  /** Whether it belongs to the project of the effects. */
  readonly isOwn: boolean;
}

/** The name of an epoch of a plane. */
export interface EpochName {
  readonly planeId: string;
  readonly epoch: number;
}

/** The position of a report. */
export interface ReportPlace extends EpochName {
  readonly sequence: number;
}

export type ChallengeState = 'none' | 'open' | 'answered' | 'expired';

/** The state of a challenge, by the attestation of its report. */
export const challengeStates: Readonly<Record<StoredReport['attestation'], ChallengeState>> = {
  not_sampled: 'none',
  pending: 'open',
  verified: 'answered',
  failed: 'answered',
  expired: 'expired',
};

export interface ReportName {
  readonly planeId: string;
  readonly reportId: string;
}

/** The rows of one project that effects read and write. */
export interface TelemetryRows {
  planeState(planeId: string): PlaneState | null;
  /** Counts planes that are not revoked. */
  unrevokedPlanes(): number;
  /** Finds the plane with this property in all projects, or null. */
  ownerOf(claim: Claim, text: string): PlaneOwner | null;
  /** Inserts the plane, or replaces its changeable columns. */
  savePlane(plane: StoredPlane): void;
  /** Null if there is no report at this position. */
  linkAt(place: ReportPlace): StoredReport['link'] | null;
  /** `none` for a report that was not sampled; null if there is no such report. */
  challengeState(name: ReportName): ChallengeState | null;
  /** Inserts the report and raises the counters of its epoch. */
  addReport(report: StoredReport): void;
  linkReport(effect: EffectOf<'linkReport'>): void;
  answerChallenge(effect: EffectOf<'answerChallenge'>): void;
  expireChallenge(name: ReportName): void;
  /** In no order. */
  monthsOf(epoch: EpochName): readonly MonthTotals[];
  saveMonth(epoch: EpochName, month: MonthTotals): void;
  /** `change` may be negative; the sum never is. */
  addUnits(month: string, change: MeteredCounts): void;
}

export function applyTelemetryEffect(rows: TelemetryRows, effect: TelemetryEffect): void {
  switch (effect.kind) {
    case 'savePlane':
      return savePlane(rows, effect.plane);
    case 'saveReport':
      return saveReport(rows, effect.report);
    case 'linkReport':
      return linkReport(rows, effect);
    case 'answerChallenge':
      requireOpen(rows, effect);
      return rows.answerChallenge(effect);
    case 'expireChallenge':
      requireOpen(rows, effect);
      return rows.expireChallenge(effect);
  }
}

function savePlane(rows: TelemetryRows, plane: StoredPlane): void {
  const { planeId, revision, revokedMs, enrolled } = plane;
  const before = rows.planeState(planeId);
  if ((before?.revision ?? 0) !== revision - 1) {
    const found = before === null ? 'none' : `revision ${before.revision}`;
    throw conflict(
      `expected revision ${revision - 1} of data plane ${planeId}, got ${found}: somebody changed it meanwhile; read it again`,
    );
  }
  const wasRevoked = before !== null && before.revokedMs !== null;
  const isReinstated = wasRevoked && revokedMs === null && enrolled !== null;
  if (wasRevoked && before.revokedMs !== revokedMs && !isReinstated) {
    throw conflict(`expected a data plane that is not revoked, got ${planeId}; enrol it with a new token`);
  }
  if ((before === null || isReinstated) && rows.unrevokedPlanes() >= limits.planesPerProject) {
    throw conflict(
      `expected at most ${limits.planesPerProject} data planes of a project, got one more; revoke an unused one`,
    );
  }
  if (enrolled !== null) refuseTaken(rows, { planeId, ...enrolled });
  rows.savePlane(plane);
}

function refuseTaken(rows: TelemetryRows, plane: { readonly planeId: string } & Record<Claim, string>): void {
  for (const claim of claims) {
    const owner = rows.ownerOf(claim, plane[claim]);
    if (owner === null || owner.planeId === plane.planeId) continue;
    const who = owner.isOwn ? `data plane ${owner.planeId}` : 'a data plane of another project';
    throw conflict(
      `expected ${claimNames[claim]} of no other data plane, got ${plane[claim]} of ${who}: a log permanently belongs to one data plane; ` +
        `enrol with a token for that data plane (gov planes token ${owner.isOwn ? owner.planeId : 'ID'})`,
    );
  }
}

const claimNames: Readonly<Record<Claim, string>> = {
  origin: 'an origin',
  auditOrigin: 'an audit origin',
  verifierKey: 'a verifier key',
};

function saveReport(rows: TelemetryRows, report: StoredReport): void {
  const { planeId, epoch, sequence, reportId, month, totals } = report;
  const plane = rows.planeState(planeId);
  if (plane === null || plane.revokedMs !== null) {
    throw new GovError(
      'NOT_FOUND',
      `expected a data plane of this project that is not revoked, got ${planeId}`,
    );
  }
  if (rows.challengeState(report) !== null) {
    throw new GovError('REPORT_CONFLICT', `expected a new report id of ${planeId}, got ${reportId} again`);
  }
  if (rows.linkAt(report) !== null) {
    const place = `sequence ${sequence} of epoch ${epoch}`;
    throw new GovError('REPORT_CONFLICT', `expected a new sequence of ${planeId}, got ${place} again`);
  }
  const before = rows.monthsOf(report);
  const after = withReported(before, { month, totals });
  if (after.length > limits.epochMonths) {
    throw new GovError(
      'REPORT_INVALID',
      `expected reports of at most ${limits.epochMonths} months in epoch ${epoch} of ${planeId}, got another one; ` +
        'units of further months are not billed; check its clock and its reports',
    );
  }
  // units of the later months can only fall
  const [had, units] = [unitsAt(before, month), unitsAt(after, month)];
  const over = meteredTypes.find((type) => units[type] > Math.max(had[type], limits.epochMonthUnits));
  if (over !== undefined) {
    throw new GovError(
      'REPORT_INVALID',
      `expected at most ${limits.epochMonthUnits} units of ${over} that epoch ${epoch} of ${planeId} reports for ${month}, ` +
        `got ${units[over]}; check its clock and its reports`,
    );
  }
  rows.addReport(report);
  const same = new Set(before);
  for (const each of after) if (!same.has(each)) rows.saveMonth(report, each);
  for (const [changed, change] of unitChanges(before, after)) rows.addUnits(changed, change);
}

function linkReport(rows: TelemetryRows, effect: EffectOf<'linkReport'>): void {
  const { planeId, epoch, sequence } = effect;
  const link = rows.linkAt(effect);
  const name = `report ${sequence} of epoch ${epoch} of data plane ${planeId}`;
  if (link === null) throw new GovError('NOT_FOUND', `expected a stored report, got ${name}`);
  if (link !== 'unknown')
    throw conflict(`expected a report that is not linked yet, got ${name}, which is ${link}`);
  rows.linkReport(effect);
}

function requireOpen(rows: TelemetryRows, { planeId, reportId }: ReportName): void {
  const state = rows.challengeState({ planeId, reportId });
  if (state === null || state === 'none') {
    throw new GovError(
      'NOT_FOUND',
      `expected a report with a challenge, got ${reportId} of data plane ${planeId}`,
    );
  }
  if (state === 'open') return;
  const got = state === 'answered' ? 'an answered one' : 'an expired one';
  throw conflict(`expected an open challenge, got ${got} of report ${reportId}`);
}

const conflict = (detail: string): GovError => new GovError('CONFLICT', detail);
