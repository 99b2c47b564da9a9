/**
 * A usage report of a data plane (contract J1-J4; design: verifiable metering): held against itself and its neighbours,
 * stored with its receipt, answered. It is stored once: the same bytes again are answered with the same receipt, whatever
 * the order in which reports come, and units are billed by the largest totals, so nothing counts twice.
 *
 * The receipt is a cosignature of the reported head. It says that the head extends every head of this log that was
 * cosigned before, so it is given where all reports before it are held and linked, each report being stored once under its
 * sequence: a report that comes before its predecessor gets none (`''`), and the next one that closes the row covers it.
 * A second history of the same log, or a smaller head, is therefore never cosigned. Epochs are logs of their own.
 *
 * A crash before the store answers leaves nothing of a report; after it, a repeat gets the receipt.
 * Proven by `test/service/planes/reports.test.ts` and `test/http/telemetry.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { UsageAccepted, UsageReport } from '../../contract/telemetry.ts';
import { refusedCredential } from '../../core/credential.ts';
import { checkReportBy, identitiesSince } from '../../core/plane/former-keys.ts';
import { sha256 } from '../../core/hash.ts';
import { signatureLine, splitNote } from '../../core/note/signed.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import { checkOrder } from '../../core/plane/usage-order.ts';
import { checkSuccession, reportHash, reportMonth, type Fault } from '../../core/plane/usage-report.ts';
import type { EventDraft } from '../../core/event/record.ts';
import type { PlaneEpoch, StoredPlane, StoredReport, TelemetryEffect } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import type { Caller } from '../call/handler.ts';
import { isBilled } from '../access/month.ts';
import { hostingOf } from '../access/projects.ts';
import { tellReported } from '../access/quota.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../dependencies.ts';
import { acceptedAnswer } from './answers.ts';
import { drawChallenge } from './challenge.ts';
import { gapDetected, integrityViolated, reportedLate, reportRefused } from './events.ts';
import { refuseFault, tellOnce } from './faults.ts';
import { neighbourhood, parsedReport, sameReport, type Came, type Neighbourhood } from './state.ts';

export interface Sent extends Came {
  readonly caller: Pick<Caller, 'project' | 'rules'>;
  /** It came in a file, so that its challenge takes its time. */
  readonly byFile: boolean;
}

const attempts = 5;

/** As below; VALIDATION_ERROR where the report is another plane's than its sender's. */
export async function takeOwnReport(services: Services, sent: Sent): Promise<UsageAccepted> {
  const { report, plane, caller } = sent;
  const { projectId, environment } = caller.project;
  const own = { dataPlaneId: plane.planeId, projectId, environment };
  for (const name of ['dataPlaneId', 'projectId', 'environment'] as const) {
    if (report[name] === own[name]) continue;
    const detail = `expected ${own[name]}, which the sender is of, got ${report[name]}`;
    throw fieldError({ pointer: `/${name}`, in: 'body', code: 'NOT_ALLOWED', detail });
  }
  refuseFuture(report, services.now());
  return takeReport(services, sent);
}

/** Units of a month that is not there yet would be billed when it comes, or never. */
function refuseFuture({ periodEnd }: UsageReport, nowMs: number): void {
  const latestMs = nowMs + limits.futureSkewSeconds * 1000;
  if ((parseTimestamp(periodEnd) ?? 0) <= latestMs) return;
  const detail = `expected a period that ended by ${formatTimestamp(latestMs)}, got ${periodEnd}; report it later`;
  throw fieldError({ pointer: '/periodEnd', in: 'body', code: 'TOO_LARGE', detail });
}

/**
 * Takes a report that its sender signed. REPORT_INVALID with the fault, REPORT_CONFLICT, INVALID_CREDENTIAL where the plane
 * was revoked meanwhile, OVERLOADED where other reports of it kept coming in between.
 */
function takeReport(services: Services, sent: Sent): Promise<UsageAccepted> {
  const { projectId, planeId } = sent.plane;
  // a client's run has no `/` in its id
  return services.runs.inTurn({ projectId, runId: `telemetry/${planeId}` }, async () => {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { store } = services;
      const epoch = await store.planeEpoch(projectId, planeId, sent.report.log.epoch);
      // what comes next of all is no repeat; where it is one of another epoch, the store says so
      const isNext = attempt === 0 && sent.report.sequence > (epoch?.newestSequence ?? 0);
      const same = isNext ? null : await sameReport(services, sent);
      if (same !== null) return acceptedAnswer(services, sent, { status: 'duplicate', stored: same });
      const stored = await storeReport(services, sent, epoch);
      if (stored === null) continue;
      tellReported(services, sent.caller, stored.month);
      return acceptedAnswer(services, sent, { status: 'accepted', stored });
    }
    throw new GovError('OVERLOADED', `data plane ${planeId} kept reporting meanwhile; repeat later`, {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  });
}

/** Null where something of the plane was stored meanwhile. */
async function storeReport(
  services: Services,
  sent: Sent,
  epoch: PlaneEpoch | null,
): Promise<StoredReport | null> {
  // one that waited while the plane enrolled with other keys is by those before
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
    await append(services, { projectId, leaves, meter: unmetered, effects, fingerprints });
    return stored;
  } catch (error) {
    await tellLimit(services, sent, error);
    return asMeanwhile(services, sent, error);
  }
}

