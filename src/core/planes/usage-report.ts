/**
 * The checks of a usage report of a data plane: its counts are those of the last leaf of the metering log, this leaf is in
 * the tree that the plane signed, and the tree extends the previously reported one. The service checks a report by itself
 * when it arrives, and with its predecessor as soon as it has both.
 *
 * A period never crosses a month of UTC: it ends at 00:00:00.000 of the next month at the latest.
 * Reports match their schema (`src/contract/telemetry.ts`); nothing else in them is trusted.
 * Proven by `test/core/planes/usage-report.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { UsageReport } from '../../contract/telemetry.ts';
import { sha256Text } from '../hash.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import { type MeterLeaf, parseMeterRecord, sumOf, zeroTotals } from './metering.ts';
import {
  auditEpochOrigin,
  auditKey,
  epochOrigin,
  type Fault,
  faultAt,
  meteringKey,
  openHead,
  type PlaneIdentity,
} from './identity.ts';
import { decodePath, malformedRecord } from './reported-head.ts';
import { formatTimestamp, parseTimestamp } from '../time.ts';
import { checkDifference } from './usage-succession.ts';

export {
  auditEpochOrigin,
  checkPossession,
  epochOrigin,
  type Fault,
  type PlaneIdentity,
  possessionText,
} from './identity.ts';
export { reportedAuditHead, reportedHead } from './reported-head.ts';
export { checkSuccession } from './usage-succession.ts';

/** Returns `sha256:` and hex of the JCS text of a report, which the next report contains. */
export const reportHash = (body: string): string => sha256Text(body);

/** Returns the month of a period, `2026-11`: that of its last millisecond. Throws RangeError for an invalid timestamp. */
export function reportMonth({
  periodStart,
  periodEnd,
}: Pick<UsageReport, 'periodStart' | 'periodEnd'>): string {
  const start = timeOf(periodStart);
  const end = timeOf(periodEnd);
  return monthOf(end > start ? end - 1 : end);
}

/**
 * Returns the first fault of a report by itself, or null. A party with the HMAC secret controls the report; the signed
 * parts need the keys of the plane. Cost: two signatures, about 0.4 ms.
 */
export function checkReport(report: UsageReport, plane: PlaneIdentity): Fault | null {
  return checkPeriod(report) ?? checkFirst(report) ?? checkCounts(report) ?? checkHeads(report, plane);
}

function checkPeriod({ periodStart, periodEnd }: UsageReport): Fault | null {
  const start = timeOf(periodStart);
  const end = timeOf(periodEnd);
  const pointer = '/periodEnd';
  if (start > end) {
    const detail = `expected a period that ends at ${periodStart} or later, got ${periodEnd}`;
    return faultAt('history_regressed', pointer, detail);
  }
  if (monthOf(start) === reportMonth({ periodStart, periodEnd })) return null;
  const detail = `expected a period within ${monthOf(start)} in UTC, got one that ends at ${periodEnd}; end it with the month`;
  return faultAt('totals_sum_mismatch', pointer, detail);
}

/** The first report of an epoch has no predecessor, every other one has one. */
function checkFirst({ sequence, previousReportHash, log, operations, totals }: UsageReport): Fault | null {
  if (log.fromSize > log.treeSize) {
    const detail = `expected a tree of ${log.fromSize} leaves or more, got ${log.treeSize}`;
    return faultAt('history_regressed', '/log/treeSize', detail);
  }
  if ((log.fromSize === 0 || log.fromSize === log.treeSize) && log.consistency.length > 0) {
    const detail = `expected no path between ${log.fromSize} and ${log.treeSize} leaves, got ${log.consistency.length} hashes`;
    return faultAt('consistency_invalid', '/log/consistency', detail);
  }
  if (sequence > 1) {
    if (previousReportHash !== null) return null;
    const detail = `expected the hash of report ${sequence - 1}, got null`;
    return faultAt('history_regressed', '/previousReportHash', detail);
  }
  if (previousReportHash !== null)
    return faultAt(
      'history_regressed',
      '/previousReportHash',
      'expected null in the first report, got a hash',
    );
  if (log.fromSize !== 0) {
    const detail = `expected 0 in the first report, got ${log.fromSize}`;
    return faultAt('history_regressed', '/log/fromSize', detail);
  }
  return checkDifference({ operations, totals }, zeroTotals);
}

