/**
 * Merges unsent reports that are older than `limits.telemetryMergeDays` into one a month (contract J8).
 * Totals are cumulative, so nothing is lost. Later unsent reports get new numbers and links. One transaction
 * does it all: a crash leaves the old reports or the new ones. Proven by
 * `test/plane/telemetry/report.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import { meteredTypes, type MeteredType } from '../../src/contract/operation.ts';
import type { UsageReport } from '../../src/contract/telemetry.ts';
import { typeId } from '../../src/core/id.ts';
import { canonicalText } from '../../src/core/json/canonical.ts';
import { reportHash, reportMonth } from '../../src/core/planes/usage-report.ts';
import { PlaneLog } from './meter-log.ts';
import type { OutboxReport, StoredReport } from './outbox.ts';
import type { Maker } from './report.ts';

const dayMs = 24 * 3600 * 1000;

interface WaitingReport {
  readonly row: StoredReport;
  readonly report: UsageReport;
}

/** Returns how many reports the merge removed. O(n) in unsent reports, and one path a month. */
export async function mergeReports(maker: Maker): Promise<number> {
  const { outbox, enrolment, now, project, reader } = maker;
  const planeId = enrolment.dataPlaneId;
  const oldMs = now() - limits.telemetryMergeDays * dayMs;
  const oldest = outbox.firstKept(planeId);
  if (oldest === null || oldest.periodEndMs >= oldMs) return 0;
  const waiting: WaitingReport[] = [];
  for (const row of outbox.reports(planeId, { queued: true })) {
    if (!row.handed && row.epoch === oldest.epoch) {
      waiting.push({ row, report: JSON.parse(row.body) as UsageReport }); // our own
    }
  }
  const log = new PlaneLog(reader, project.projectId);
  const folded: OutboxReport[] = [];
  let hash = waiting[0]?.report.previousReportHash ?? null;
  let sequence = oldest.sequence;
  for (const group of groups(waiting, oldMs)) {
    const row = await rowOf(maker, log, { group, sequence, previousReportHash: hash });
    folded.push(row);
    hash = row.hash;
    sequence += 1;
  }
  const fewer = waiting.length - folded.length;
  if (fewer > 0) outbox.replace(planeId, oldest.epoch, oldest.sequence, folded);
  return fewer;
}

/** Groups old neighbours of one month. Every other report is a group of its own. */
function groups(waiting: readonly WaitingReport[], oldMs: number): WaitingReport[][] {
  const found: WaitingReport[][] = [];
  for (const each of waiting) {
    const last = found.at(-1)?.at(-1);
    const joins =
      last !== undefined &&
      each.row.periodEndMs < oldMs &&
      reportMonth(last.report) === reportMonth(each.report);
    if (joins) found.at(-1)?.push(each);
    else found.push([each]);
  }
  return found;
}

interface ReportGroup {
  readonly group: readonly WaitingReport[];
  readonly sequence: number;
  readonly previousReportHash: string | null;
}

/** Makes the report of a group: from the beginning of its first report to the end of its last. */
async function rowOf(maker: Maker, log: PlaneLog, { group, ...place }: ReportGroup): Promise<OutboxReport> {
  const [first, last] = [group[0], group.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a group has a report');
  const isOne = group.length === 1;
  const builtMs = isOne ? last.row.builtMs : maker.now();
  const { fromSize } = first.report.log;
  const report: UsageReport = {
    ...last.report,
    ...place,
    reportId: isOne ? last.report.reportId : typeId('urp', builtMs, maker.randomBytes(10)),
    periodStart: first.report.periodStart,
    operations: summed(group),
    unmetered: group.reduce((sum, { report: each }) => sum + each.unmetered, 0),
    log: {
      ...last.report.log,
      fromSize,
      consistency: isOne
        ? last.report.log.consistency
        : await log.consistency(fromSize, last.report.log.treeSize),
    },
    // Later leaves belong to the period of the last report.
    sentAt: last.report.sentAt,
  };
  const body = canonicalText(report);
  const { planeId, epoch, treeSize, periodEndMs } = last.row;
  const { reportId, sequence } = report;
  return { planeId, epoch, sequence, reportId, body, hash: reportHash(body), treeSize, periodEndMs, builtMs };
}

const summed = (group: readonly WaitingReport[]): Record<MeteredType, number> =>
  Object.fromEntries(
    meteredTypes.map((type) => [type, group.reduce((sum, { report }) => sum + report.operations[type], 0)]),
  ) as Record<MeteredType, number>;
