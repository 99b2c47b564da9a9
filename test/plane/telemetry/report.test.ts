/** What reports say: periods, months, counts, hashes; made from the log alone, held to the core's own checks. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { array, assert, asyncProperty, boolean, integer, record } from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { planeIdentity } from '../../../plane/enrolment/exchange.ts';
import { isDue } from '../../../plane/telemetry/schedule.ts';
import { outboxFile } from '../../../plane/telemetry/outbox.ts';
import { nextMonth, type Maker } from '../../../plane/telemetry/report.ts';
import { limits } from '../../../src/contract/limits.ts';
import { UsageReport } from '../../../src/contract/telemetry.ts';
import {
  checkReport,
  checkSuccession,
  reportHash,
  reportMonth,
} from '../../../src/core/planes/usage-report.ts';
import { explain, type JsonSchema } from '../../../src/service/call/explain.ts';
import {
  enrolFake,
  fakeEnrolment,
  hashOf,
  setClock,
  startTelemetryPlane,
  type TestTelemetryPlane,
} from '../support/enrolled.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2026, 9, 20, 9);
let plane: TestTelemetryPlane;
beforeEach(async () => {
  setClock(startMs);
  plane = await startTelemetryPlane({ settings: { mode: 'manual-file' } });
  enrolFake(plane.dataDir);
});
afterEach(async () => {
  await plane.end();
  vi.useRealTimers();
});

/** Every report by itself, and each with the one before; their bytes are JCS and name each other. */
function checkAll(reports: readonly UsageReport[]): void {
  const identity = planeIdentity(plane.dataDir);
  const bodies = plane.read((outbox) =>
    Array.from(outbox.reports(fakeEnrolment.dataPlaneId, { queued: false }), ({ body }) => body),
  );
  for (const [at, report] of reports.entries()) {
    expect(explain(UsageReport as unknown as JsonSchema, report, { in: 'body' }).errors).toEqual([]);
    expect(checkReport(report, identity)).toBeNull();
    expect(Buffer.byteLength(bodies[at] ?? '')).toBeLessThan(limits.usageReportBytes / 8);
    const before = reports[at - 1];
    if (before === undefined) continue;
    expect(report.previousReportHash).toBe(hashOf(bodies[at - 1] ?? ''));
    expect(checkSuccession(before, reportHash(bodies[at - 1] ?? ''), report)).toBeNull();
  }
}

