/**
 * Takes a usage report of a data plane (contract J1-J4): checks it against its own parts and its neighbours,
 * stores it with its receipt, and answers. A report is stored once: the same bytes get the same receipt, in
 * whatever order reports arrive, and billing uses the largest totals, so no unit counts twice.
 *
 * The receipt is a cosignature of the reported head. It states that the head extends every head of this log
 * that was cosigned before. So a report gets it only where all earlier reports are stored and linked, each
 * under its own sequence. A report before its predecessor gets none (`''`), and the report that closes the
 * gap covers it. The service therefore never cosigns a second history of a log or a smaller head. Each epoch
 * is a log of its own.
 *
 * A crash before the store answers leaves nothing of a report; after it, a repeat gets the receipt. Proven by
 * `test/service/planes/reports.test.ts` and `test/http/telemetry.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { UsageResult, UsageReport } from '../../contract/telemetry.ts';
import { refusedCredential } from '../../core/credential.ts';
import { checkReportBy, identitiesSince } from '../../core/planes/former-keys.ts';
import { sha256 } from '../../core/hash.ts';
import { signatureLine, splitNote } from '../../core/note/signed.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import { checkOrder } from '../../core/planes/usage-order.ts';
import { checkSuccession, reportHash, reportMonth, type Fault } from '../../core/planes/usage-report.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { PlaneEpoch, StoredPlane, StoredReport, TelemetryEffect } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import type { Caller } from '../call/caller.ts';
import { isMonthBilled } from '../call/month.ts';
import { hostingOf } from '../access/projects.ts';
import { announceReported } from '../billing/quota.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { acceptedAnswer } from './answers.ts';
import { drawChallenge } from './challenge.ts';
import { gapDetected, integrityViolated, reportedLate, reportRefused } from './events.ts';
import { refuseFault, recordOnce } from './faults.ts';
import { neighbourhood, parsedReport, sameReport, type NewReport, type ReportLinks } from './state.ts';
import { untilStored } from '../call/overtaken.ts';

export interface ReceivedReport extends NewReport {
  readonly caller: Pick<Caller, 'project' | 'rules'>;
  /** Whether it came in a file; its challenge then allows more time. */
  readonly byFile: boolean;
}

/** Like `takeReport`. VALIDATION_ERROR where the report names another plane than its sender. */
export async function takeOwnReport(services: Services, sent: ReceivedReport): Promise<UsageResult> {
  const { report, plane, caller } = sent;
  const { projectId, environment } = caller.project;
  const own = { dataPlaneId: plane.planeId, projectId, environment };
  for (const name of ['dataPlaneId', 'projectId', 'environment'] as const) {
    if (report[name] === own[name]) continue;
    const detail = `expected ${own[name]}, as of the sender, got ${report[name]}`;
    throw fieldError({ pointer: `/${name}`, in: 'body', code: 'NOT_ALLOWED', detail });
  }
  refuseFuture(report, services.now());
  return takeReport(services, sent);
}

/** Refuses units of a future month, which would be billed late or never. */
function refuseFuture({ periodEnd }: UsageReport, nowMs: number): void {
  const latestMs = nowMs + limits.futureSkewSeconds * 1000;
  if ((parseTimestamp(periodEnd) ?? 0) <= latestMs) return;
  const detail = `expected a period that ended by ${formatTimestamp(latestMs)}, got ${periodEnd}; report it later`;
  throw fieldError({ pointer: '/periodEnd', in: 'body', code: 'TOO_LARGE', detail });
}

/**
 * Takes a report that its sender signed. REPORT_INVALID with the fault, REPORT_CONFLICT, INVALID_CREDENTIAL
 * where the plane was revoked in the meantime, OVERLOADED where its other reports keep arriving in between.
 */
