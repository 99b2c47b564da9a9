/** Months that were changed below SQL's guards are found by fsck with their position; changes beside it are none. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { EventRecord } from '../../../src/core/events/record.ts';
import type { CheckedProject } from '../../../src/store/fsck/check.ts';
import { Organizations } from '../../../src/store/fsck/tenants/organization-life.ts';
import { meterCheck } from '../../../src/store/fsck/log/meter.ts';
import type { MeterRow } from '../../../src/store/fsck/log/meter-row.ts';
import { parseRecord } from '../../../src/store/fsck/record.ts';
import { checkOrganizations, tenantCheck } from '../../../src/store/fsck/tenants/rows.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { connectReader } from '../../../src/store/file/reader.ts';
import { event, genesis, projectOf, request, stored } from '../support/fixture.ts';
import { unmetered } from '../support/governance.ts';
import { TestPlane } from '../support/plane.ts';
import { logProof } from '../support/proved.ts';
import { toldChanges, toldTenant } from '../support/tenants.ts';

const planes: TestPlane[] = [];
let original: TestPlane;
beforeAll(async () => {
  original = await months(new TestPlane());
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

/** Five events in January, a proof and an event in March, something unmetered in April, an event in May. */
async function months(plane: TestPlane): Promise<TestPlane> {
  const store = plane.open();
  await store.createProject(projectOf('a'), genesis('a'));
  const proof = { ...logProof('1'), meter: { op: 'compliance_proof', units: 1 } } as const;
  const at = (month: number): void => void (plane.clock.ms = Date.UTC(2026, month - 1, 15));
  await stored(store, request(Array.from({ length: 5 }, () => event())));
  at(3);
  await stored(store, proof);
  await stored(store, request([event()]));
  at(4);
  await stored(store, unmetered([event()]));
  at(5);
  await stored(store, request([event()]));
  await store.createTenant(toldTenant('x'));
  await store.close();
  return plane;
}

const base = (events: number, proofs = 0): string =>
  `{"audit_event":${events},"compliance_proof":${proofs},"risk_decision":0,"replay_verification":0}`;

describe('fsck of months', () => {
  it('fsck finds no problem in the months of a project that nobody changed', async () => {
    expect((await copy().fsck()).problems).toEqual([]);
    expect(copy().query('SELECT month, base FROM period ORDER BY month')).toEqual([
      { month: '2026-01', base: base(0) },
      { month: '2026-03', base: base(5) },
      { month: '2026-05', base: base(6, 1) },
    ]);
  });

  it.each([
    ['with other totals', `UPDATE period SET base = '${base(4)}' WHERE month = '2026-03'`, ['2026-03']],
    [
      'whose first totals are none',
      `UPDATE period SET base = '${base(1)}' WHERE month = '2026-01'`,
      ['2026-01'],
    ],
    ['whose totals are no JSON', "UPDATE period SET base = 'x' WHERE month = '2026-05'", ['2026-05']],
    ['that is gone', "DELETE FROM period WHERE month = '2026-03'", ['2026-03']],
    ['that is gone at the end', "DELETE FROM period WHERE month = '2026-05'", ['2026-05']],
    ['that was moved', "UPDATE period SET month = '2026-02' WHERE month = '2026-03'", ['2026-02', '2026-03']],
    [
      'in which nothing was metered',
      `INSERT INTO period VALUES (1, '2026-04', '${base(6, 1)}')`,
      ['2026-04'],
    ],
    ['before the first', `INSERT INTO period VALUES (1, '2025-12', '${base(0)}')`, ['2025-12']],
    ['after the last', `INSERT INTO period VALUES (1, '2026-06', '${base(7, 1)}')`, ['2026-06']],
  ])(
    'fsck finds a month %s and reports its position, also without --deep',
    async (_, statement, expected) => {
      const plane = copy();
      plane.sql(statement);
      const { problems } = await plane.fsck(false);
      expect(problems.map(({ position, kind }) => `${position} ${kind}`)).toEqual(
        expected.map((month) => `prj_a/period/${month} period_mismatch`),
      );
    },
  );

  it('fsck reports a month of a project that has no metered requests', async () => {
    const plane = copy();
    plane.sql(
      `INSERT INTO period SELECT project, '2026-05', '${base(0)}' FROM project WHERE project_id = 'prj_x_live'`,
    );
    const { problems } = await plane.fsck();
    expect(problems).toMatchObject([
      { position: 'prj_x_live/period/2026-05', kind: 'period_mismatch', got: base(0) },
    ]);
  });

  it('fsck accepts a month that began while the check was running', () => {
    const db = connectReader(storeFiles(copy().dataDir).main);
    const found: string[] = [];
    const checkTo = (meteringSize: number): void => {
      const project = { no: 1, projectId: 'prj_a', auditSize: 9, meteringSize } as CheckedProject;
      const problem = (position: string, kind: string): void => void found.push(`${position} ${kind}`);
      const check = meterCheck({ db, deep: false, problem } as never, project);
      const rows = db
        .prepare<[number], MeterRow>(
          'SELECT idx, record, first_index AS firstIndex, leaf_count AS leafCount, nonce FROM meter WHERE project = 1 AND idx < ?',
        )
        .all(meteringSize);
      for (const row of rows) check.visit(row);
      check.finish();
    };
    const problemsAt = (size: number): string[] => {
      found.length = 0;
      checkTo(size);
      return found.filter((each) => each.includes('/period/'));
    };
    for (const size of [0, 1, 2, 3, 4, 5, 6]) expect(problemsAt(size)).toEqual([]);
    db.close();
  });
});

describe('fsck of changes of keys and projects', () => {
  it('fsck accepts changes of keys and projects that are made while the check is running', async () => {
    const plane = new TestPlane();
    planes.push(plane);
    const store = plane.open();
    await store.createTenant(toldTenant('x'));
    await stored(store, toldChanges());
    await store.close();
    expect((await plane.fsck(false)).problems).toEqual([]);
    const db = connectReader(storeFiles(plane.dataDir).main);
    const leaves = db
      .prepare<[], { idx: number; record: string; disclosures: string | null }>(
        'SELECT leaf.idx, record, disclosures FROM leaf LEFT JOIN body USING (position) WHERE leaf.project = 1',
      )
      .all();
    for (let auditSize = 0; auditSize <= leaves.length; auditSize += 1) {
      const found: unknown[] = [];
      const organizations = new Organizations();
      const problem = (...each: unknown[]): void => void found.push(each);
      const project = {
        no: 1,
        projectId: 'prj_x_live',
        organizationId: 'org_x',
        auditSize,
      } as CheckedProject;
      const check = tenantCheck({ db, problem, organizations } as never, project);
      for (const leaf of leaves.slice(0, auditSize)) {
        const record = parseRecord(leaf.record);
        if (record?.type === 'gov.event/1') check.visit(leaf, record as EventRecord);
      }
      check.finish();
      checkOrganizations({ problem }, organizations);
      expect(found).toEqual([]);
    }
    expect(leaves).toHaveLength(8);
    db.close();
  });
});
