/**
 * Makes the usage reports of a plane (contract J1; docs/reference/telemetry-protocol.md) and puts them into its outbox: one up to now, and one
 * for each month of UTC with leaves that ended since the report before. A period without operations is reported too: it
 * is the heartbeat. What is reported follows from the log and from the report before alone; a crash before the insert leaves
 * nothing. Proven by `test/plane/telemetry/report.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { version } from '../../src/client/version.ts';
import { meteredTypes, type MeteredType } from '../../src/contract/operation.ts';
import { GovError } from '../../src/contract/problems.ts';
import { usageSchema, type UsageReport } from '../../src/contract/telemetry.ts';
import { signCheckpoint } from '../../src/core/note/checkpoint.ts';
import { typeId } from '../../src/core/id.ts';
import { canonicalText } from '../../src/core/json/canonical.ts';
import { zeroTotals, type Totals } from '../../src/core/plane/metering.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import {
  checkReport,
  checkSuccession,
  reportHash,
  type PlaneIdentity,
} from '../../src/core/plane/usage-report.ts';
import type { TreeName } from '../../src/store/port/store.ts';
import { isRolledBack } from './adopt.ts';
import { ed25519Of, identityOf, meteringLog, reportTime, type Maker } from './maker.ts';
import { PlaneLog } from './meter-log.ts';
import type { OutboxReport, StoredReport } from './outbox.ts';

export { ed25519Of, identityOf, meteringLog, type Maker } from './maker.ts';

/** Where the next report begins. */
interface Before {
  readonly sequence: number;
  readonly hash: string | null;
  readonly treeSize: number;
  readonly totals: Totals;
  readonly endMs: number;
  readonly report: UsageReport | null;
}

/**
 * Makes what is to be reported up to now. Answers how many reports were inserted: less than were due where another
 * process inserted some meanwhile, none where the service holds more than the log has. Gives way between reports.
 * STORAGE_FAULT where the log is behind what was reported, or does not hold together.
 */
export async function makeReports(maker: Maker): Promise<number> {
  const { outbox, enrolment, project } = maker;
  if (await isRolledBack(maker)) return 0;
  const { epoch } = meteringLog(project);
  const size = await maker.signedSize('metering');
  await maker.signedSize('audit'); // covers what the leaves up to `size` do
  const log = new PlaneLog(maker.reader, project.projectId);
  const nowMs = reportTime(maker);
  const newest = outbox.newest(enrolment.dataPlaneId);
  let before = await beginning(log, { newest, epoch, size, nowMs });
  const lastMs = size === 0 ? 0 : (await log.leaf(size - 1)).atMs;
  const endMs = Math.max(nowMs, before.endMs);
  for (let made = 0; ; made++) {
    before = await startAfter(log, before, { size, endMs });
    let monthMs = nextMonth(before.endMs);
    while (monthMs < endMs && (await isAhead(log, before, monthMs))) {
      before = { ...before, endMs: monthMs };
      monthMs = nextMonth(monthMs);
    }
    const isCut = monthMs < endMs || (monthMs === endMs && lastMs >= endMs);
    const upTo = isCut
      ? { endMs: monthMs, size: await log.sizeBefore(monthMs, { from: before.treeSize, size }) }
      : { endMs, size };
    const next = await makeReport(maker, log, before, upTo);
    if (!outbox.insert(next.row)) return made;
    before = next.before;
    if (!isCut) return made + 1;
    await nextTurn();
  }
}

/** Months that began after the report before and in which nothing was recorded are no reports: there may be thousands. */
async function startAfter(
  log: PlaneLog,
  before: Before,
  { size, endMs }: { readonly size: number; readonly endMs: number },
): Promise<Before> {
  const isMonth = before.endMs === monthOf(before.endMs);
  if (!isMonth) return before;
  const nextMs = before.treeSize < size ? (await log.leaf(before.treeSize)).atMs : endMs;
  return { ...before, endMs: Math.max(before.endMs, monthOf(Math.min(nextMs, endMs))) };
}

/**
 * Whether the last leaf that was reported is dated into the month that begins at `monthMs`, or later, by a clock that was
 * ahead. The month before has no other leaf then, and no report can end with it: its last leaf would be dated after its end.
 */
const isAhead = async (log: PlaneLog, { treeSize }: Before, monthMs: number): Promise<boolean> =>
  treeSize > 0 && (await log.leaf(treeSize - 1)).atMs >= monthMs;

