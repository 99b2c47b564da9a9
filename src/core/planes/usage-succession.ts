/**
 * The succession of two usage reports of a data plane: the next one has the hash of the previous one, begins where it
 * ended, continues its totals, and its tree extends the previous tree. The service checks it as soon as it has both, in
 * any order of arrival.
 * Proven by `test/core/planes/usage-report.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { UsageReport } from '../../contract/telemetry.ts';
import { verifyConsistency } from '../merkle/tree.ts';
import type { Totals } from './metering.ts';
import { type Fault, faultAt } from './identity.ts';
import { decodePath, reportedAuditHead, reportedHead } from './reported-head.ts';

/**
 * Returns the fault between two accepted reports of a plane, `next` directly after `previous` in its epoch, or null.
 * `previousHash`: `reportHash` of the received bytes. Pointers are into `next`. Cost: 0.1 ms.
 */
export function checkSuccession(
  previous: UsageReport,
  previousHash: string,
  next: UsageReport,
): Fault | null {
  const { log } = next;
  if (log.origin !== previous.log.origin) {
    const detail = `expected ${previous.log.origin} as in the previous report, got ${log.origin}`;
    return faultAt('origin_mismatch', '/log/origin', detail);
  }
  const expected: readonly [pointer: string, expected: unknown, got: unknown][] = [
    ['/sequence', previous.sequence + 1, next.sequence],
    ['/previousReportHash', previousHash, next.previousReportHash],
    ['/log/fromSize', previous.log.treeSize, log.fromSize],
  ];
  for (const [pointer, value, got] of expected) {
    if (value === got) continue;
    const detail = `expected ${String(value)} after the previous report, got ${String(got)}`;
    return faultAt('history_regressed', pointer, detail);
  }
  return (
    checkStart(previous, next) ??
    checkDifference(next, previous.totals) ??
    checkExtension(previous, next) ??
    checkAuditExtension(previous, next)
  );
}

/**
 * A period begins where the previous one ended, or later with a month of UTC: months without records need no report. The
 * counts do not depend on it, because the leaves follow without a gap.
 */
function checkStart({ periodEnd }: UsageReport, { periodStart }: UsageReport): Fault | null {
  if (periodStart === periodEnd) return null;
  const isMonth = /^[0-9]{4}-[0-9]{2}-01T00:00:00(?:\.0+)?Z$/.test(periodStart);
  if (isMonth && Date.parse(periodStart) > Date.parse(periodEnd)) return null;
  const detail = `expected ${periodEnd}, the end of the previous period, or the start of a later month, got ${periodStart}`;
  return faultAt('history_regressed', '/periodStart', detail);
}

/** The counts of a period are the increase of the totals since `earlier`, and no total decreased. */
export function checkDifference(
  { operations, totals }: Pick<UsageReport, 'operations' | 'totals'>,
  earlier: Totals,
): Fault | null {
  for (const type of meteredTypes) {
    const before = earlier[type];
    if (totals[type] < before) {
      const detail = `expected ${before} or more, as reported before, got ${totals[type]}`;
      return faultAt('totals_not_monotonic', `/totals/${type}`, detail);
    }
    if (operations[type] === totals[type] - before) continue;
    const detail = `expected ${totals[type] - before}, the increase of the totals, got ${operations[type]}`;
    return faultAt('totals_sum_mismatch', `/operations/${type}`, detail);
  }
  return null;
}

function checkExtension(previous: UsageReport, { log }: UsageReport): Fault | null {
  const first = previous.log.treeSize;
  if (first === 0) return null; // an empty tree has nothing to contradict
  const path = decodePath(log.consistency);
  const heads = { firstRoot: reportedHead(previous).root, secondRoot: reportedHead({ log }).root };
  if (path !== null && verifyConsistency({ first, second: log.treeSize, ...heads, path })) return null;
  const detail = `expected a path from the tree of ${first} leaves, as reported, to that of ${log.treeSize}, got another`;
  return faultAt('consistency_invalid', '/log/consistency', detail);
}

/** Heads of the audit log come without a consistency proof: the size never decreases, and one size has one root. */
function checkAuditExtension(previous: UsageReport, next: UsageReport): Fault | null {
  const before = reportedAuditHead(previous);
  const head = reportedAuditHead(next);
  if (head.size < before.size) {
    const detail = `expected ${before.size} leaves or more, as reported before, got ${head.size}`;
    return faultAt('history_regressed', '/auditLog/treeSize', detail);
  }
  if (head.size > before.size || head.root.equals(before.root)) return null;
  const detail = `expected the root reported before for ${head.size} leaves, got another`;
  return faultAt('history_regressed', '/auditLog/checkpoint', detail);
}