function takeReport(services: Services, sent: ReceivedReport): Promise<UsageResult> {
  const { projectId, planeId } = sent.plane;
  // a client's run id contains no `/`
  let isFirst = true;
  return services.runs.inTurn({ projectId, runId: `telemetry/${planeId}` }, () =>
    untilStored(`data plane ${planeId}`, async () => {
      const { store } = services;
      const epoch = await store.planeEpoch(projectId, planeId, sent.report.log.epoch);
      // the next report of an epoch is no repeat; the store refuses one of another epoch
      const isNext = isFirst && sent.report.sequence > (epoch?.newestSequence ?? 0);
      isFirst = false;
      const same = isNext ? null : await sameReport(services, sent);
      if (same !== null) return acceptedAnswer(services, sent, { status: 'duplicate', stored: same });
      const stored = await storeReport(services, sent, epoch);
      if (stored === null) return null;
      announceReported(services, sent.caller, stored.month);
      return acceptedAnswer(services, sent, { status: 'accepted', stored });
    }),
  );
}

/** Null where another append changed the plane in the meantime. */
async function storeReport(
  services: Services,
  sent: ReceivedReport,
  epoch: PlaneEpoch | null,
): Promise<StoredReport | null> {
  // a report that waited during a new enrolment is signed with the earlier keys
  const endMs = parseTimestamp(sent.report.periodEnd) ?? 0;
  const fault = checkReportBy(sent.report, identitiesSince(identityOf(sent.plane), endMs));
  if (fault !== null) return refuseReport(services, sent, { fault, isViolation: false });
  const near = await neighbourhood(services, sent, epoch);
  const broken = brokenAfter(near, sent.report);
  if (broken !== null) return refuseReport(services, sent, { fault: broken, isViolation: true });
  const nowMs = services.now();
  const stored = await newReport(services, sent, { near, nowMs });
  const effects: TelemetryEffect[] = [
    { kind: 'saveReport', report: stored },
    ...near.links.map(({ report, link }): TelemetryEffect => ({
      kind: 'linkReport',
      planeId: report.planeId,
      epoch: report.epoch,
      sequence: report.sequence,
      link,
    })),
  ];
  const leaves = eventsOf(services, sent, { near, nowMs });
  const fingerprints = new Map(leaves.map((_, at) => [at, 'telemetry'] as const));
  const { projectId } = sent.plane;
  try {
    await append(services, { projectId, leaves, effects, fingerprints });
    return stored;
  } catch (error) {
    await recordLimit(services, sent, error);
    return asMeanwhile(services, sent, error);
  }
}

/** Records an event where the store refuses a consistent report by a limit, so that the operator sees it. */
async function recordLimit(
  services: Services,
  { plane, report }: ReceivedReport,
  error: unknown,
): Promise<void> {
  if (!(error instanceof GovError) || error.code !== 'REPORT_INVALID') return;
  const context = { planeId: plane.planeId, nowMs: services.now(), salt: services.salt };
  const { reportId, sequence } = report;
  const refused = {
    reportId,
    sequence,
    epoch: report.log.epoch,
    reason: 'limit_reached',
    pointer: '',
  } as const;
  await recordOnce(services, plane.projectId, reportRefused(refused, context));
}

/** The fault of a report after its stored predecessors, or null. */
function brokenAfter({ previous, earlier }: ReportLinks, report: UsageReport): Fault | null {
  if (previous !== null) return checkSuccession(parsedReport(previous), reportHash(previous.body), report);
  return earlier === null ? null : checkOrder(parsedReport(earlier), report);
}

/** Handles a change by another process: null to read again; throws where the plane was revoked. */
function asMeanwhile({ forgetCredential }: Services, { plane }: ReceivedReport, error: unknown): null {
  if (!(error instanceof GovError)) throw error;
  if (error.code === 'NOT_FOUND') {
    forgetCredential(plane.planeId);
    throw refusedCredential();
  }
  if (error.code === 'REPORT_CONFLICT' || error.code === 'CONFLICT') return null;
  throw error;
}

interface ReportContext {
  readonly near: ReportLinks;
  readonly nowMs: number;
}