async function beginning(
  log: PlaneLog,
  at: { newest: StoredReport | null; epoch: number; size: number; nowMs: number },
): Promise<Before> {
  const { newest, epoch, size, nowMs } = at;
  const first = { sequence: 0, hash: null, treeSize: 0, totals: zeroTotals, report: null };
  if (newest === null) return { ...first, endMs: size === 0 ? nowMs : (await log.leaf(0)).atMs };
  if (newest.epoch > epoch || (newest.epoch === epoch && newest.treeSize > size)) {
    const detail =
      `expected the metering log to hold what was reported of it, ${newest.treeSize} leaves in epoch ${newest.epoch}, ` +
      `got ${size} in epoch ${epoch}; an older copy was restored: bring the newest one back, or begin a new log with ` +
      'gov log recover';
    throw new GovError('STORAGE_FAULT', detail);
  }
  if (newest.epoch < epoch) return { ...first, endMs: newest.periodEndMs };
  const report = JSON.parse(newest.body) as UsageReport; // our own
  const { sequence, hash, treeSize, periodEndMs } = newest;
  return { sequence, hash, treeSize, totals: report.totals, endMs: periodEndMs, report };
}

async function makeReport(
  maker: Maker,
  log: PlaneLog,
  before: Before,
  { size, endMs }: { readonly size: number; readonly endMs: number },
): Promise<{ readonly row: OutboxReport; readonly before: Before }> {
  const { enrolment, project, randomBytes } = maker;
  const { origin, epoch } = meteringLog(project);
  const builtMs = reportTime(maker);
  const last = size === 0 ? null : await log.leaf(size - 1);
  const covered = size === 0 ? null : await log.covered(size - 1);
  const auditSize = covered === null ? 0 : covered.firstAuditIndex + covered.count;
  const totals = last?.totals ?? zeroTotals;
  const report: UsageReport = {
    schemaVersion: usageSchema,
    reportId: typeId('urp', builtMs, randomBytes(10)),
    dataPlaneId: enrolment.dataPlaneId,
    projectId: enrolment.projectId,
    environment: enrolment.environment,
    sequence: before.sequence + 1,
    periodStart: formatTimestamp(before.endMs),
    periodEnd: formatTimestamp(endMs),
    operations: difference(totals, before.totals),
    totals: { ...totals },
    unmetered: await log.unmetered(before.treeSize, size),
    log: {
      origin: project.meteringOrigin,
      epoch,
      fromSize: before.treeSize,
      treeSize: size,
      checkpoint: await checkpointAt(maker, log, 'metering', size),
      consistency: await log.consistency(before.treeSize, size),
    },
    lastLeaf:
      last === null
        ? null
        : {
            index: last.index,
            record: last.record,
            inclusion: await log.inclusion('metering', last.index, size),
          },
    auditLog: { treeSize: auditSize, checkpoint: await checkpointAt(maker, log, 'audit', auditSize) },
    previousReportHash: before.hash,
    runtime: { planeVersion: version, nodeVersion: process.version },
    sentAt: formatTimestamp(builtMs),
  };
  refuseUntrue(report, before, { ...identityOf(maker), origin });
  const body = canonicalText(report);
  const hash = reportHash(body);
  const { dataPlaneId: planeId, reportId, sequence } = report;
  const row = { planeId, epoch, sequence, reportId, body, hash, treeSize: size, periodEndMs: endMs, builtMs };
  return { row, before: { sequence, hash, treeSize: size, totals, endMs, report } };
}

const difference = (totals: Totals, earlier: Totals): Record<MeteredType, number> =>
  Object.fromEntries(meteredTypes.map((type) => [type, totals[type] - earlier[type]])) as Record<
    MeteredType,
    number
  >;

/** A checkpoint at a size that is covered by a signed one already. */
async function checkpointAt(
  { project, signers }: Maker,
  log: PlaneLog,
  tree: TreeName,
  size: number,
): Promise<string> {
  const origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
  const root = await log.root(tree, size);
  return signCheckpoint({ origin, size, root, extensions: [] }, [ed25519Of(signers(origin))]);
}

/** What a service would refuse is not sent: the log on disk is not what was recorded. */
function refuseUntrue(report: UsageReport, before: Before, identity: PlaneIdentity): void {
  const fault =
    checkReport(report, identity) ??
    (before.report === null || before.hash === null
      ? null
      : checkSuccession(before.report, before.hash, report));
  if (fault === null) return;
  const detail = `the metering log does not hold together, ${fault.fault} at ${fault.pointer}: ${fault.detail}; run gov log fsck --deep`;
  throw new GovError('STORAGE_FAULT', detail);
}

/** When the month of UTC of a time began. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** When the next month of UTC begins after a time. */
export function nextMonth(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