/** What the store refuses of a report that holds together is said where its operator looks, too. */
async function tellLimit(services: Services, { plane, report }: Sent, error: unknown): Promise<void> {
  if (!(error instanceof GovError) || error.code !== 'REPORT_INVALID') return;
  const telling = { planeId: plane.planeId, nowMs: services.now(), salt: services.salt };
  const { reportId, sequence } = report;
  const refused = {
    reportId,
    sequence,
    epoch: report.log.epoch,
    reason: 'limit_reached',
    pointer: '',
  } as const;
  await tellOnce(services, plane.projectId, reportRefused(refused, telling));
}

/** What does not hold of a report after those before it that are held. */
function brokenAfter({ previous, earlier }: Neighbourhood, report: UsageReport): Fault | null {
  if (previous !== null) return checkSuccession(parsedReport(previous), reportHash(previous.body), report);
  return earlier === null ? null : checkOrder(parsedReport(earlier), report);
}

/** What another process did meanwhile: the report is looked at again, unless its plane was revoked. */
function asMeanwhile({ forgetCredential }: Services, { plane }: Sent, error: unknown): null {
  if (!(error instanceof GovError)) throw error;
  if (error.code === 'NOT_FOUND') {
    forgetCredential(plane.planeId);
    throw refusedCredential();
  }
  if (error.code === 'REPORT_CONFLICT' || error.code === 'CONFLICT') return null;
  throw error;
}

interface Seen {
  readonly near: Neighbourhood;
  readonly nowMs: number;
}

async function newReport(services: Services, sent: Sent, { near, nowMs }: Seen): Promise<StoredReport> {
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

/** Whether every report before is held and linked. */
const isWhole = (sequence: number, { epoch, previous }: Neighbourhood): boolean =>
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

/** What the report makes known: that others are missing, or do not follow from it, or that a bill is another one. */
function eventsOf({ salt }: Services, { plane, report }: Sent, { near, nowMs }: Seen): EventDraft[] {
  const telling = { planeId: plane.planeId, nowMs, salt };
  const { epoch } = report.log;
  const firstMissing = (near.epoch?.newestSequence ?? 0) + 1;
  const gap =
    report.sequence > firstMissing
      ? [gapDetected({ epoch, firstMissing, before: report.sequence }, telling)]
      : [];
  const broken = near.links.flatMap(({ report: { reportId, sequence }, fault }) =>
    fault === null
      ? []
      : [integrityViolated({ reportId, epoch, sequence, ...reasonOf(fault), stored: true }, telling)],
  );
  return [...gap, ...lateOf(report, { near, nowMs }).map((late) => reportedLate(late, telling)), ...broken];
}

/** The first report in a row that comes after its month was billed. */
function lateOf(
  report: UsageReport,
  { near: { previous }, nowMs }: Seen,
): Parameters<typeof reportedLate>[0][] {
  const month = reportMonth(report);
  const isFollowing = previous?.month === month && isBilled(month, previous.receivedMs);
  if (!isBilled(month, nowMs) || isFollowing) return [];
  const { reportId, sequence, log } = report;
  return [{ reportId, epoch: log.epoch, sequence, month }];
}

const reasonOf = ({ fault, pointer }: Fault) => ({ reason: fault, pointer });

/** REPORT_INVALID, once it is told. */
async function refuseReport(
  services: Services,
  { plane, report }: Sent,
  { fault, isViolation }: { readonly fault: Fault; readonly isViolation: boolean },
): Promise<never> {
  const telling = { planeId: plane.planeId, nowMs: services.now(), salt: services.salt };
  const { reportId, sequence } = report;
  const refused = { reportId, sequence, epoch: report.log.epoch, ...reasonOf(fault) };
  const event = isViolation
    ? integrityViolated({ ...refused, stored: false }, telling)
    : reportRefused(refused, telling);
  return refuseFault(services, { plane, fault, code: 'REPORT_INVALID', event });
}

/** What the plane said of itself when it enrolled. */
export function identityOf({ planeId, enrolled }: StoredPlane): NonNullable<StoredPlane['enrolled']> {
  if (enrolled === null) throw new Error(`data plane ${planeId} has credentials and is not enrolled`);
  return enrolled;
}
