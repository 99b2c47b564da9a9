/**
 * System events of data planes and their reports (contract O8, J3). The append of a change contains its
 * event, without counts and content of a plane. Proven by `test/service/planes/reports.test.ts`.
 */
import type { TelemetryFault } from '../../contract/telemetry.ts';
import { hashText, sha256 } from '../../core/hash.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPlane } from '../../store/port/store.ts';
import type { EventContext } from '../access/project-events.ts';
import { systemEvent } from '../writes/system.ts';

type Change = 'registered' | 'token_issued' | 'enrolled' | 'rotated' | 'revoked';
const actions: Readonly<Record<Change, string>> = {
  registered: 'register',
  token_issued: 'issue',
  enrolled: 'enroll',
  rotated: 'rotate',
  revoked: 'revoke',
};

/** A data plane was registered, revoked, or got a token or credentials. */
export const planeChanged = (
  change: Change,
  { planeId, name, enrolled }: StoredPlane,
  { by, ...context }: EventContext,
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

/** Time and salt of an event, and its data plane. */
interface PlaneEventContext {
  readonly planeId: string;
  readonly nowMs: number;
  readonly salt: () => string;
}

/** A client's own clientEventId contains no `/` (contract A2), so these ids are never in use before. */
const planeEvent = (
  {
    eventType,
    action,
    key,
    metadata,
  }: { eventType: string; action: string; key: string; metadata: JsonObject },
  { planeId, ...context }: PlaneEventContext,
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

/**
 * Reports are missing; they may still arrive. Each gap has its own event, because fsck checks receipts
 * against these events.
 */
export const gapDetected = (
  gap: { readonly epoch: number; readonly firstMissing: number; readonly before: number },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.gap_detected',
      action: 'detect',
      key: `gap/${gap.epoch}/${gap.firstMissing}/${gap.before}`,
      metadata: gap,
    },
    context,
  );

/** A report changed the units of a billed month, so its bill must change. */
export const reportedLate = (
  late: {
    readonly reportId: string;
    readonly epoch: number;
    readonly sequence: number;
    readonly month: string;
  },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.reported_late',
      action: 'detect',
      key: `late/${late.reportId}`,
      metadata: { ...late },
    },
    context,
  );

interface RefusedReport {
  readonly reportId: string;
  readonly epoch: number;
  readonly sequence: number;
  /** `limit_reached`: too many months of an epoch, or units of a month. */
  readonly reason: TelemetryFault | 'limit_reached';
  readonly pointer: string;
}

/** A report is inconsistent and was not stored. One event for each report id. */
export const reportRefused = (refused: RefusedReport, context: PlaneEventContext): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.report_refused',
      action: 'refuse',
      key: `refused/${refused.reportId}`,
      metadata: { ...refused },
    },
    context,
  );

/** A report does not follow from the one before: the plane's log differs from what it reported. */
export const integrityViolated = (
  violated: RefusedReport & { readonly stored: boolean },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    {
      eventType: 'integrity.violation',
      action: 'detect',
      key: `violation/${violated.reportId}`,
      metadata: { ...violated },
    },
    context,
  );

/** A challenge got a wrong answer. */
export const attestationFailed = (
  failed: {
    readonly challengeId: string;
    readonly reportId: string;
    readonly reason: TelemetryFault | null;
    readonly pointer: string | null;
  },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    { eventType: 'attestation.failed', action: 'refuse', key: `failed/${failed.reportId}`, metadata: failed },
    context,
  );

/** A challenge got no answer in time. */
export const challengeExpired = (
  {
    challengeId,
    reportId,
    expiresMs,
  }: { readonly challengeId: string; readonly reportId: string; readonly expiresMs: number },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    {
      eventType: 'telemetry.challenge_expired',
      action: 'expire',
      key: `expired/${reportId}`,
      metadata: { challengeId, reportId, expiresAt: formatTimestamp(expiresMs) },
    },
    context,
  );

/** A challenge got a second, different answer. Recorded once. */
export const attestationContradicted = (
  contradicted: { readonly challengeId: string; readonly reportId: string },
  context: PlaneEventContext,
): EventDraft =>
  planeEvent(
    {
      eventType: 'attestation.contradicted',
      action: 'refuse',
      key: `contradicted/${contradicted.reportId}`,
      metadata: contradicted,
    },
    context,
  );
