/**
 * What makes one usage report of a data plane follow from another: it names it by its hash, begins where it ended, counts
 * on from its totals, and its tree extends the tree of it. Looked at as soon as both are held, in whichever order they came.
 * Proven by `test/core/plane/usage-report.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { UsageReport } from '../../contract/telemetry.ts';
import { verifyConsistency } from '../merkle/tree.ts';
import type { Totals } from './metering.ts';
import { type Fault, faultAt } from './identity.ts';
import { decodePath, reportedAuditHead, reportedHead } from './reported-head.ts';

/**
 * What does not hold between two reports of a plane that `checkReport` accepted, `next` being the one after `previous` in
 * its epoch, or null. `previousHash` is `reportHash` of the bytes that came. Pointers are into `next`. Cost: 0.1 ms.
 */
export function checkSuccession(
  previous: UsageReport,
  previousHash: string,
  next: UsageReport,
): Fault | null {
  const { log } = next;
  if (log.origin !== previous.log.origin) {
    const detail = `expected ${previous.log.origin} as in the report before, got ${log.origin}`;
    return faultAt('origin_mismatch', '/log/origin', detail);
  }
  const expected: readonly [pointer: string, expected: unknown, got: unknown][] = [
    ['/sequence', previous.sequence + 1, next.sequence],
    ['/previousReportHash', previousHash, next.previousReportHash],
    ['/log/fromSize', previous.log.treeSize, log.fromSize],
  ];
  for (const [pointer, value, got] of expected) {
    if (value === got) continue;
    const detail = `expected ${String(value)} after the report before, got ${String(got)}`;
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
 * A period begins where the one before ended, or later with a month of UTC: months in which nothing was recorded need no
 * report. What is counted does not hang on it: the leaves follow without a gap.
 */
function checkStart({ periodEnd }: UsageReport, { periodStart }: UsageReport): Fault | null {
  if (periodStart === periodEnd) return null;
  const isMonth = /^[0-9]{4}-[0-9]{2}-01T00:00:00(?:\.0+)?Z$/.test(periodStart);
  if (isMonth && Date.parse(periodStart) > Date.parse(periodEnd)) return null;
  const detail = `expected ${periodEnd}, where the period before ended, or the beginning of a later month, got ${periodStart}`;
  return faultAt('history_regressed', '/periodStart', detail);
}

/** What a period counts is what the totals rose by since `earlier`, and none of them fell. */
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
    const detail = `expected ${totals[type] - before}, what the totals rose by, got ${operations[type]}`;
    return faultAt('totals_sum_mismatch', `/operations/${type}`, detail);
  }
  return null;
}

function checkExtension(previous: UsageReport, { log }: UsageReport): Fault | null {
  const first = previous.log.treeSize;
  if (first === 0) return null; // nothing was signed yet that a tree could contradict
  const path = decodePath(log.consistency);
  const heads = { firstRoot: reportedHead(previous).root, secondRoot: reportedHead({ log }).root };
  if (path !== null && verifyConsistency({ first, second: log.treeSize, ...heads, path })) return null;
  const detail = `expected a path from the tree of ${first} leaves, as reported, to that of ${log.treeSize}, got another`;
  return faultAt('consistency_invalid', '/log/consistency', detail);
}

/** Heads of the audit log come without a path between them: its size does not fall, and one size has one root. */
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