async function newReport(
  services: Services,
  sent: ReceivedReport,
  { near, nowMs }: ReportContext,
): Promise<StoredReport> {
  const { report, canonical, plane, byFile } = sent;
  const { sequence, totals, log } = report;
  const isSuspect = near.previous?.attestation === 'failed';
  const challenge = await drawChallenge(services, sent, { nowMs, byFile, isSuspect });
  return {
    planeId: plane.planeId,
    epoch: log.epoch,
    sequence,
    reportId: report.reportId,
    body: canonical,
    digest: sha256(canonical),
    receivedMs: nowMs,
    month: reportMonth(report),
    treeSize: log.treeSize,
    totals,
    link: sequence === 1 || near.previous !== null ? 'linked' : 'unknown',
    cosignature: isWhole(sequence, near) ? cosign(services, log.checkpoint, nowMs) : '',
    attestation: challenge === null ? 'not_sampled' : 'pending',
    challenge,
    answer: null,
  };
}

/** Whether every earlier report is stored and linked. */
const isWhole = (sequence: number, { epoch, previous }: ReportLinks): boolean =>
  sequence === 1 ||
  (previous !== null &&
    epoch !== null &&
    epoch.nextSequence >= sequence &&
    (epoch.firstUnlinked === null || epoch.firstUnlinked > sequence));

/** The signature line over the head that the plane signed. */
function cosign(services: Services, checkpoint: string, nowMs: number): string {
  const { cosigner } = hostingOf(services);
  return signatureLine(splitNote(checkpoint).text, cosigner, { timestampSeconds: Math.floor(nowMs / 1000) });
}

/** Events that the report causes: missing reports, a report that does not follow, or a changed bill. */
function eventsOf(
  { salt }: Services,
  { plane, report }: ReceivedReport,
  { near, nowMs }: ReportContext,
): EventDraft[] {
  const context = { planeId: plane.planeId, nowMs, salt };
  const { epoch } = report.log;
  const firstMissing = (near.epoch?.newestSequence ?? 0) + 1;
  const gap =
    report.sequence > firstMissing
      ? [gapDetected({ epoch, firstMissing, before: report.sequence }, context)]
      : [];
  const broken = near.links.flatMap(({ report: { reportId, sequence }, fault }) =>
    fault === null
      ? []
      : [integrityViolated({ reportId, epoch, sequence, ...reasonOf(fault), stored: true }, context)],
  );
  return [...gap, ...lateOf(report, { near, nowMs }).map((late) => reportedLate(late, context)), ...broken];
}

/** The first report in a row that arrived after its month was billed. */
function lateOf(
  report: UsageReport,
  { near: { previous }, nowMs }: ReportContext,
): Parameters<typeof reportedLate>[0][] {
  const month = reportMonth(report);
  const isFollowing = previous?.month === month && isMonthBilled(month, previous.receivedMs);
  if (!isMonthBilled(month, nowMs) || isFollowing) return [];
  const { reportId, sequence, log } = report;
  return [{ reportId, epoch: log.epoch, sequence, month }];
}

const reasonOf = ({ fault, pointer }: Fault) => ({ reason: fault, pointer });

/** REPORT_INVALID, after recording it. */
async function refuseReport(
  services: Services,
  { plane, report }: ReceivedReport,
  { fault, isViolation }: { readonly fault: Fault; readonly isViolation: boolean },
): Promise<never> {
  const context = { planeId: plane.planeId, nowMs: services.now(), salt: services.salt };
  const { reportId, sequence } = report;
  const refused = { reportId, sequence, epoch: report.log.epoch, ...reasonOf(fault) };
  const event = isViolation
    ? integrityViolated({ ...refused, stored: false }, context)
    : reportRefused(refused, context);
  return refuseFault(services, { plane, fault, code: 'REPORT_INVALID', event });
}

/** The plane's statement about itself at enrolment. */
export function identityOf({ planeId, enrolled }: StoredPlane): NonNullable<StoredPlane['enrolled']> {
  if (enrolled === null)
    throw new Error(`expected data plane ${planeId}, which has credentials, to be enrolled`);
  return enrolled;
}
