/** A service that starts looks at the logs that were written to last; the others are looked at where they are used. */
import { copyFileSync, rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { startedProjects } from '../../../src/store/file/tail.ts';
import { positionBits } from '../../../src/store/file/position.ts';
import { codeOf, event, request, stored } from '../support/fixture.ts';
import { signHead, TestPlane } from '../support/plane.ts';
import { moreProjects, newProject, storedProject, tenant } from '../support/tenants.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
const open = (plane: TestPlane, more: object = {}) => plane.open({ hosted: true, ...more });

/** A service with so many projects; `prj_x_live` was written to longest ago, `prj_x_test` last. */
async function filled(projects: number): Promise<TestPlane> {
  const plane = new TestPlane();
  planes.push(plane);
  const store = open(plane);
  await store.createTenant(tenant('x'));
  await stored(store, request([event(), event()], { projectId: 'prj_x_live' }));
  await signHead(store, 'prj_x_live');
  plane.clock.ms += 1000;
  const made = (org: string, from: number, to: number) =>
    store.createTenant({
      ...moreProjects(),
      projects: Array.from({ length: to - from }, (_, at) => ({
        ...newProject(storedProject(org, `n${from + at}`)),
        keys: [],
      })),
    });
  const ofFirst = Math.min(projects - 2, startedProjects - 10);
  await made('x', 0, ofFirst);
  if (ofFirst < projects - 2) {
    await store.createTenant(tenant('y'));
    if (ofFirst < projects - 4) await made('y', ofFirst, projects - 4);
  }
  plane.clock.ms += 1000;
  await stored(store, request([event()], { projectId: 'prj_x_test' }));
  await signHead(store, 'prj_x_test');
  await store.close();
  return plane;
}

const alter = (plane: TestPlane, projectId: string): void =>
  plane.sql(
    `UPDATE leaf SET record = replace(record, 'gov.event/1', 'gov.event/2') WHERE position =
       (SELECT max(position) FROM leaf
        WHERE position >> ${positionBits} = (SELECT project FROM project WHERE project_id = '${projectId}'))`,
  );

describe('the start of a service', () => {
  it('the start checks a limited number of projects, those with the newest writes', async () => {
    const plane = await filled(startedProjects);
    alter(plane, 'prj_x_live');
    expect(() => open(plane)).toThrow(/log test\/x\/live\/audit: expected a record that matches its hash/);
  });

  it('the start leaves older projects to be checked at their first read, write or signature', async () => {
    const plane = await filled(startedProjects + 1);
    alter(plane, 'prj_x_live');
    const store = open(plane);
    const { size } = await store.head('prj_x_live', 'audit');
    expect(await codeOf(store.leaf('prj_x_live', size - 1))).toBe('STORAGE_FAULT');
    expect(await codeOf(store.leaf('prj_x_test', 0))).toBe('none');
    await store.close();
    const { problems } = await plane.fsck(false);
    expect(problems.filter(({ kind }) => kind === 'record_altered')).toHaveLength(1);
    plane.sql(
      "UPDATE tile SET hashes = CAST(zeroblob(length(hashes)) AS BLOB) WHERE project = (SELECT project FROM project WHERE project_id = 'prj_x_live')",
    );
    const again = open(plane);
    expect(await codeOf(again.append(request([event()], { projectId: 'prj_x_live' })))).toBe('STORAGE_FAULT');
    expect(await codeOf(again.append(request([event()], { projectId: 'prj_x_test' })))).toBe('none');
    expect(await codeOf(signHead(again, 'prj_x_live'))).toBe('CONFLICT');
    await again.close();
  });

  it('the start detects an older copy of either file, and checks all logs when it rebuilds one', async () => {
    const plane = await filled(startedProjects + 1);
    const { main, heads } = storeFiles(plane.dataDir);
    for (const file of [main, heads]) copyFileSync(file, `${file}.backup`);
    const store = open(plane);
    plane.clock.ms += 1000;
    await stored(store, request([event()], { projectId: 'prj_x_test' }));
    await signHead(store, 'prj_x_test');
    await store.close();
    for (const file of [main, heads]) copyFileSync(file, `${file}.newest`);
    copyFileSync(`${main}.backup`, main);
    expect(() => open(plane)).toThrow('the database is an older copy');
    copyFileSync(`${main}.newest`, main);
    copyFileSync(`${heads}.backup`, heads);
    expect(() => open(plane)).toThrow('the heads file was lost or is an older copy');
    for (const suffix of ['', '-wal', '-shm']) rmSync(heads + suffix, { force: true });
    expect(() => open(plane)).toThrow('the heads file was lost or is an older copy');
    await open(plane, { rebuildHeads: true }).close();
    const { problems } = await plane.fsck(false);
    expect(problems.filter(({ kind }) => kind === 'heads_mismatch')).toEqual([]);
  });
});
