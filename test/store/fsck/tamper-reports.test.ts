/** What data planes reported, changed below SQL's guards, is found by fsck with its place. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { sha256 } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { TestPlane } from '../support/plane.ts';
import { keep, plane, report, saveReport } from '../support/data-planes.ts';
import { planeId, projectId, reported, told } from '../support/signed-reports.ts';
import { telling } from '../support/tenants.ts';

const planes: TestPlane[] = [];
let original: TestPlane;
beforeAll(async () => {
  original = new TestPlane();
  const store = original.open();
  await reported(store);
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

const copy = (): TestPlane => {
  const plane = original.copy();
  planes.push(plane);
  return plane;
};

const at = (place: string): string => `${projectId}/data_plane/${planeId}${place}`;
const third = 'WHERE epoch = 0 AND sequence = 3';

async function found(plane: TestPlane, deep = true): Promise<string[]> {
  const { problems } = await plane.fsck(deep);
  return problems.map(({ position, kind }) => `${position} ${kind}`).toSorted();
}

/** The third report with another body, and with its digest too. */
function rewritten(change: (report: UsageReport) => object): string {
  const [row] = copy().query<{ body: string }>(`SELECT body FROM telemetry_report ${third}`);
  const body = canonicalize(change(JSON.parse(row!.body) as UsageReport) as never);
  return `UPDATE telemetry_report SET body = '${body}', digest = x'${sha256(body).toString('hex')}' ${third}`;
}

describe('fsck of usage reports', () => {
  it('fsck finds no problem in usage reports that nobody changed', async () => {
    expect((await copy().fsck()).problems).toEqual([]);
    const epochs = copy().query('SELECT epoch, held, next_sequence, newest_sequence FROM telemetry_epoch');
    expect(epochs).toEqual([
      { epoch: 0, held: 4, next_sequence: 5, newest_sequence: 4 },
      { epoch: 1, held: 1, next_sequence: 2, newest_sequence: 1 },
    ]);
    expect(copy().query('SELECT month FROM telemetry_usage')).toEqual([
      { month: '2026-11' },
      { month: '2026-12' },
    ]);
  });

  it.each([
    [
      'a body',
      `UPDATE telemetry_report SET body = replace(body, 'v24', 'v25') ${third}`,
      ['/report/0/3 report_altered'],
    ],
    [
      'a body that is no JSON',
      `UPDATE telemetry_report SET body = 'x' ${third}`,
      ['/epoch/0 report_mismatch', '/report/0/3 report_altered'],
    ],
    [
      'a digest',
      `UPDATE telemetry_report SET digest = zeroblob(32) ${third}`,
      ['/report/0/3 report_altered'],
    ],
    ['an id', `UPDATE telemetry_report SET report_id = 'urp_x' ${third}`, ['/report/0/3 report_mismatch']],
    ['totals', `UPDATE telemetry_report SET totals = '{}' ${third}`, ['/report/0/3 report_mismatch']],
    ['a size', `UPDATE telemetry_report SET tree_size = 1 ${third}`, ['/report/0/3 report_mismatch']],
    [
      'a challenge',
      `UPDATE telemetry_report SET challenge_id = 'chl_b' WHERE challenge_id = 'chl_a'`,
      ['/report/0/1 report_mismatch'],
    ],
    ['what is held', 'UPDATE telemetry_epoch SET held = 5 WHERE epoch = 0', ['/epoch/0 report_mismatch']],
    ['a gap', 'UPDATE telemetry_epoch SET next_sequence = 3 WHERE epoch = 0', ['/epoch/0 report_mismatch']],
    [
      'a reached size',
      'UPDATE telemetry_epoch SET tree_size = 0 WHERE epoch = 1',
      ['/epoch/1 report_mismatch'],
    ],
    ['an epoch', 'DELETE FROM telemetry_epoch WHERE epoch = 1', ['/epoch/1 report_mismatch']],
    [
      'an epoch more',
      `INSERT INTO telemetry_epoch VALUES (1, '${planeId}', 7, 1, 2, 1, 1)`,
      ['/epoch/7 report_mismatch'],
    ],
  ])('fsck reports usage report rows where somebody changed %s', async (_, statement, expected) => {
    const plane = copy();
    plane.sql(statement);
    const places = (await found(plane, false)).filter((each) => each.includes('report_'));
    expect([...new Set(places)]).toEqual(expected.map((each) => at(each)));
  });

  it('fsck reports a missing usage report and the totals that included it', async () => {
    const plane = copy();
    plane.sql(`DELETE FROM telemetry_report WHERE epoch = 0 AND sequence = 4`);
    expect(await found(plane)).toEqual([
      at('/epoch/0 report_mismatch'),
      at('/epoch/0/month/2026-12 usage_mismatch'),
    ]);
  });

  it('fsck reports usage reports whose data plane is gone', async () => {
    const plane = copy();
    plane.sql('PRAGMA foreign_keys = OFF; DELETE FROM telemetry_plane');
    expect(await found(plane)).toEqual([`${at('')} plane_mismatch`, `${at('')} report_mismatch`]);
  });

  it.each([
    ['counts less', (report: UsageReport) => ({ ...report, totals: { ...report.totals, audit_event: 1 } })],
    ['is of another epoch', (report: UsageReport) => ({ ...report, log: { ...report.log, epoch: 1 } })],
    ['is no report', () => ({ periodStart: 1 })],
  ])('fsck --deep finds a report whose body and digest were changed so that it %s', async (_, change) => {
    const plane = copy();
    plane.sql(rewritten(change));
    expect(await found(plane)).toContain(at('/report/0/3 report_altered'));
  });

  it('fsck --deep finds a report whose link does not match the report before it', async () => {
    const plane = copy();
    plane.sql(`UPDATE telemetry_report SET link = 'consistency_invalid' ${third}`);
    expect(await found(plane, false)).toEqual([]);
    expect(await found(plane)).toEqual([at('/report/0/3 report_mismatch')]);
  });
});

