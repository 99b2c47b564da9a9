/**
 * Usage reports: an honest plane's always hold, alone and in a row, however it worked; every change of any member of a
 * report is refused by its schema, by itself, by the report before or by the one after; and each fault has its word.
 */
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TelemetryFault, UsageReport } from '../../../src/contract/telemetry.ts';
import { meteredTypes } from '../../../src/contract/operation.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { signTelemetry, verifyTelemetry } from '../../../src/core/planes/signature.ts';
import {
  checkReport,
  checkSuccession,
  type Fault,
  reportedAuditHead,
  reportedHead,
  reportHash,
  reportMonth,
} from '../../../src/core/planes/usage-report.ts';
import { type BodyCheck, loadCheck } from '../../../src/service/call/schema.ts';
import { mutations } from '../json/mutate.ts';
import { auditOrigin, hashOf, origin, plane, TestPlane, Tree } from './log.ts';

let schema: BodyCheck;
beforeAll(async () => {
  schema = await loadCheck(UsageReport, { in: 'body' });
});

/** Three reports in a row. */
function chain(): { sender: TestPlane; reports: [UsageReport, UsageReport, UsageReport] } {
  const sender = new TestPlane();
  const reports: [UsageReport, UsageReport, UsageReport] = [
    sender.work(9).report(),
    sender.work(13).report(),
    sender.work(5).report(),
  ];
  return { sender, reports };
}
const follows = (previous: UsageReport, next: UsageReport): Fault | null =>
  checkSuccession(previous, hashOf(previous), next);