describe('reports', () => {
  it('usage reports count what was recorded in their period, and not what is free', async () => {
    await plane.record(3);
    await plane.record(2, 'none');
    await plane.record(1, 'risk_decision');
    await plane.telemetry.look();
    setClock(Date.now() + 2 * hourMs);
    await plane.record(5);
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    expect(reports).toMatchObject([
      // what made the plane is counted as nothing: its genesis, and a leaf for its two keys
      {
        sequence: 1,
        operations: { audit_event: 3, risk_decision: 1 },
        unmetered: 3,
        log: { fromSize: 0, treeSize: 5 },
      },
      {
        sequence: 2,
        operations: { audit_event: 5, risk_decision: 0 },
        unmetered: 0,
        log: { fromSize: 5, treeSize: 6 },
      },
    ]);
    expect(reports[1]?.periodStart).toBe(reports[0]?.periodEnd);
    expect(reports[1]?.periodEnd).toBe(new Date().toISOString());
  });

  it('a plane makes one usage report in each interval, also without any usage', async () => {
    for (let look = 0; look < 12; look++) {
      await plane.telemetry.look();
      setClock(Date.now() + hourMs / 4);
    }
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.length).toBeGreaterThanOrEqual(3);
    expect(reports.length).toBeLessThanOrEqual(4);
    expect(reports.at(-1)).toMatchObject({ operations: { audit_event: 0 }, lastLeaf: { index: 1 } });
  });

  it('usage reports end with the month in UTC, and each has the leaves of its month', async () => {
    await plane.telemetry.look();
    const border = Date.UTC(2026, 10, 1);
    for (const ms of [border - 1, border, border + 1]) {
      setClock(ms);
      await plane.record(1);
    }
    setClock(border + hourMs);
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.slice(1)).toMatchObject([
      { periodEnd: '2026-11-01T00:00:00.000Z', operations: { audit_event: 1 } },
      { periodStart: '2026-11-01T00:00:00.000Z', operations: { audit_event: 2 } },
    ]);
    expect(reports.map(reportMonth)).toEqual(['2026-10', '2026-10', '2026-11']);
  });

  it('a usage report made exactly at the month border leaves its leaf to the new month', async () => {
    await plane.telemetry.look();
    setClock(Date.UTC(2026, 10, 1));
    await plane.record(1);
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.map(({ operations }) => operations.audit_event)).toEqual([0, 0, 1]);
    expect(reports.map(reportMonth)).toEqual(['2026-10', '2026-10', '2026-11']);
  });

  it('a plane makes one usage report for each month after a long pause', async () => {
    await plane.telemetry.look();
    for (const month of [10, 11, 13]) {
      setClock(Date.UTC(2026, month, 7));
      await plane.record(month);
    }
    setClock(Date.UTC(2027, 2, 3));
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    // the two of October never left and are old: they are one
    expect(reports.map((each) => [reportMonth(each), each.operations.audit_event])).toEqual([
      ['2026-10', 0],
      ['2026-11', 10],
      ['2026-12', 11],
      ['2027-02', 13], // nothing was recorded in January
      ['2027-03', 0],
    ]);
  });

  it('a plane that worked for months before its enrolment makes one usage report for each month', async () => {
    const later = await startTelemetryPlane({ settings: { mode: 'manual-file' } });
    try {
      setClock(startMs + 40 * dayMs);
      await later.record(4);
      enrolFake(later.dataDir);
      await later.telemetry.look();
      expect(later.reports().map((each) => [reportMonth(each), each.operations.audit_event])).toEqual([
        ['2026-10', 0],
        ['2026-11', 4],
      ]);
    } finally {
      await later.end();
    }
  });

  it('usage reports follow the time of the log when the clock is set back', async () => {
    setClock(startMs + dayMs);
    await plane.record(1);
    await plane.telemetry.look();
    setClock(startMs);
    await plane.record(1);
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.map(({ periodEnd }) => periodEnd)).toEqual(
      Array(2).fill(new Date(startMs + dayMs).toISOString()),
    );
  });

  it('usage reports continue after a clock that was ahead dated one into the next month', async () => {
    const border = Date.UTC(2026, 10, 1);
    setClock(border - 3 * hourMs);
    await plane.telemetry.look();
    setClock(border + 3 * 60_000); // ahead, for a moment
    await plane.record(3);
    setClock(border - 7 * 60_000);
    await plane.telemetry.look();
    setClock(border + hourMs);
    await plane.telemetry.look();
    await plane.record(2);
    setClock(border + 3 * hourMs);
    await plane.telemetry.look();
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.map((each) => [reportMonth(each), each.operations.audit_event])).toEqual([
      ['2026-10', 0],
      ['2026-10', 3],
      ['2026-11', 0], // of the rest of October, which had nothing, there is none
      ['2026-11', 2],
    ]);
  });

  it('each plane has its own time within the interval at which usage reports are due', () => {
    const dueAt = (dataPlaneId: string): number => {
      const newest = { builtMs: startMs } as never;
      const outbox = { newest: () => newest } as never;
      for (let ms = 1000; ; ms += 1000) {
        const maker = {
          outbox,
          enrolment: { dataPlaneId, reportIntervalSeconds: 3600 },
          now: () => startMs + ms,
        };
        if (isDue(maker as unknown as Maker, { mode: 'auto' })) return ms;
      }
    };
    const times = Array.from({ length: 200 }, (_, at) => dueAt(`dpl_${at}`));
    expect(Math.max(...times)).toBeLessThanOrEqual(hourMs);
    const quarters = [0, 1, 2, 3].map(
      (quarter) => times.filter((ms) => Math.floor((ms - 1) / (hourMs / 4)) === quarter).length,
    );
    for (const planes of quarters) expect(planes).toBeGreaterThan(25);
  });

  it('a plane makes a usage report at most once a minute', async () => {
    const members = { mode: 'manual-file', intervalSeconds: limits.reportIntervalLeastSeconds - 1 };
    writeFileSync(join(plane.dataDir, 'telemetry.json'), JSON.stringify(members));
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()[0]).toMatch(
      /^telemetry_settings: .*intervalSeconds: at least 60|expected/,
    );
    const least = { ...members, intervalSeconds: limits.reportIntervalLeastSeconds };
    writeFileSync(join(plane.dataDir, 'telemetry.json'), `${JSON.stringify(least)}\n`);
    await plane.telemetry.look();
    expect(plane.telemetry.reasons()).toEqual([]);
    expect(plane.reports().length).toBe(1);
  });

  it('usage reports stop with a reason when the log was restored to before what was reported', async () => {
    await plane.record(1);
    await plane.telemetry.look();
    await plane.telemetry.stop();
    const db = new Database(outboxFile(plane.dataDir));
    db.exec('DROP TRIGGER report_update; UPDATE report SET tree_size = 1000');
    db.close();
    await plane.restart();
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    expect(plane.reports().length).toBe(1);
    expect(plane.telemetry.reasons()).toEqual([
      expect.stringMatching(
        /^telemetry_reports: expected the metering log to hold what was reported of it, 1000 leaves/,
      ),
    ]);
    await plane.record(1); // goes on
  });

  it('usage reports count no unit twice and miss none, whenever they are made', async () => {
    const steps = array(
      record({
        hours: integer({ min: 0, max: 900 }),
        events: integer({ min: 0, max: 3 }),
        looks: boolean(),
        restarts: boolean(),
      }),
      { maxLength: 8 },
    );
    await assert(
      asyncProperty(steps, async (each) => {
        setClock(startMs);
        const made = await startTelemetryPlane({ settings: { mode: 'manual-file' } });
        try {
          enrolFake(made.dataDir);
          const months: Record<string, number> = {};
          for (const { hours, events, looks, restarts } of [
            ...each,
            { hours: 1, events: 1, looks: true, restarts: true },
          ]) {
            setClock(Date.now() + hours * hourMs + 1);
            await made.record(events);
            const month = new Date().toISOString().slice(0, 7);
            months[month] = (months[month] ?? 0) + events;
            if (restarts) await made.restart();
            if (looks) await made.telemetry.look();
          }
          setClock(Date.now() + 2 * hourMs);
          await made.telemetry.look();
          const reported: Record<string, number> = {};
          const reports = made.reports();
          for (const report of reports) {
            const month = reportMonth(report);
            reported[month] = (reported[month] ?? 0) + report.operations.audit_event;
          }
          for (const month of Object.keys({ ...months, ...reported })) {
            expect([month, reported[month] ?? 0]).toEqual([month, months[month] ?? 0]);
          }
          expect(reports.map(({ sequence }) => sequence)).toEqual(reports.map((_, at) => at + 1));
        } finally {
          await made.end();
        }
      }),
      { numRuns: 10, seed: 5 },
    );
  });
});

