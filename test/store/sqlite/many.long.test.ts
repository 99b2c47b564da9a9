/** Many projects in one file: what a writer holds of them in memory, and how many there may be. */
import { afterEach, describe, expect, it } from 'vitest';
import { emptyRoot } from '../../../src/core/merkle/tree.ts';
import { heldLedgers } from '../../../src/store/append/ledger.ts';
import type { NewTenant } from '../../../src/store/port/store.ts';
import { maxProject } from '../../../src/store/file/position.ts';
import type { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { appended, codeOf, event, genesis, projectOf, request, stored } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';
import {
  moreProjects,
  newProject,
  storedProject,
  tenant,
  toldProject,
  toldTenant,
} from '../support/tenants.ts';

const planes: TestPlane[] = [];
const newPlane = (): TestPlane => {
  const plane = new TestPlane();
  planes.push(plane);
  return plane;
};
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

/** Organization `org_x` with as many projects, those of its first two counted in. */
const withProjects = (count: number): NewTenant => {
  const made = toldTenant('x');
  const more = Array.from({ length: count - 2 }, (_, at) =>
    toldProject(newProject(storedProject('x', `n${at}`))),
  );
  return { ...made, projects: [...made.projects, ...more] };
};

describe('the projects of a writer', () => {
  it('the writer keeps a limited number of projects and drops the least recently written one', async () => {
    const plane = newPlane();
    let reads = 0;
    const before = (step: string): void => void (reads += step === 'read period' ? 1 : 0);
    const store = plane.open({ faults: { before } });
    /** How often the writer reads a project anew meanwhile. */
    const rereads = async (body: () => Promise<unknown>): Promise<number> => {
      reads = 0;
      await body();
      return reads;
    };
    await store.createTenant(withProjects(heldLedgers));
    const append = (projectId: string) => appended(store, request([event()], { projectId }));
    expect(await rereads(() => append('prj_x_live'))).toBe(0);
    expect(await rereads(() => append('prj_x_n7'))).toBe(0);
    await store.createProject(projectOf('a'), genesis('a'));
    expect(await rereads(() => append('prj_x_live'))).toBe(0);
    const [next] = await append('prj_x_test');
    expect(next).toMatchObject({ index: 3, runSeq: 0 });
    expect(await rereads(() => append('prj_x_n0'))).toBe(1);
    expect((await append('prj_x_n0'))[0]).toMatchObject({ index: 4, runSeq: 1 });
    await store.close();
    expect((await plane.fsck(false)).problems).toEqual([]);
  });
});

describe('the projects of a database file', () => {
  /** As if the numbers before had been given out. */
  const numbered = async (newest: number): Promise<SqliteStore> => {
    const plane = newPlane();
    await plane.open().close();
    const root = `x'${emptyRoot.toString('hex')}'`;
    plane.sql(
      `INSERT INTO project VALUES (${newest}, 'prj_old', 'org_old', 'sandbox', 'old/audit', 'old/metering/0');
       INSERT INTO head SELECT ${newest}, 0, 0, ${root}, 0 UNION SELECT ${newest}, 1, 0, ${root}, 0`,
    );
    return plane.open();
  };

  it('a database file takes as many projects as a leaf position can number, and not one more', async () => {
    const store = await numbered(maxProject - 2);
    expect(await store.createTenant(tenant('x'))).toEqual({ outcome: 'stored' });
    expect((await store.head('prj_x_test', 'audit')).size).toBe(2);
    const [first] = await appended(store, request([event()], { projectId: 'prj_x_test' }));
    expect((await store.leaf('prj_x_test', first!.index))?.record).toContain(first!.eventId);
    const more = store.createTenant(moreProjects(storedProject('x', 'more')));
    await expect(more).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(`at most ${maxProject} projects`) as string,
    });
    expect(await codeOf(store.createProject(projectOf('a'), genesis('a')))).toBe('INTERNAL');
    await stored(store, request([event()], { projectId: 'prj_x_test' }));
    await store.close();
  });
});
