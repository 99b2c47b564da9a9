/** What a later report never falls behind, whatever is missing between: honest planes never do, each way to do it is told. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { meteredTypes } from '../../../src/contract/operation.ts';
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { checkOrder } from '../../../src/core/planes/usage-order.ts';
import { auditOrigin, TestPlane, Tree } from './log.ts';

const reports = (work: readonly number[], seed = 'order'): UsageReport[] => {
  const sender = new TestPlane({ seed });
  return work.map((operations) => sender.work(operations).report());
};
const told = (earlier: UsageReport, later: UsageReport): unknown[] => {
  const fault = checkOrder(earlier, later);
  return [fault?.fault, fault?.pointer];
};

describe('a later report', () => {
  it('a later report of an honest plane never falls behind an earlier one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 2, maxLength: 5 }), (work) => {
        const all = reports(work);
        for (const [at, later] of all.entries())
          for (const earlier of all.slice(0, at)) expect(checkOrder(earlier, later)).toBeNull();
      }),
      { numRuns: 30 },
    );
  });

  it('a later report that falls behind is refused with the member that fell', () => {
    const [first, , third] = reports([40, 5, 5]) as [UsageReport, UsageReport, UsageReport];
    const { totals, log, auditLog } = first;
    expect(told(first, { ...third, periodStart: first.periodStart })).toEqual([
      'history_regressed',
      '/periodStart',
    ]);
    const at = (size: number) => ({ ...third, log: { ...third.log, treeSize: size } });
    expect(told(first, at(log.treeSize - 1))).toEqual(['history_regressed', '/log/treeSize']);
    const audit = { ...third.auditLog, treeSize: auditLog.treeSize - 1 };
    expect(told(first, { ...third, auditLog: audit })).toEqual(['history_regressed', '/auditLog/treeSize']);
    for (const type of meteredTypes) {
      const less = { ...third.totals, [type]: totals[type] - 1 };
      expect(told(first, { ...third, totals: less })).toEqual(['totals_not_monotonic', `/totals/${type}`]);
    }
  });

  it('a later report with the same number of leaves must have the same root', () => {
    const [first, second] = reports([5, 5]) as [UsageReport, UsageReport];
    const same = {
      ...second,
      log: { ...second.log, treeSize: first.log.treeSize, checkpoint: first.log.checkpoint },
    };
    expect(checkOrder(first, same)).toBeNull();
    const other = { ...same, log: { ...same.log, checkpoint: second.log.checkpoint } };
    expect(told(first, other)).toEqual(['consistency_invalid', '/log/checkpoint']);
  });

  it('a later report with the same number of audit leaves must have the same audit root', () => {
    const sender = new TestPlane({ seed: 'order' });
    const first = sender.work(5).report();
    const later = sender.report();
    const tree = new Tree();
    while (tree.size < first.auditLog.treeSize) tree.append(Buffer.from(`another leaf ${tree.size}`));
    const auditLog = { treeSize: tree.size, checkpoint: sender.checkpoint(tree, auditOrigin) };
    expect(checkOrder(first, later)).toBeNull();
    expect(told(first, { ...later, auditLog })).toEqual(['consistency_invalid', '/auditLog/checkpoint']);
  });
});
