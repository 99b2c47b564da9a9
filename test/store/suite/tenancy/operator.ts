/** What the operator alone reads: projects of every organization. */
import { describe, expect, it } from 'vitest';
import { startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { change, moreProjects, storedProject, tenant } from '../../support/tenants.ts';

describe('projects of every organization', () => {
  it('projects of every organization or of one come in pages, newest first, with deleted ones', async () => {
    const { store, drop } = await open();
    expect(await store.everyProject({}, { limit: 10 })).toEqual([]); // a project of a plane is in no organization
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y'));
    await store.createTenant(moreProjects(storedProject('x', 'more')));
    const gone = { kind: 'changeProject', deletedMs: startMs + 1, atMs: startMs + 1 } as const;
    await stored(store, change('prj_x_more', gone));
    const ids = async (...input: Parameters<typeof store.everyProject>) =>
      (await store.everyProject(...input)).map(({ project }) => project.projectId);
    expect(await ids({}, { limit: 3 })).toEqual(['prj_y_test', 'prj_y_live', 'prj_x_test']);
    expect(await ids({}, { limit: 3, after: 'prj_x_test' })).toEqual(['prj_x_more', 'prj_x_live']);
    expect(await ids({ organizationId: 'org_x' }, { limit: 2 })).toEqual(['prj_x_test', 'prj_x_more']);
    expect(await ids({ organizationId: 'org_x' }, { limit: 2, after: 'prj_x_more' })).toEqual(['prj_x_live']);
    expect(await ids({ organizationId: 'org_none' }, { limit: 2 })).toEqual([]);
    const [newest, deleted] = await store.everyProject({ organizationId: 'org_x' }, { limit: 2 });
    expect(newest).toEqual(await store.storedProject('org_x', 'prj_x_test'));
    expect(deleted).toMatchObject({ name: 'more', deletedMs: startMs + 1 });
    await drop();
  });
});