describe('fsck beside a service', () => {
  it('fsck finds no problem while planes are registered and send reports', async () => {
    const served = copy();
    const store = served.open();
    const writing = { on: true, rounds: 0 };
    const writer = (async () => {
      for (; writing.on; writing.rounds += 1) {
        const id = `w${writing.rounds >> 3}`;
        const sequence = (writing.rounds % 8) ^ 3; // out of order
        if (writing.rounds % 8 === 0) {
          const registered = plane(id, { projectId, name: 'n', createdBy: 'operator' });
          await store.append(told('registered', registered, telling));
        }
        await keep(store, [saveReport(report(id, sequence + 1, { projectId }))], projectId);
      }
    })();
    for (let time = 0; time < 20; time += 1) {
      expect((await served.fsck(false)).problems).toEqual([]);
    }
    writing.on = false;
    await writer;
    expect(writing.rounds).toBeGreaterThan(0);
    expect((await served.fsck(false)).problems).toEqual([]);
    await store.close();
  });
});

describe('fsck of the units of data planes', () => {
  const usage = (month: string): string => `${projectId}/telemetry_usage/${month} usage_mismatch`;
  const month = (place: string): string => `${at(place)} usage_mismatch`;
  it.each([
    ['a month', "UPDATE telemetry_usage SET audit_event = 0 WHERE month = '2026-11'", [usage('2026-11')]],
    ['a month that is gone', "DELETE FROM telemetry_usage WHERE month = '2026-12'", [usage('2026-12')]],
    ['a month more', "INSERT INTO telemetry_usage VALUES (1, '2027-01', 1, 0, 0, 0)", [usage('2027-01')]],
    [
      'what an epoch reached in a month',
      "UPDATE telemetry_month SET audit_event = 0 WHERE epoch = 0 AND month = '2026-12'",
      [month('/epoch/0/month/2026-12'), usage('2026-12')],
    ],
    [
      'a month of an epoch that is gone',
      'DELETE FROM telemetry_month WHERE epoch = 1',
      [month('/epoch/1/month/2026-11'), usage('2026-11')],
    ],
    [
      'a month of an epoch more',
      `INSERT INTO telemetry_month VALUES (1, '${planeId}', 1, '2026-12', 0, 0, 0, 0)`,
      [month('/epoch/1/month/2026-12')],
    ],
  ])('fsck reports usage rows of data planes where somebody changed %s', async (_, statement, expected) => {
    const plane = copy();
    plane.sql(statement);
    expect(await found(plane)).toEqual(expected);
  });

  it('fsck accepts a month without units, because its units may count for an earlier month', async () => {
    const plane = copy();
    plane.sql("INSERT INTO telemetry_usage VALUES (1, '2027-01', 0, 0, 0, 0)");
    expect(await found(plane)).toEqual([]);
  });
});
