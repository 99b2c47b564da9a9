/**
 * Events of data planes and what they report (contract O8, J3): in the log of the project, appended with what they tell
 * of. No count and no content of a plane stands in them. Proven by `test/service/planes/reports.test.ts`.
 */
import type { TelemetryFault } from '../../contract/telemetry.ts';
import { hashText, sha256 } from '../../core/hash.ts';
import type { EventDraft } from '../../core/event/record.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import type { Telling } from '../access/project-events.ts';
import { systemEvent } from '../system.ts';

type Change = 'registered' | 'token_issued' | 'enrolled' | 'rotated' | 'revoked';
const actions: Readonly<Record<Change, string>> = {
  registered: 'register',
  token_issued: 'issue',
  enrolled: 'enroll',
  rotated: 'rotate',
  revoked: 'revoke',
};

/** A data plane was registered, got another token, credentials or new ones, or lost them. */
export const planeChanged = (
  change: Change,
  { planeId, name, enrolled }: StoredPlane,
  { by, ...context }: Telling,
): EventDraft =>
  systemEvent(
    {
      eventType: `telemetry.plane_${change}`,
      action: actions[change],
      actor: { id: by.id, type: by.type },
      resource: { id: planeId, type: 'data_plane' },
      metadata: { name, ...(enrolled === null ? {} : enrolledMembers(enrolled)) },
    },
    context,
  );

const enrolledMembers = (enrolled: NonNullable<StoredPlane['enrolled']>): JsonObject => ({
  origin: enrolled.origin,
  auditOrigin: enrolled.auditOrigin,
  verifierKey: enrolled.verifierKey,
  auditVerifierKey: enrolled.auditVerifierKey,
  digestHash: hashText(sha256(enrolled.current.keyDigest)),
  keyPrefix: enrolled.keyPrefix,
  keyLast4: enrolled.keyLast4,
  previousValidUntil: enrolled.previous === null ? null : formatTimestamp(enrolled.previous.untilMs),
});

/** When, and which data plane it is about. */
export interface PlaneTelling {
  readonly planeId: string;
  readonly nowMs: number;
  readonly salt: () => string;
}

/** A client's own id has no `/` (contract A2), so none of these was used before. */
const planeEvent = (
  {
    eventType,
    action,
    key,
    metadata,
  }: { eventType: string; action: string; key: string; metadata: JsonObject },
  { planeId, ...context }: PlaneTelling,
): EventDraft =>
  systemEvent(
    {
      eventType,
      action,
      actor: { id: planeId, type: 'data_plane' },
      resource: { id: planeId, type: 'data_plane' },
      metadata,
      clientEventId: `telemetry/${planeId}/${key}`,
    },
    context,
  );

/** Reports are missing; they may still come. fsck holds receipts against these events, so each gap has its own. */
export const gapDetected = (
  gap: { readonly epoch: number; readonly firstMissing: number; readonly before: number },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.gap_detected',
      action: 'detect',
      key: `gap/${gap.epoch}/${gap.firstMissing}/${gap.before}`,
      metadata: gap,
    },
    telling,
  );

/** A month that was billed gets units, or loses them to another one: its bill is another one now. */
export const reportedLate = (
  late: {
    readonly reportId: string;
    readonly epoch: number;
    readonly sequence: number;
    readonly month: string;
  },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.reported_late',
      action: 'detect',
      key: `late/${late.reportId}`,
      metadata: { ...late },
    },
    telling,
  );

interface Refused {
  readonly reportId: string;
  readonly epoch: number;
  readonly sequence: number;
  /** `limit_reached`: of months of an epoch, or of units of a month. */
  readonly reason: TelemetryFault | 'limit_reached';
  readonly pointer: string;
}

/** A report does not hold together, and was not stored; once for each of its ids. */
export const reportRefused = (refused: Refused, telling: PlaneTelling): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.report_refused',
      action: 'refuse',
      key: `refused/${refused.reportId}`,
      metadata: { ...refused },
    },
    telling,
  );

/** A report does not follow from the one before: the history of the plane is not what it reported. */
export const integrityViolated = (
  violated: Refused & { readonly stored: boolean },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    {
      eventType: 'integrity.violation',
      action: 'detect',
      key: `violation/${violated.reportId}`,
      metadata: { ...violated },
    },
    telling,
  );

/** A challenge was answered wrongly. */
export const attestationFailed = (
  failed: {
    readonly challengeId: string;
    readonly reportId: string;
    readonly reason: TelemetryFault | null;
    readonly pointer: string | null;
  },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    { eventType: 'attestation.failed', action: 'refuse', key: `failed/${failed.reportId}`, metadata: failed },
    telling,
  );

/** Nobody answered a challenge in time. */
export const challengeExpired = (
  {
    challengeId,
    reportId,
    expiresMs,
  }: { readonly challengeId: string; readonly reportId: string; readonly expiresMs: number },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.challenge_expired',
      action: 'expire',
      key: `expired/${reportId}`,
      metadata: { challengeId, reportId, expiresAt: formatTimestamp(expiresMs) },
    },
    telling,
  );

/** A challenge that was answered was answered otherwise; told once. */
export const attestationContradicted = (
  contradicted: { readonly challengeId: string; readonly reportId: string },
  telling: PlaneTelling,
): EventDraft =>
  planeEvent(
    {
      eventType: 'attestation.contradicted',
      action: 'refuse',
      key: `contradicted/${contradicted.reportId}`,
      metadata: contradicted,
    },
    telling,
  );
