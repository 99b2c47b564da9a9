/**
 * Lets a plane continue after its outbox was lost or is older than its last report. The plane asks the
 * service for the newest report and looks for it in its own log. If the log contains it, the next report
 * follows it. If not, the plane itself was rolled back. It then reports nothing, because its reports would
 * describe another history. The plane does not trust the service: a report counts where the plane's own key,
 * present or former, signed its checkpoints. Only a key that was in force at that size counts against the
 * log. Proven by `test/plane/telemetry/outbox-held.test.ts` and `test/plane/telemetry/adopt.test.ts`.
 */
import { UsageReport, type NewestReport } from '../../src/contract/telemetry.ts';
import { checkReportBy } from '../../src/core/planes/former-keys.ts';
import type { Checkpoint } from '../../src/core/note/checkpoint.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { parseVerifierKey, verifierKeyText } from '../../src/core/note/signed.ts';
import {
  checkReport,
  epochOrigin,
  reportedAuditHead,
  reportedHead,
  reportHash,
  type PlaneIdentity,
} from '../../src/core/planes/usage-report.ts';
import { fits } from '../../src/service/call/explain.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { TreeName } from '../../src/store/port/store.ts';
import { PlaneLog } from './meter-log.ts';
import type { OutboxReport } from './outbox.ts';
import { identityOf, meteringLog, type Maker } from './maker.ts';

/** Identifies an enrolment, so that the plane asks its service once for each. */
export const askedFor = ({ enrolment }: Pick<Maker, 'enrolment'>): string =>
  `${enrolment.dataPlaneId} ${enrolment.enrolledAt}`;

/** Parses the response of `GET /telemetry/reports/newest`. Returns null for any other response. */
export function newestIn(status: number, body: unknown): NewestReport | null {
  if (status !== 200 || typeof body !== 'object' || body === null) return null;
  const { epoch, nextSequence, report, cosignature } = body as Record<string, unknown>;
  const isWhole = Number.isSafeInteger(epoch) && Number.isSafeInteger(nextSequence);
  const isText = (report === null || typeof report === 'string') && typeof cosignature === 'string';
  return isWhole && isText ? (body as NewestReport) : null;
}

/**
 * Compares the newest report of the service with the outbox. True where the plane must remake waiting reports
 * or send later ones again. STORAGE_FAULT where the log cannot be read.
 */
export async function takeNewest(maker: Maker, newest: NewestReport): Promise<boolean> {
  const { outbox, enrolment, now } = maker;
  const { dataPlaneId } = enrolment;
  const asked = askedFor(maker);
  const { report: body } = newest;
  if (body === null) {
    outbox.held.asked(asked, null);
    return resend(maker, newest);
  }
  const place = await placeOf(maker, body);
  if ('detail' in place) {
    const word = place.is === 'unknown' ? 'outbox_behind' : 'rolled_back';
    outbox.held.asked(asked, { report: body, reason: `${word}: ${place.detail}` });
    return false;
  }
  outbox.held.asked(asked, null);
  if (place.is === 'ended') return false;
  const row = rowOf(dataPlaneId, place.report, body);
  if (outbox.report(dataPlaneId, row.reportId)?.state === 'accepted') return resend(maker, newest);
  const receipt = {
    dataPlaneId,
    reportId: row.reportId,
    sequence: row.sequence,
    cosignature: newest.cosignature,
  };
  outbox.held.adopt(row, JSON.stringify(receipt), now());
  return true;
}

/** Sends accepted reports again after the service lost them. */
function resend({ outbox, enrolment }: Maker, { epoch, nextSequence }: NewestReport): boolean {
  const last = outbox.held.newestAccepted(enrolment.dataPlaneId);
  if (last === null || last.epoch !== epoch || last.sequence < nextSequence) return false;
  outbox.held.requeue(last.planeId, epoch, nextSequence, last.sequence);
  return true;
}

/**
 * Whether the service holds a report that the log lacks. Checks again each time, since an operator may
 * restore the newest copy. The plane then adopts the report. Cost: one read where all is well.
 */
export async function isRolledBack(maker: Maker): Promise<boolean> {
  const { outbox, enrolment } = maker;
  const { held, heldReason } = outbox.held.known();
  if (held === null || heldReason?.startsWith('rolled_back') !== true) return false;
  const newest = { epoch: 0, nextSequence: Number.MAX_SAFE_INTEGER, report: held, cosignature: '' };
  const { dataPlaneId } = JSON.parse(held) as UsageReport; // checked when it was stored
  if (dataPlaneId !== enrolment.dataPlaneId) return false;
  await takeNewest(maker, newest);
  return outbox.held.known().held !== null;
}

type ReportOrigin =
  | { readonly is: 'of this log' | 'ended'; readonly report: UsageReport }
  | { readonly is: 'unknown' | 'rolled back'; readonly detail: string };

