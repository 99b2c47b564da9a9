/**
 * The order of two usage reports of an epoch: a later report never has smaller times, sizes or totals. It detects a plane
 * that was restored from an older copy, even if reports in between are missing.
 * Proven by `test/core/planes/usage-order.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { UsageReport } from '../../contract/telemetry.ts';
import { type Fault, faultAt } from './identity.ts';
import { unverifiedHead } from '../note/checkpoint.ts';

/**
 * Returns the fault of `later` after `earlier`, both of one plane and epoch and accepted by `checkReport`, or null.
 * Pointers are into `later`.
 */
export function checkOrder(earlier: UsageReport, later: UsageReport): Fault | null {
  const behind = `as report ${earlier.sequence} has`;
  if (Date.parse(later.periodStart) < Date.parse(earlier.periodEnd)) {
    const detail = `expected a period that begins at ${earlier.periodEnd} or later, where report ${earlier.sequence} ends, got ${later.periodStart}`;
    return faultAt('history_regressed', '/periodStart', detail);
  }
  const sizes = [
    ['/log/treeSize', earlier.log.treeSize, later.log.treeSize],
    ['/auditLog/treeSize', earlier.auditLog.treeSize, later.auditLog.treeSize],
  ] as const;
  for (const [pointer, before, size] of sizes) {
    if (size >= before) continue;
    const detail = `expected ${before} leaves or more, ${behind}, got ${size}`;
    return faultAt('history_regressed', pointer, detail);
  }
  for (const type of meteredTypes) {
    if (later.totals[type] >= earlier.totals[type]) continue;
    const detail = `expected ${earlier.totals[type]} or more, ${behind}, got ${later.totals[type]}`;
    return faultAt('totals_not_monotonic', `/totals/${type}`, detail);
  }
  const heads = [
    ['/log', earlier.log, later.log],
    ['/auditLog', earlier.auditLog, later.auditLog],
  ] as const;
  for (const [pointer, before, log] of heads) {
    const isSame = log.treeSize === before.treeSize;
    if (!isSame || unverifiedHead(log.checkpoint).root.equals(unverifiedHead(before.checkpoint).root))
      continue;
    const detail = `expected the root of report ${earlier.sequence} for the same number of leaves, got another`;
    return faultAt('consistency_invalid', `${pointer}/checkpoint`, detail);
  }
  return null;
}
