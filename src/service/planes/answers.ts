/**
 * Answers to reports of data planes, and the shapes of planes and reports in answers. Proven by
 * `test/service/planes/reports.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { DataPlane, ReportRecord, UsageResult } from '../../contract/telemetry.ts';
import { hashText } from '../../core/hash.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Project, StoredPlane, StoredReport } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import { endOfMonth, monthOf } from '../call/month.ts';
import { recentUsage } from '../billing/month-usage.ts';
import type { Services } from '../port/services.ts';
import { challengeOf } from './challenge.ts';
import { parsedReport } from './state.ts';

interface AnsweredReport {
  readonly status: 'accepted' | 'duplicate';
  readonly stored: StoredReport;
}

/** The receipt of a stored report. Cost: two reads, and one more where the project has quotas. */
export async function acceptedAnswer(
  services: Services,
  { plane, caller }: { readonly plane: StoredPlane; readonly caller: Pick<Caller, 'project' | 'rules'> },
  { status, stored }: AnsweredReport,
): Promise<UsageResult> {
  const { store, now } = services;
  const epoch = await store.planeEpoch(plane.projectId, plane.planeId, stored.epoch);
  if (epoch === null)
    throw new Error(
      `expected epoch ${stored.epoch} of ${plane.planeId}, of which a report is stored, got none`,
    );
  const nowMs = now();
  const { challenge } = stored;
  const attestation = attestationOf(stored, nowMs);
  const quota = await quotaOf(services, caller, nowMs);
  return {
    reportId: stored.reportId,
    status,
    receivedAt: formatTimestamp(stored.receivedMs),
    sequence: stored.sequence,
    nextSequence: epoch.nextSequence,
    acceptedTreeSize: epoch.treeSize,
    cosignature: stored.cosignature,
    attestation: {
      status: attestation,
      ...(challenge === null ? {} : { challengeId: challenge.challengeId }),
      ...(challenge === null || attestation !== 'pending' ? {} : { challenge: challengeOf(challenge) }),
    },
    ...(quota === null ? {} : { quota }),
    serverTime: formatTimestamp(nowMs),
  };
}

/** A challenge without an answer in time counts as expired, also before the service records that. */
const attestationOf = (
  { attestation, challenge }: StoredReport,
  nowMs: number,
): UsageResult['attestation']['status'] =>
  attestation === 'pending' && challenge !== null && challenge.expiresMs <= nowMs ? 'expired' : attestation;

/** Null where the project has no quota. The numbers inform the plane and refuse nothing. */
async function quotaOf(
  { store }: Services,
  { project, rules }: Pick<Caller, 'project' | 'rules'>,
  nowMs: number,
): Promise<NonNullable<UsageResult['quota']> | null> {
  const limited = meteredTypes.filter((type) => rules.quotas[type] !== null);
  if (limited.length === 0) return null;
  const month = monthOf(nowMs);
  const { used } = await recentUsage(store, project, { month, nowMs });
  const resetAt = formatTimestamp(endOfMonth(month));
  return Object.fromEntries(
    limited.map((type) => [type, { used: used[type], limit: rules.quotas[type], resetAt }]),
  );
}

/** Cost: three reads for an enrolled plane. */
export async function planeBody(
  { store }: Pick<Services, 'store'>,
  { environment }: Pick<Project, 'environment'>,
  plane: StoredPlane,
  nowMs: number,
): Promise<DataPlane> {
  const { planeId, projectId, name, enrolled, revokedMs } = plane;
  const [epoch, [last], challengesExpired] =
    enrolled === null
      ? [null, [], 0]
      : await Promise.all([
          store.newestEpoch(projectId, planeId),
          store.reports(projectId, planeId, { limit: 1 }),
          store.expiredChallenges(projectId, planeId),
        ]);
  const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));
  const previousMs = enrolled?.previous?.untilMs ?? null;
  return {
    dataPlaneId: planeId,
    name,
    environment,
    status: revokedMs !== null ? 'revoked' : enrolled === null ? 'pending' : 'active',
    createdAt: formatTimestamp(plane.createdMs),
    createdBy: plane.createdBy,
    enrolledAt: time(enrolled?.atMs ?? null),
    revokedAt: time(revokedMs),
    origin: enrolled?.origin ?? null,
    auditOrigin: enrolled?.auditOrigin ?? null,
    verifierKey: enrolled?.verifierKey ?? null,
    auditVerifierKey: enrolled?.auditVerifierKey ?? null,
    formerKeys: (enrolled?.formerKeys ?? []).map(({ untilMs, ...keys }) => ({
      ...keys,
      until: formatTimestamp(untilMs),
    })),
    keyPrefix: enrolled?.keyPrefix ?? null,
    keyLast4: enrolled?.keyLast4 ?? null,
    previousValidUntil: previousMs !== null && previousMs > nowMs ? time(previousMs) : null,
    lastReport:
      last === undefined
        ? null
        : {
            reportId: last.reportId,
            epoch: last.epoch,
            sequence: last.sequence,
            receivedAt: formatTimestamp(last.receivedMs),
            treeSize: last.treeSize,
            attestation: attestationOf(last, nowMs),
          },
    challengesExpired,
    missing: epoch === null ? 0 : epoch.newestSequence - epoch.held,
  };
}

export function reportBody(stored: StoredReport, nowMs: number): ReportRecord {
  const { periodStart, periodEnd, operations, auditLog } = parsedReport(stored);
  const { link } = stored;
  return {
    reportId: stored.reportId,
    epoch: stored.epoch,
    sequence: stored.sequence,
    periodStart,
    periodEnd,
    operations,
    totals: { ...stored.totals },
    treeSize: stored.treeSize,
    auditCheckpoint: auditLog.checkpoint,
    receivedAt: formatTimestamp(stored.receivedMs),
    reportHash: hashText(stored.digest),
    linked: link === 'unknown' || link === 'linked' ? link : 'broken',
    attestation: attestationOf(stored, nowMs),
  };
}

/** Headers of an answer that shows credentials of a data plane once: its address, and that no cache keeps the answer. */
export const shownAt = ({ planeId }: Pick<StoredPlane, 'planeId'>, basePath: string) =>
  ({ 'cache-control': 'no-store', location: `${basePath}/telemetry/planes/${planeId}` }) as const;