const toDo =
  'bring the newest copy of the data directory back, or, where none is left, begin a new log with gov log recover and ' +
  'enrol it with a token for this data plane (gov planes token, at the service)';

async function placeOf(maker: Maker, body: string): Promise<ReportOrigin> {
  const { project, enrolment } = maker;
  const { epoch } = meteringLog(project);
  const report = reportIn(body);
  const fault = report === null ? 'it is no report' : foreignTo(maker, report);
  if (report === null || fault !== null || report.dataPlaneId !== enrolment.dataPlaneId) {
    return { is: 'unknown', detail: foreign(fault ?? 'it is of another data plane') };
  }
  if (report.log.epoch < epoch) return { is: 'ended', report };
  const heads = [
    { tree: 'metering', head: reportedHead(report) },
    { tree: 'audit', head: reportedAuditHead(report) },
  ] as const;
  const what = `report ${report.sequence} of ${report.sentAt}`;
  if (report.log.epoch > epoch) {
    const detail = `the service holds ${what} of epoch ${report.log.epoch}, and this log is of epoch ${epoch}`;
    return { is: 'rolled back', detail: `${detail}; serve the data directory that gov log recover made` };
  }
  const log = new PlaneLog(maker.reader, project.projectId);
  for (const { tree, head } of heads) {
    const detail = await contradiction(log, tree, head);
    if (detail === null) continue;
    if (await couldMake(maker, report))
      return { is: 'rolled back', detail: `the service holds ${what}, ${detail}; ${toDo}` };
    const retired = 'it is signed by a key that this log had retired by then';
    return { is: 'unknown', detail: foreign(retired) };
  }
  return { is: 'of this log', report };
}

const foreign = (fault: string): string =>
  `the service holds a report that this plane did not make: ${fault}; what it refuses for it is not billed: ask who runs ` +
  'the service';

/**
 * Whether this plane may have made a report that the log lacks, and not a thief with a retired key. The key
 * that the service knows can make any report. It signs reports after its retirement, until the plane enrols
 * again.
 */
async function couldMake(maker: Maker, report: UsageReport): Promise<boolean> {
  const [known, ...former] = identitiesOf(identityOf(maker), maker.formerKeys?.() ?? []);
  if (known !== undefined && checkReport(report, known) === null) return true;
  const history = await logKeys(maker.reader, maker.project.projectId);
  const { size } = reportedAuditHead(report);
  return former.some(
    (each) =>
      checkReport(report, each) === null &&
      history.couldSign(parseVerifierKey(each.auditVerifierKey).publicKey, size),
  );
}

/** Says what differs where a log lacks a signed head. Returns null where the log has that head. */
export async function contradiction(log: PlaneLog, tree: TreeName, head: Checkpoint): Promise<string | null> {
  const { size } = await log.head(tree);
  if (size < head.size) return `of a ${tree} log of ${head.size} leaves, which has ${size} here`;
  const root = await log.root(tree, head.size);
  return root.equals(head.root)
    ? null
    : `of a ${tree} log with another root at ${head.size} leaves than here`;
}

/**
 * Parses a report that fits its schema. Returns null for any other text, since the service is not trusted.
 */
export function reportIn(body: string): UsageReport | null {
  try {
    const value = parseJson(Buffer.from(body));
    return fits(UsageReport, value) ? value : null;
  } catch {
    return null;
  }
}

/** Says why this plane did not make a report. Returns null where it may have. */
function foreignTo(maker: Maker, report: UsageReport): string | null {
  const fault = checkReportBy(report, identitiesOf(identityOf(maker), maker.formerKeys?.() ?? []));
  return fault === null ? null : `${fault.fault} at ${fault.pointer}: ${fault.detail}`;
}

/** Returns the plane's identity with its present keys, then with each former key. */
export function identitiesOf(identity: PlaneIdentity, formerKeys: readonly Buffer[]): PlaneIdentity[] {
  const { origin, auditOrigin } = identity;
  const former = formerKeys.map((publicKey) => ({
    ...identity,
    verifierKey: verifierKeyText(epochOrigin(origin, 0), 'ed25519', publicKey),
    auditVerifierKey: verifierKeyText(auditOrigin, 'ed25519', publicKey),
  }));
  return [identity, ...former.filter(({ verifierKey }) => verifierKey !== identity.verifierKey)];
}

function rowOf(planeId: string, report: UsageReport, body: string): OutboxReport {
  const { reportId, sequence, log } = report;
  const [periodEndMs, builtMs] = [Date.parse(report.periodEnd), Date.parse(report.sentAt)];
  return {
    planeId,
    epoch: log.epoch,
    sequence,
    reportId,
    body,
    hash: reportHash(body),
    treeSize: log.treeSize,
    periodEndMs,
    builtMs,
  };
}
