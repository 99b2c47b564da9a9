/** The home projects of an organization: what they are told, in which transaction, and which project is home. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../../../src/store/port/store.ts';
import type { Effect } from '../../../../src/store/port/store.ts';
import { codeOf, event, startMs, stored } from '../../support/fixture.ts';
import { open } from '../../support/engine.ts';
import { change, moreProjects, newProject, storedProject, tenant } from '../../support/tenants.ts';

/** A production or sandbox project of organization x, made `after` milliseconds after the first two. */
const made = (name: string, environment: 'production' | 'sandbox' = 'production', after = 1) =>
  storedProject('x', name, { environment, createdMs: startMs + after });

const system = (eventType: string) => event({ runId: 'gov.system', eventType });
const set = (more: Omit<Extract<Effect, { kind: 'changeProject' }>, 'kind' | 'atMs'>): Effect => ({
  kind: 'changeProject',
  atMs: startMs + 9,
  ...more,
});

/** Changes a project, and tells its home. */
const tell = (projectId: string, eventType: string, ...effects: readonly Effect[]) => ({
  ...change(projectId, ...effects),
  toHome: [system(eventType)],
});
const remove = (store: Store, projectId: string) =>
  stored(store, tell(projectId, `deleted.${projectId}`, set({ deletedMs: startMs + 9 })));
const restore = (store: Store, projectId: string) =>
  stored(store, tell(projectId, `restored.${projectId}`, set({ deletedMs: null })));
const create = (store: Store, ...projects: readonly ReturnType<typeof made>[]) =>
  store.createTenant({ ...moreProjects(...projects), toHome: [system(`made.${projects[0]?.name}`)] });

const homes = async (store: Store) => {
  const { production, sandbox } = (await store.organization('org_x'))!.home;
  return [production, sandbox];
};

/** Types of events that a project was told, beside those that it tells of itself. */
async function told(store: Store, projectId: string): Promise<string[]> {
  const page = { order: 'asc', limit: 100 } as const;
  const leaves = await store.events(projectId, { runId: 'gov.system' }, page);
  const types = leaves.map(({ record }) => (JSON.parse(record) as { eventType: string }).eventType);
  return types.filter((type) => type.includes('.prj_') || type.startsWith('made.') || type === 'told');
}

describe('the record of changes in the home', () => {
  it('a change is recorded in the log of the home, unmetered, and names the home', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(store, made('more'), made('other', 'sandbox'));
    const outcome = await stored(store, tell('prj_x_more', 'told', set({ name: 'renamed' })));
    expect([outcome.home, outcome.assigned.length]).toEqual(['prj_x_live', 1]);
    await stored(store, tell('prj_x_other', 'told'));
    const again = await reopen();
    expect(await told(again, 'prj_x_live')).toEqual(['made.more', 'told']);
    expect(await told(again, 'prj_x_test')).toEqual(['told']);
    expect(await told(again, 'prj_x_more')).toEqual([]);
    expect((await again.usage('prj_x_live', '2026-01')).audit_event).toBe(0);
    expect((await again.head('prj_x_live', 'metering')).size).toBe(3);
    await drop();
  });

  it('a change is not recorded a second time when a project is its own home or has none', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    expect((await stored(store, tell('prj_x_live', 'told', set({ settings: '{"a":1}' })))).home).toBe(
      undefined,
    );
    expect((await stored(store, tell('prj_a', 'told'))).home).toBe(undefined);
    expect(await told(store, 'prj_x_live')).toEqual([]);
    expect((await store.head('prj_x_live', 'audit')).size).toBe(3);
    await drop();
  });

  it('a refused change is not recorded in the log of the home', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(store, made('more'));
    const { size } = await store.head('prj_x_live', 'audit');
    expect(await codeOf(store.append(tell('prj_x_more', 'told', set({ name: 'LIVE' }))))).toBe('NAME_TAKEN');
    expect(await codeOf(create(store, made('MORE')))).toBe('NAME_TAKEN');
    const stale = { ...tell('prj_x_more', 'told'), expect: { run: { runId: 'gov.system', events: 77 } } };
    expect((await store.append(stale)).outcome).toBe('stale');
    expect((await store.head('prj_x_live', 'audit')).size).toBe(size);
    await drop();
  });

  it('the log of the home keeps the order of changes that arrive at the same time', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(store, made('one'), made('two'), made('three', 'sandbox'));
    const { size } = await store.head('prj_x_live', 'audit');
    const some = Array.from({ length: 8 }, (_, at) => at);
    await Promise.all(
      some.flatMap((at) => [
        stored(store, tell('prj_x_one', 'told', set({ settings: `{"at":${at}}` }))),
        stored(store, tell('prj_x_two', 'told', set({ name: `two ${at}` }))),
        stored(store, tell('prj_x_three', 'told')),
        stored(store, change('prj_x_live', set({ settings: `{"at":${at}}` }))),
        create(store, made(`new ${at}`)),
      ]),
    );
    const again = await reopen();
    expect((await again.head('prj_x_live', 'audit')).size).toBe(size + 4 * 8);
    expect(await told(again, 'prj_x_live')).toHaveLength(1 + 3 * 8);
    expect(await told(again, 'prj_x_test')).toHaveLength(8);
    const { events } = (await again.run('prj_x_live', 'gov.system'))!;
    expect(events).toBe(size + 4 * 8 - 1);
    await drop();
  });
});