describe('reports that never left for ninety days', () => {
  it('undelivered reports older than ninety days become one a month without a lost unit', async () => {
    const settings = { mode: 'auto', intervalSeconds: 24 * 3600 } as const;
    writeFileSync(join(plane.dataDir, 'telemetry.json'), JSON.stringify(settings));
    enrolFake(plane.dataDir, { service: 'http://127.0.0.1:9/api/v1' }); // nobody listens there
    for (let day = 0; day < 150; day++) {
      await plane.record(1);
      await plane.telemetry.look();
      setClock(Date.now() + dayMs);
    }
    const rows = plane.read((outbox) => [...outbox.reports(fakeEnrolment.dataPlaneId, { queued: true })]);
    expect(rows[0]?.handed).toBe(false);
    const reports = plane.reports();
    checkAll(reports);
    expect(reports.at(-1)?.totals.audit_event).toBe(150);
    expect(reports.reduce((sum, { operations }) => sum + operations.audit_event, 0)).toBe(150);
    expect(reports.map(({ sequence }) => sequence)).toEqual(reports.map((_, at) => at + 1));
    const oldMs = Date.now() - limits.telemetryMergeDays * dayMs;
    const old = rows.filter(({ periodEndMs, handed }) => !handed && periodEndMs < oldMs - dayMs);
    // three months, and what became old since the last time, a day ago
    expect(old.length).toBeLessThanOrEqual(5);
    expect(rows.length - old.length).toBeGreaterThanOrEqual(90);
  });
});

describe('a month', () => {
  it.each([
    ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T00:00:00.000Z', '2027-02-01T00:00:00.000Z'],
    ['2028-02-29T12:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ])('the month of %s ends at %s', (at, end) => {
    expect(new Date(nextMonth(Date.parse(at))).toISOString()).toBe(end);
  });
});
