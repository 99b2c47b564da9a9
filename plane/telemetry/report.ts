/**
 * Makes the usage reports of a plane and puts them into its outbox (contract J1). See
 * docs/reference/telemetry-protocol.md. One report covers the time up to now, and one each UTC month with
 * leaves that ended since the last report. A period without operations also gets a report, as a heartbeat. A
 * report depends only on the log and on the report before. A crash before the insert leaves nothing. Proven
 * by `test/plane/telemetry/report.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { build } from '../../src/client/version.ts';
import { meteredTypes, type MeteredType } from '../../src/contract/operation.ts';
import { GovError } from '../../src/contract/problems.ts';
import { usageSchema, type UsageReport } from '../../src/contract/telemetry.ts';
import { signCheckpoint } from '../../src/core/note/checkpoint.ts';
import { typeId } from '../../src/core/id.ts';
import { canonicalText } from '../../src/core/json/canonical.ts';
import { zeroTotals, type Totals } from '../../src/core/planes/metering.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import {
  checkReport,
  checkSuccession,
  reportHash,
  type PlaneIdentity,
} from '../../src/core/planes/usage-report.ts';
import type { TreeName } from '../../src/store/port/store.ts';
import { isRolledBack } from './adopt.ts';
import { ed25519Of, identityOf, meteringLog, reportTime, type Maker } from './maker.ts';
import { PlaneLog } from './meter-log.ts';
import type { OutboxReport, StoredReport } from './outbox.ts';

export { ed25519Of, identityOf, meteringLog, type Maker } from './maker.ts';

/** The end of the last report, where the next one begins. */
interface Before {
  readonly sequence: number;
  readonly hash: string | null;
  readonly treeSize: number;
  readonly totals: Totals;
  readonly endMs: number;
  readonly report: UsageReport | null;
}

/**
 * Makes all due reports and returns how many it inserted. That is fewer where another process inserted some,
 * and 0 where the service holds more than the log. Yields between reports. STORAGE_FAULT where the log is
 * behind its reports or is inconsistent.
 */
export async function makeReports(maker: Maker): Promise<number> {
  const { outbox, enrolment, project } = maker;
  if (await isRolledBack(maker)) return 0;
  const { epoch } = meteringLog(project);
  const size = await maker.signedSize('metering');
  await maker.signedSize('audit'); // covers all leaves up to `size`
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

/** Skips months without records since the last report. There may be thousands. */
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
 * Whether the last reported leaf has a time in the month at `monthMs` or later, from a clock that was ahead.
 * The month before then has no other leaf. No report can end with it, because its last leaf would be later
 * than its end.
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
  const report = JSON.parse(newest.body) as UsageReport; // made by this plane
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
    runtime: { planeVersion: build, nodeVersion: process.version },
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

/** Makes a checkpoint at a size that a signed checkpoint already covers. */
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

/** Rejects a report that the service would refuse: the log on disk differs from the recorded one. */
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

/** Returns the beginning of the UTC month of a time. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** Returns the beginning of the next UTC month after a time. */
export function nextMonth(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