describe('the home of an environment', () => {
  it('the home moves to the oldest project of the environment when it is deleted', async () => {
    const { store, reopen, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(
      store,
      made('young', 'production', 9),
      made('old', 'production', 5),
      made('s', 'sandbox', 1),
    );
    expect((await remove(store, 'prj_x_live')).home).toBe('prj_x_old');
    expect(await homes(store)).toEqual(['prj_x_old', 'prj_x_test']);
    expect(await told(store, 'prj_x_old')).toEqual(['deleted.prj_x_live']);
    const again = await reopen();
    expect((await remove(again, 'prj_x_young')).home).toBe('prj_x_old');
    expect(await told(again, 'prj_x_old')).toEqual(['deleted.prj_x_live', 'deleted.prj_x_young']);
    await drop();
  });

  it('the home does not move back when the former home project is restored', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(store, made('next'));
    await remove(store, 'prj_x_live');
    expect((await restore(store, 'prj_x_live')).home).toBe('prj_x_next');
    expect(await homes(store)).toEqual(['prj_x_next', 'prj_x_test']);
    await drop();
  });

  it('the home moves to the other environment when its own has no project, and back with a new one', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    expect((await remove(store, 'prj_x_live')).home).toBe('prj_x_test');
    expect(await homes(store)).toEqual(['prj_x_test', 'prj_x_test']);
    expect(await create(store, made('new'))).toEqual({ outcome: 'stored' });
    expect(await homes(store)).toEqual(['prj_x_new', 'prj_x_test']);
    expect(await told(store, 'prj_x_test')).toEqual(['deleted.prj_x_live']);
    await drop();
  });

  it('the home stays when no project is left and moves to the next project that is created', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await remove(store, 'prj_x_live');
    expect((await remove(store, 'prj_x_test')).home).toBe(undefined);
    expect(await homes(store)).toEqual(['prj_x_test', 'prj_x_test']);
    expect(await create(store, made('first', 'sandbox', 3))).toEqual({ outcome: 'stored' });
    expect(await homes(store)).toEqual(['prj_x_first', 'prj_x_first']);
    expect(await create(store, made('second', 'production', 4))).toEqual({ outcome: 'stored' });
    expect(await homes(store)).toEqual(['prj_x_second', 'prj_x_first']);
    expect(await create(store, made('third', 'production', 5))).toEqual({
      outcome: 'stored',
      home: 'prj_x_second',
    });
    await drop();
  });

  it('the home stays when no project is left and moves to the next project that is restored', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await create(store, made('more'));
    for (const id of ['prj_x_live', 'prj_x_more', 'prj_x_test']) await remove(store, id);
    expect(await homes(store)).toEqual(['prj_x_test', 'prj_x_test']);
    expect((await restore(store, 'prj_x_live')).home).toBe(undefined);
    expect(await homes(store)).toEqual(['prj_x_live', 'prj_x_live']);
    expect((await restore(store, 'prj_x_test')).home).toBe(undefined);
    expect(await homes(store)).toEqual(['prj_x_live', 'prj_x_test']);
    await drop();
  });

  it('the home is an existing project after concurrent deletions and creations', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    const names = ['a', 'b', 'c', 'd'];
    await create(store, ...names.map((name, at) => made(name, at < 2 ? 'production' : 'sandbox', at)));
    await Promise.all([
      ...['live', 'a', 'b', 'test', 'c', 'd'].map((name) => remove(store, `prj_x_${name}`)),
      create(store, made('e', 'sandbox', 8)),
    ]);
    expect(await homes(store)).toEqual(['prj_x_e', 'prj_x_e']);
    await drop();
  });

  it('the home of another organization does not change', async () => {
    const { store, drop } = await open();
    await store.createTenant(tenant('x'));
    await store.createTenant(tenant('y', { projects: tenant('y').projects }));
    await store.createTenant({ ...moreProjects(), projects: [newProject(storedProject('y', 'more'))] });
    await remove(store, 'prj_x_live');
    expect(await store.organization('org_y')).toEqual(tenant('y').organization);
    await drop();
  });
});