/** The counts of the period fit into the totals of the epoch, and into the leaves of the period. */
function checkCounts({ operations, totals, unmetered, log }: UsageReport): Fault | null {
  for (const type of meteredTypes) {
    if (operations[type] <= totals[type]) continue;
    const detail = `expected at most the total of ${totals[type]}, got ${operations[type]}`;
    return faultAt('totals_sum_mismatch', `/operations/${type}`, detail);
  }
  const leaves = log.treeSize - log.fromSize;
  if (unmetered > leaves) {
    const detail = `expected at most the ${leaves} leaves of the period, got ${unmetered}`;
    return faultAt('totals_sum_mismatch', '/unmetered', detail);
  }
  // Each metered leaf has one type and at least one unit.
  const metered = leaves - unmetered;
  const units = sumOf(operations);
  const types = meteredTypes.filter((type) => operations[type] > 0).length;
  if (units >= metered && types <= metered) return null;
  const detail = `expected the units of ${metered} metered leaves, got ${units} units of ${types} types`;
  return faultAt('totals_sum_mismatch', '/operations', detail);
}

function checkHeads(report: UsageReport, plane: PlaneIdentity): Fault | null {
  const { log, auditLog } = report;
  const origin = epochOrigin(plane.origin, log.epoch);
  if (log.origin !== origin) {
    const detail = `expected ${JSON.stringify(origin)} of epoch ${log.epoch}, got ${JSON.stringify(log.origin)}`;
    return faultAt('origin_mismatch', '/log/origin', detail);
  }
  const head = openHead(log.checkpoint, {
    origin,
    key: meteringKey(plane, log.epoch),
    size: log.treeSize,
    pointer: '/log/checkpoint',
  });
  if ('fault' in head) return head;
  const audit = openHead(auditLog.checkpoint, {
    origin: auditEpochOrigin(plane.auditOrigin, log.epoch),
    key: auditKey(plane, log.epoch),
    size: auditLog.treeSize,
    pointer: '/auditLog/checkpoint',
  });
  return 'fault' in audit ? audit : checkLastLeaf(report, head.root);
}

function checkLastLeaf(report: UsageReport, root: Buffer): Fault | null {
  const { lastLeaf, log, totals } = report;
  if (lastLeaf === null || log.treeSize === 0) {
    if (lastLeaf !== null)
      return faultAt('inclusion_invalid', '/lastLeaf', 'expected null for an empty log, got a leaf');
    if (log.treeSize > 0)
      return faultAt('inclusion_invalid', '/lastLeaf', `expected leaf ${log.treeSize - 1}, got null`);
    return sumOf(totals) === 0
      ? null
      : faultAt('totals_sum_mismatch', '/totals', 'expected zeros for an empty log, got other totals');
  }
  const { index, record } = lastLeaf;
  if (index !== log.treeSize - 1) {
    const detail = `expected the last leaf, ${log.treeSize - 1}, got ${index}`;
    return faultAt('inclusion_invalid', '/lastLeaf/index', detail);
  }
  const path = decodePath(lastLeaf.inclusion);
  if (path === null || !verifyInclusion({ index, size: log.treeSize, leaf: leafHash(record), path, root })) {
    const detail = `expected a path from leaf ${index} to the root of ${log.treeSize} leaves, got another`;
    return faultAt('inclusion_invalid', '/lastLeaf/inclusion', detail);
  }
  const leaf = parseMeterRecord(record);
  if (leaf === null) return malformedRecord('/lastLeaf/record');
  return checkAgainstLeaf(leaf, report);
}

/**
 * The times of a log never decrease: after a clock that was ahead they stay constant until that time. A leaf dated after
 * the report was made counts in the period of that report; otherwise the plane could not report until then. The counts
 * stay correct, because a report counts leaves and each leaf is in one report.
 */
function checkAgainstLeaf(
  leaf: MeterLeaf,
  { totals, periodEnd, sentAt }: Pick<UsageReport, 'totals' | 'periodEnd' | 'sentAt'>,
): Fault | null {
  for (const type of meteredTypes) {
    if (totals[type] === leaf.totals[type]) continue;
    const detail = `expected ${leaf.totals[type]} as in the last leaf, got ${totals[type]}`;
    return faultAt('totals_sum_mismatch', `/totals/${type}`, detail);
  }
  const at = timeOf(leaf.at);
  if (at <= timeOf(periodEnd) || at > timeOf(sentAt)) return null;
  const detail = `expected a period that ends at ${leaf.at}, the time of its last leaf, or later, got ${periodEnd}`;
  return faultAt('totals_sum_mismatch', '/periodEnd', detail);
}

function timeOf(text: string): number {
  const time = parseTimestamp(text);
  if (time === null) throw new RangeError(`expected a timestamp of RFC 3339, got ${text}`);
  return time;
}

const monthOf = (unixMs: number): string => formatTimestamp(unixMs).slice(0, 7);