describe('an honest plane', () => {
  it('the reports of an honest plane are accepted one by one', () => {
    const sizes = fc.array(fc.nat(40), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(sizes, fc.string(), fc.nat(3), (work, seed, epoch) => {
        const sender = new TestPlane({ seed, epoch });
        let previous: UsageReport | undefined;
        for (const operations of work) {
          const report = sender.work(operations).report();
          expect(schema(report)).toBeNull();
          expect(checkReport(report, plane)).toBeNull();
          if (previous !== undefined) expect(follows(previous, report)).toBeNull();
          previous = report;
        }
      }),
      { numRuns: 40 },
    );
  });

  it('a report without any counted unit is accepted', () => {
    const empty = new TestPlane({ empty: true });
    const first = empty.report();
    expect(first).toMatchObject({ lastLeaf: null, log: { treeSize: 0 }, auditLog: { treeSize: 0 } });
    expect(checkReport(first, plane)).toBeNull();
    const second = empty.report();
    expect([checkReport(second, plane), follows(first, second)]).toEqual([null, null]);
    const counting = { ...second, totals: { ...second.totals, audit_event: 1 } };
    expect(checkReport(counting, plane)).toMatchObject({ fault: 'totals_sum_mismatch', pointer: '/totals' });
    const third = empty.work(3).report();
    expect([checkReport(third, plane), follows(second, third)]).toEqual([null, null]);
  });

  it('a report shows the heads of its logs', () => {
    const { sender, reports } = chain();
    const [, , last] = reports;
    expect(reportedHead(last)).toMatchObject({ origin: `${origin}/0`, size: sender.meter.size });
    expect(reportedHead(last).root).toEqual(sender.meter.root());
    expect(reportedAuditHead(last)).toMatchObject({ origin: auditOrigin, size: sender.audit.size });
    expect(reportHash('{}')).toBe('sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });
});

describe('a changed report', () => {
  /** Who sees it: its schema, itself, its predecessor, or only its successor, by its hash. */
  const seenBy = (changed: UsageReport, reports: readonly UsageReport[]): string | null => {
    const [before, , after] = reports as [UsageReport, UsageReport, UsageReport];
    if (schema(changed) !== null) return 'schema';
    if (checkReport(changed, plane) !== null) return 'itself';
    if (follows(before, changed) !== null) return 'predecessor';
    return follows(changed, after) !== null ? 'successor' : null;
  };

  it('any change of a report is detected, at the latest in the next report', () => {
    const { reports } = chain();
    const late = new Set<string>();
    const secret = Buffer.alloc(32, 1);
    const signature = signTelemetry(secret, '1764000000', canonicalize(reports[1] as unknown as Json));
    let count = 0;
    for (const { pointer, what, value } of mutations(reports[1] as unknown as Json)) {
      const text = canonicalize(value);
      if (text === canonicalize(reports[1] as unknown as Json)) continue;
      count += 1;
      const changed = JSON.parse(text) as UsageReport;
      const seen = seenBy(changed, reports);
      expect(seen, `${pointer} ${what}`).not.toBeNull();
      if (seen === 'successor') late.add(pointer);
      const sent = { secrets: [secret], timestamp: '1764000000', signature, canonical: text };
      expect(verifyTelemetry(sent)).toBe(false);
    }
    expect(count).toBeGreaterThan(400);
    expect([...late].toSorted()).toEqual([
      '/dataPlaneId',
      '/periodEnd',
      '/projectId',
      '/reportId',
      '/runtime/nodeVersion',
      '/runtime/planeVersion',
      '/sentAt',
      '/unmetered',
    ]);
  });

  it('a refused report has the fault and the pointer of the error', () => {
    const { sender, reports } = chain();
    const [first, second] = reports;
    const hash = Buffer.alloc(32, 9).toString('base64');
    const type = meteredTypes.find((each) => second.operations[each] > 0)!;
    const cases: [changed: object, fault: TelemetryFault, pointer: string][] = [
      [{ periodStart: '2026-12-01T00:00:00.000Z' }, 'history_regressed', '/periodEnd'],
      [{ periodEnd: '2026-12-01T00:00:00.001Z' }, 'totals_sum_mismatch', '/periodEnd'],
      [
        { periodStart: second.periodStart, periodEnd: second.periodStart },
        'totals_sum_mismatch',
        '/periodEnd',
      ],
      [{ previousReportHash: null }, 'history_regressed', '/previousReportHash'],
      [{ sequence: 1 }, 'history_regressed', '/previousReportHash'],
      [{ sequence: 1, previousReportHash: null }, 'history_regressed', '/log/fromSize'],
      [{ log: { ...second.log, fromSize: 99 } }, 'history_regressed', '/log/treeSize'],
      [{ log: { ...second.log, fromSize: 0 } }, 'consistency_invalid', '/log/consistency'],
      [{ operations: { ...second.operations, [type]: 1e9 } }, 'totals_sum_mismatch', `/operations/${type}`],
      [{ unmetered: 14 }, 'totals_sum_mismatch', '/unmetered'],
      [{ unmetered: 13 }, 'totals_sum_mismatch', '/operations'],
      [{ totals: { ...second.totals, [type]: 1e9 } }, 'totals_sum_mismatch', `/totals/${type}`],
      [{ log: { ...second.log, origin: `${origin}/1` } }, 'origin_mismatch', '/log/origin'],
      [{ log: { ...second.log, epoch: 1 } }, 'origin_mismatch', '/log/origin'],
      [
        { log: { ...second.log, checkpoint: first.log.checkpoint } },
        'checkpoint_signature_invalid',
        '/log/checkpoint',
      ],
      [
        { log: { ...second.log, checkpoint: sender.checkpoint(sender.meter, `${origin}/1`) } },
        'checkpoint_signature_invalid',
        '/log/checkpoint',
      ],
      [{ log: { ...second.log, checkpoint: 'x' } }, 'checkpoint_signature_invalid', '/log/checkpoint'],
      [
        { auditLog: { ...second.auditLog, checkpoint: second.log.checkpoint } },
        'checkpoint_signature_invalid',
        '/auditLog/checkpoint',
      ],
      [
        { auditLog: { ...second.auditLog, treeSize: 1 } },
        'checkpoint_signature_invalid',
        '/auditLog/checkpoint',
      ],
      [{ lastLeaf: null }, 'inclusion_invalid', '/lastLeaf'],
      [{ lastLeaf: { ...second.lastLeaf!, index: 0 } }, 'inclusion_invalid', '/lastLeaf/index'],
      [{ lastLeaf: { ...second.lastLeaf!, record: '{}' } }, 'inclusion_invalid', '/lastLeaf/inclusion'],
      [{ lastLeaf: { ...second.lastLeaf!, inclusion: [hash] } }, 'inclusion_invalid', '/lastLeaf/inclusion'],
    ];
    for (const [changes, fault, pointer] of cases) {
      const changed = { ...second, ...changes };
      expect(schema(changed), JSON.stringify(changes)).toBeNull();
      expect(checkReport(changed, plane), JSON.stringify(changes)).toMatchObject({ fault, pointer });
    }
  });

  it('leaves with a later time than the report count in the period that reports them', () => {
    const sender = new TestPlane();
    const first = sender.work(3).report();
    const nowMs = sender.nowMs;
    sender.nowMs += 400 * 24 * 3600 * 1000;
    sender.work(2);
    const [last] = sender.leaves.slice(-1).map(({ atMs }) => atMs);
    sender.nowMs = nowMs;
    const second = sender.report();
    expect([checkReport(second, plane), follows(first, second)]).toEqual([null, null]);
    const at = (ms: number): UsageReport => ({ ...second, sentAt: new Date(ms).toISOString() });
    expect(checkReport(at(last! - 1), plane)).toBeNull();
    expect(checkReport(at(last!), plane)).toMatchObject({
      fault: 'totals_sum_mismatch',
      pointer: '/periodEnd',
    });
  });

  it('a report begins where the report before ended, or with a later month', () => {
    const sender = new TestPlane();
    const first = sender.work(3).report();
    sender.nowMs = Date.UTC(2027, 4, 3);
    const second = sender.work(2).report();
    const from = (periodStart: string): UsageReport => ({ ...second, periodStart });
    expect(checkReport(second, plane)).toMatchObject({ pointer: '/periodEnd' });
    const later = from('2027-05-01T00:00:00.000Z');
    expect([checkReport(later, plane), follows(first, later)]).toEqual([null, null]);
    for (const other of [
      '2027-05-01T00:00:00.001Z',
      '2027-05-02T00:00:00.000Z',
      '2026-11-01T00:00:00.000Z',
    ]) {
      expect(follows(first, from(other)), other).toMatchObject({
        fault: 'history_regressed',
        pointer: '/periodStart',
      });
    }
  });

  it('a report that does not follow from the report before is refused', () => {
    const { sender, reports } = chain();
    const [first, second, third] = reports;
    const type = meteredTypes.find((each) => second.operations[each] > 0)!;
    const hash = Buffer.alloc(32, 9).toString('base64');
    const cases: [changed: object, fault: TelemetryFault, pointer: string][] = [
      [{ sequence: 3 }, 'history_regressed', '/sequence'],
      [{ previousReportHash: hashOf(third) }, 'history_regressed', '/previousReportHash'],
      [{ periodStart: second.periodEnd }, 'history_regressed', '/periodStart'],
      [{ log: { ...second.log, fromSize: first.log.treeSize + 1 } }, 'history_regressed', '/log/fromSize'],
      [{ log: { ...second.log, epoch: 1, origin: `${origin}/1` } }, 'origin_mismatch', '/log/origin'],
      [{ log: { ...second.log, consistency: [] } }, 'consistency_invalid', '/log/consistency'],
      [{ log: { ...second.log, consistency: [hash] } }, 'consistency_invalid', '/log/consistency'],
      [{ operations: { ...second.operations, [type]: 0 } }, 'totals_sum_mismatch', `/operations/${type}`],
      [{ totals: { ...second.totals, [type]: 0 } }, 'totals_not_monotonic', `/totals/${type}`],
      [
        { auditLog: { treeSize: 1, checkpoint: sender.checkpoint(sender.audit, auditOrigin, 1) } },
        'history_regressed',
        '/auditLog/treeSize',
      ],
    ];
    for (const [changes, fault, pointer] of cases) {
      const changed = { ...second, ...changes };
      expect(follows(first, changed), JSON.stringify(changes)).toMatchObject({ fault, pointer });
    }
    expect(follows(first, third)).toMatchObject({ fault: 'history_regressed', pointer: '/sequence' });
  });

  it('a report is refused when its audit log has another root at the earlier size', () => {
    const sender = new TestPlane();
    const first = sender.work(5).report();
    const second = sender.report();
    const forked = new Tree();
    for (let at = 0; at < sender.audit.size; at++) forked.append(Buffer.alloc(32, at));
    const changed = {
      ...second,
      auditLog: { ...second.auditLog, checkpoint: sender.checkpoint(forked, auditOrigin) },
    };
    expect(checkReport(changed, plane)).toBeNull();
    expect(follows(first, changed)).toMatchObject({
      fault: 'history_regressed',
      pointer: '/auditLog/checkpoint',
    });
  });
});

describe('the first report', () => {
  it('the first report counts everything in its log', () => {
    const first = new TestPlane().work(20).report();
    const type = meteredTypes.find((each) => first.operations[each] > 0)!;
    const less = { ...first, operations: { ...first.operations, [type]: first.operations[type] - 1 } };
    expect(checkReport(less, plane)).toMatchObject({
      fault: 'totals_sum_mismatch',
      pointer: `/operations/${type}`,
    });
    const named = { ...first, previousReportHash: hashOf(first) };
    expect(checkReport(named, plane)).toMatchObject({
      fault: 'history_regressed',
      pointer: '/previousReportHash',
    });
  });
});

describe('the period of a report', () => {
  const month = (periodStart: string, periodEnd: string): string => reportMonth({ periodStart, periodEnd });

  it('a period belongs to the month of its last millisecond', () => {
    expect(month('2026-11-01T00:00:00.000Z', '2026-11-01T00:00:00.001Z')).toBe('2026-11');
    expect(month('2026-11-30T12:00:00.000Z', '2026-12-01T00:00:00.000Z')).toBe('2026-11');
    expect(month('2026-11-30T12:00:00.000Z', '2026-12-01T00:00:00.001Z')).toBe('2026-12');
    expect(month('2026-12-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z')).toBe('2026-12');
    expect(month('2026-12-01T00:30:00.000+01:00', '2026-12-01T00:45:00.000+01:00')).toBe('2026-11');
  });

  it('a period may end at the end of the month, and not a millisecond later', () => {
    const sender = new TestPlane().work(3);
    sender.nowMs = Date.UTC(2026, 11, 1);
    const report = sender.report();
    expect(report.periodEnd).toBe('2026-12-01T00:00:00.000Z');
    expect(checkReport(report, plane)).toBeNull();
    const later = { ...report, periodEnd: '2026-12-01T00:00:00.001Z' };
    expect(checkReport(later, plane)).toMatchObject({ fault: 'totals_sum_mismatch', pointer: '/periodEnd' });
    sender.nowMs = Date.UTC(2026, 11, 1);
    const empty = sender.report();
    expect(empty.periodStart).toBe(empty.periodEnd);
    expect([checkReport(empty, plane), follows(report, empty)]).toEqual([null, null]);
  });
});
