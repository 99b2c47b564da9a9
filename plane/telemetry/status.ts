/**
 * The state of a plane's reporting: waiting reports, refused reports and the last contact with the service.
 * The serving plane reads it for health and metrics. Commands read it from the files, read-only.
 * Proven by `test/plane/telemetry/serving.test.ts`.
 */
import { existsSync } from 'node:fs';
import { formatTimestamp } from '../../src/core/time.ts';
import { now } from '../../src/host/process/clock.ts';
import { gauge } from '../../src/host/process/metrics.ts';
import {
  readEnrolment,
  readTelemetrySettings,
  type Enrolment,
  type TelemetryMode,
} from '../service/enrolment.ts';
import { outboxFile, readOutbox, type Outbox } from './outbox.ts';

export interface TelemetryStatus {
  readonly enrolled: boolean;
  readonly mode: TelemetryMode;
  /** Base URL. Null where the plane is not enrolled. */
  readonly service: string | null;
  readonly dataPlaneId: string | null;
  readonly reportsWaiting: number;
  /** Creation time of the oldest report without a receipt. */
  readonly oldestWaitingAt: string | null;
  readonly reportsRefused: number;
  readonly challengesOpen: number;
  readonly challengesRefused: number;
  readonly lastContactAt: string | null;
  readonly failingSince: string | null;
  /** Each reason begins with a code, as in health. No reason makes a plane unready. */
  readonly reasons: readonly string[];
}

/** Health shows a refusal for 30 days. */
const toldMs = 30 * 24 * 3600 * 1000;

/** Health shows an answer without a receipt after this time. */
const lateMs = 3600 * 1000;
const behind =
  'outbox_behind: the service holds other reports than this outbox, as after a lost or older telemetry.db';
/** Describes the state and the next step. */
const behindOf = (mode: TelemetryMode): string =>
  mode === 'auto'
    ? `${behind}; it is asked for the newest one, and the plane goes on behind it`
    : `${behind}, or in an older copy of this directory, which signs a second history as long as nobody tells it; in mode ` +
      `${mode} nobody asks: take in the receipts that gov usage import writes of it, or enrol again by file (docs/how-to/report-to-a-service.md)`;

const timeOf = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

const nothing = {
  reportsWaiting: 0,
  oldestWaitingAt: null,
  reportsRefused: 0,
  challengesOpen: 0,
  challengesRefused: 0,
  lastContactAt: null,
  failingSince: null,
  reasons: [],
} as const;

/**
 * Reads the state of a data directory, also while a plane serves it. Throws for a damaged or unreadable file.
 */
export function telemetryStatus(dataDir: string, nowMs = now()): TelemetryStatus {
  const enrolment = readEnrolment(dataDir);
  const { mode } = readTelemetrySettings(dataDir);
  const head = headOf(enrolment, mode);
  if (enrolment === null || !existsSync(outboxFile(dataDir))) return { ...head, ...nothing };
  const outbox = readOutbox(dataDir);
  try {
    return { ...head, ...statusOf(outbox, enrolment.dataPlaneId, { mode, nowMs }) };
  } finally {
    outbox.close();
  }
}

const headOf = (enrolment: Enrolment | null, mode: TelemetryMode) => ({
  enrolled: enrolment !== null,
  mode,
  service: enrolment?.service ?? null,
  dataPlaneId: enrolment?.dataPlaneId ?? null,
});

/** Reads the part that the outbox contains. O(n) in waiting rows, and uses only indexes. */
export function statusOf(
  outbox: Outbox,
  planeId: string,
  { mode, nowMs }: { readonly mode: TelemetryMode; readonly nowMs: number },
): Omit<TelemetryStatus, 'enrolled' | 'mode' | 'service' | 'dataPlaneId'> {
  const { waiting, refused, challenges } = outbox.summary(planeId, nowMs - toldMs);
  const { reachedMs, failingSinceMs, failure } = outbox.contact();
  const { heldReason, isBehind } = outbox.held.known();
  const receiptFault = outbox.held.newestAccepted(planeId)?.reason ?? null;
  const oldest = outbox.openChallenge(planeId);
  const isAnswerLate =
    oldest?.answer !== undefined && oldest.answer !== null && nowMs - oldest.receivedMs > lateMs;
  const since = timeOf(failingSinceMs);
  return {
    reportsWaiting: waiting.reports,
    oldestWaitingAt: timeOf(waiting.oldestMs),
    reportsRefused: refused.reports,
    challengesOpen: challenges.open,
    challengesRefused: challenges.refused,
    lastContactAt: timeOf(reachedMs),
    failingSince: since,
    reasons: [
      ...(heldReason === null ? [] : [heldReason]),
      ...(isBehind ? [behindOf(mode)] : []),
      ...(failure === null ? [] : [`control_plane_unreachable: since ${since ?? 'unknown'}: ${failure}`]),
      ...(refused.reports === 0
        ? []
        : [`reports_refused: ${refused.reports} by the service, such as ${refused.reason ?? 'unknown'}`]),
      ...(receiptFault === null ? [] : [receiptFault]),
      ...(isAnswerLate ? [`answers_waiting: ${challenges.open} answers to challenges are not settled`] : []),
      ...(challenges.refused === 0
        ? []
        : [`challenges_refused: ${challenges.refused}; gov plane telemetry show --last says why`]),
    ],
  };
}

/** Lines of `GET /metrics`. */
export function telemetryMetrics(outbox: Outbox, planeId: string, nowMs: number): readonly string[] {
  const { waiting, refused, challenges } = outbox.summary(planeId, nowMs - toldMs);
  const { reachedMs, failingSinceMs } = outbox.contact();
  const age = waiting.oldestMs === null ? 0 : Math.max(0, nowMs - waiting.oldestMs) / 1000;
  return [
    ...gauge('gov_telemetry_reports_waiting', 'Usage reports without a receipt', waiting.reports),
    ...gauge('gov_telemetry_oldest_report_seconds', 'Age of the oldest of them', age),
    ...gauge('gov_telemetry_reports_refused', 'Usage reports that the service refused', refused.reports),
    ...gauge('gov_telemetry_challenges_open', 'Challenges without a receipt', challenges.open),
    ...gauge('gov_telemetry_challenges_refused', 'Challenges that did not verify', challenges.refused),
    ...gauge('gov_telemetry_last_contact_seconds', 'Unix time of the last answer', (reachedMs ?? 0) / 1000),
    ...gauge('gov_telemetry_failing', '1 while the service is not reached', failingSinceMs === null ? 0 : 1),
  ];
}
